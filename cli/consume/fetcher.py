"""Fetches records from the partition leaders and advances the position of each partition.

Before Fetch 3, a message set without a whole message means that the byte limit was below the size of the next message:
it is fetched again with a higher limit, up to a maximum. If a response has no bytes for any partition, nothing between
the position and the end can be shown in this version: it was compacted away, or is a control batch and the version is
below 4.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...client.errors import describe_error
from ...client.operation import Ask, TopicPartition, operation_of_ask
from ...client.operations.offsets import EARLIEST
from ...client.operations.partition_leaders import PartitionLeaders
from ...protocol.api import ApiKey
from ...protocol.errors import CorruptRecord, ErrorCode, PeerFault, error_name
from ...protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from ...protocol.records.columns import MAX_OFFSET
from ...protocol.records.layout import FRAME, LOG_OVERHEAD
from ...protocol.records.record_rows import RecordRows
from ...protocol.records.visible_records import visible_rows
from ..support.command_client import CommandClient
from ..support.failures import CommandFailure
from ..support.standard_streams import print_error
from .options import ConsumeOptions
from .start_positions import OffsetLookup, is_retriable

ANSWER_BYTES = 16 << 20
PARTITION_BYTES = 1 << 20
LEAST_PARTITION_BYTES = 64 << 10
MOST_PARTITION_BYTES = 64 << 20
WAIT_MS = 500
SHARED_WAIT_MS = 100
WHOLE_ANSWER_LIMITED_FROM = 3
TRIES = 100
PAUSE_SECONDS = 0.1
OUT_OF_RANGE_HINT = "What was there was deleted by retention, or the topic was made anew."


class Fetcher:
    """Reads from `positions`, and advances them. With `ends`, it stops before those offsets.

    Raises: CommandFailure from `fetch_records`.
    """

    def __init__(
        self, client: CommandClient, leaders: PartitionLeaders, offsets: OffsetLookup, options: ConsumeOptions
    ) -> None:
        self._client, self._leaders, self._offsets = client, leaders, offsets
        self._form, self._isolation = options.form, options.isolation
        self.positions: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] | None = None
        self._room: dict[TopicPartition, int] = {}
        self._failures = 0

    def set_positions(
        self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int] | None = None
    ) -> None:
        """Replaces the partitions to read. Without `ends` they are read endlessly."""
        self.positions = dict(positions)
        self._ends = None if ends is None else dict(ends)
        self._room = {}
        self._mark_reached_ends(positions)

    @property
    def is_done(self) -> bool:
        """Whether every partition has been read up to its end."""
        return self._ends is not None and not self._ends

    def fetch_records(self) -> Iterator[tuple[TopicPartition, RecordRows]]:
        """Fetches once from each leader, and yields the records. A leader waits half a second at most for records.

        The position of a partition is then after its records.
        """
        active = [
            topic_partition for topic_partition in self.positions if self._ends is None or topic_partition in self._ends
        ]
        if not active:
            time.sleep(PAUSE_SECONDS)  # a group member without partitions, for now
        group_by_leader = self._leaders.group_by_leader(active)
        if len(active) > sum(map(len, group_by_leader.values())):
            self._pause_and_refresh_leaders(active, "no leader")
        wait_ms = WAIT_MS if len(group_by_leader) == 1 else SHARED_WAIT_MS
        for leader, topic_partitions in group_by_leader.items():
            answer = self._fetch(leader, topic_partitions, wait_ms)
            yield from self._read_response(answer)
        # The first partition goes last: a response of limited size would starve the others.
        self.positions = {
            topic_partition: self.positions[topic_partition]
            for topic_partition in [*self.positions][1:] + [*self.positions][:1]
        }

    def look_up_leaders(self) -> None:
        """Asks any broker for the leaders of the partitions and their addresses."""
        self._client.run(self._leaders.refresh_and_count_partitions({topic for topic, _ in self.positions}))

    def _fetch(self, leader: int, topic_partitions: list[TopicPartition], wait_ms: int) -> Any:
        def make_request(version: int) -> FetchRequest:
            return self._make_request(version, topic_partitions, wait_ms)

        return self._client.run(
            operation_of_ask(Ask(key=ApiKey.FETCH, make_request=make_request, to=leader, within=self._form.fetch))
        )

    def _make_request(self, version: int, topic_partitions: list[TopicPartition], wait_ms: int) -> FetchRequest:
        room = PARTITION_BYTES
        if version < WHOLE_ANSWER_LIMITED_FROM:
            room = min(room, max(LEAST_PARTITION_BYTES, ANSWER_BYTES // len(topic_partitions)))
        by_topic: dict[str, list[FetchPartition]] = {}
        for topic, partition in topic_partitions:
            entry = FetchPartition(
                partition=partition,
                fetch_offset=self.positions[topic, partition],
                partition_max_bytes=max(room, self._room.get((topic, partition), 0)),
            )
            by_topic.setdefault(topic, []).append(entry)
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=ANSWER_BYTES,
            isolation_level=self._isolation,
            topics=tuple(FetchTopic(topic=name, partitions=tuple(each)) for name, each in by_topic.items()),
        )

    def _read_response(self, answer: Any) -> Iterator[tuple[TopicPartition, RecordRows]]:
        if answer.error_code:
            raise CommandFailure(f"records cannot be fetched: {describe_error(error_name(answer.error_code), '')}")
        parts = [((topic.topic, each.partition_index), each) for topic in answer.responses for each in topic.partitions]
        has_records = any(part.records for _, part in parts)
        for topic_partition, part in parts:
            if part.error_code:
                self._handle_error(topic_partition, part.error_code)
                continue
            self._failures = 0
            if part.records:
                yield from self._read_records(topic_partition, part)
            elif not has_records and part.high_watermark >= (self._ends or {}).get(topic_partition, MAX_OFFSET):
                self._mark_end(topic_partition)
        self._mark_reached_ends([topic_partition for topic_partition, _ in parts])

    def _read_records(
        self, topic_partition: TopicPartition, part: PartitionData
    ) -> Iterator[tuple[TopicPartition, RecordRows]]:
        data = memoryview(part.records)  # type: ignore[arg-type]  # a received piece is bytes
        before, end = self.positions[topic_partition], (self._ends or {}).get(topic_partition, MAX_OFFSET)
        try:
            for position, rows in visible_rows(data, before, part.aborted_transactions or (), end):
                self.positions[topic_partition] = min(position, end)
                if rows is not None:
                    yield topic_partition, rows
                if position >= end:
                    break
        except (CorruptRecord, PeerFault) as fault:
            topic, partition = topic_partition
            at = self.positions[topic_partition]
            hint = (
                f"`--partition {partition} --offset {at + 1}` may pass over it; `stepdown log dump` looks into files."
            )
            raise CommandFailure(f"{topic}-{partition} cannot be read at offset {at}: {fault}", hint) from fault
        if self.positions[topic_partition] == before:
            self._grow_partition_bytes(topic_partition, data)

    def _grow_partition_bytes(self, topic_partition: TopicPartition, data: memoryview) -> None:
        """Doubles the byte limit of the next fetch, since `data` has no whole message. Raises: CommandFailure."""
        room = self._room.get(topic_partition, PARTITION_BYTES)
        if len(data) >= LOG_OVERHEAD:
            offset, size = FRAME.unpack_from(data)
            if offset >= 0 and size + LOG_OVERHEAD > MOST_PARTITION_BYTES:
                topic, partition = topic_partition
                raise CommandFailure(f"the message at offset {offset} of {topic}-{partition} says {size} bytes")
        if room >= MOST_PARTITION_BYTES:
            self._mark_end(topic_partition)
        self._room[topic_partition] = min(2 * room, MOST_PARTITION_BYTES)

    def _handle_error(self, topic_partition: TopicPartition, code: int) -> None:
        topic, partition = topic_partition
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            (first,) = self._offsets.find_offsets_at([topic_partition], EARLIEST).values()
            lost = f"{topic}-{partition} has no offset {self.positions[topic_partition]}, going on at {first}"
            print_error(f"stepdown: {lost}\n  {OUT_OF_RANGE_HINT}")
            self.positions[topic_partition] = first
        elif is_retriable(code):
            self._pause_and_refresh_leaders([topic_partition], error_name(code))
        else:
            raise CommandFailure(f"{topic}-{partition} cannot be read: {describe_error(error_name(code), '')}")

    def _pause_and_refresh_leaders(self, topic_partitions: Iterable[TopicPartition], why: str) -> None:
        self._failures += 1
        if self._failures >= TRIES:
            topic, partition = min(topic_partitions)
            raise CommandFailure(
                f"{topic}-{partition} cannot be read: {why}", "`stepdown topics describe` shows leaders."
            )
        time.sleep(PAUSE_SECONDS)
        self._client.run(self._leaders.refresh_and_count_partitions({topic for topic, _ in topic_partitions}))

    def _mark_reached_ends(self, topic_partitions: Iterable[TopicPartition]) -> None:
        for topic_partition in topic_partitions:
            if self._ends is not None and self.positions[topic_partition] >= self._ends.get(
                topic_partition, MAX_OFFSET
            ):
                self._mark_end(topic_partition)

    def _mark_end(self, topic_partition: TopicPartition) -> None:
        if self._ends is not None:
            self._ends.pop(topic_partition, None)
