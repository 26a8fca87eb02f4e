"""Reads partitions on: a Fetch to each leader, positions that move with what was taken.

A message set that has no whole message is too short for the next one in versions before 3, and is asked for again with
more room, up to a bound. A set without bytes in an answer without any says that there is nothing between the position
and the end that this version can show: compacted away, or a marker before version 4.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..protocol.api import ApiKey
from ..protocol.errors import CorruptRecord, ErrorCode, PeerFault
from ..protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from ..protocol.records.layout import FRAME, LOG_OVERHEAD
from ..protocol.records.record import Record
from .client import BrokerClient, error_name
from .consume_batches import taken
from .consume_positions import EARLIEST, Offsets, is_retriable
from .failures import CommandFailed
from .leaders import Leaders, Place
from .old_formats import Format

ANSWER_BYTES = 16 << 20
PARTITION_BYTES = 1 << 20
LEAST_PARTITION_BYTES = 64 << 10
MOST_PARTITION_BYTES = 64 << 20
WAIT_MS = 500
SHARED_WAIT_MS = 100
WHOLE_ANSWER_LIMITED_FROM = 3
TRIES = 100
NEVER = 1 << 63
PAUSE_SECONDS = 0.1
OUT_OF_RANGE_HINT = "What was there was deleted by retention, or the topic was made anew."


class Fetcher:
    """Reads from `positions`, which move on. With `ends` it is done at those offsets, open.

    Raises: CommandFailed from `poll`.
    """

    def __init__(self, leaders: Leaders, offsets: Offsets, form: Format, isolation: int) -> None:
        self._leaders, self._offsets, self._form, self._isolation = leaders, offsets, form, isolation
        self.positions: dict[Place, int] = {}
        self._ends: dict[Place, int] | None = None
        self._room: dict[Place, int] = {}
        self._failures = 0

    def begin(self, positions: Mapping[Place, int], ends: Mapping[Place, int] | None = None) -> None:
        """Reads these partitions from now on, and no others."""
        self.positions = dict(positions)
        self._ends = None if ends is None else dict(ends)
        self._room = {}
        self._drop_ended(positions)

    @property
    def is_done(self) -> bool:
        """Whether every partition has been read up to its end."""
        return self._ends is not None and not self._ends

    def poll(self) -> Iterator[tuple[Place, Record]]:
        """The records that there are, after half a second at most."""
        active = [place for place in self.positions if self._ends is None or place in self._ends]
        if not active:
            time.sleep(PAUSE_SECONDS)  # a member that was given nothing, for now
        by_broker = self._leaders.by_broker(active)
        if len(active) > sum(map(len, by_broker.values())):
            self._again(active, "no leader")
        wait_ms = WAIT_MS if len(by_broker) == 1 else SHARED_WAIT_MS
        for client, places in by_broker.items():
            answer = self._fetch(client, places, wait_ms)
            yield from self._take(answer)
        # Who came first goes last: an answer of limited size would starve the others.
        self.positions = {place: self.positions[place] for place in [*self.positions][1:] + [*self.positions][:1]}

    def _fetch(self, client: BrokerClient, places: list[Place], wait_ms: int) -> Any:
        version = client.version_of(ApiKey.FETCH, self._form.fetch)
        room = PARTITION_BYTES
        if version < WHOLE_ANSWER_LIMITED_FROM:
            room = min(room, max(LEAST_PARTITION_BYTES, ANSWER_BYTES // len(places)))
        by_topic: dict[str, list[FetchPartition]] = {}
        for topic, partition in places:
            entry = FetchPartition(
                partition=partition,
                fetch_offset=self.positions[topic, partition],
                partition_max_bytes=max(room, self._room.get((topic, partition), 0)),
            )
            by_topic.setdefault(topic, []).append(entry)
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=ANSWER_BYTES,
            isolation_level=self._isolation,
            topics=tuple(FetchTopic(topic=name, partitions=tuple(each)) for name, each in by_topic.items()),
        )
        return client.call(ApiKey.FETCH, lambda _: request, among=(version, version))

    def _take(self, answer: Any) -> Iterator[tuple[Place, Record]]:
        if answer.error_code:
            raise CommandFailed(f"records cannot be fetched: {error_name(answer.error_code)}")
        parts = [((topic.topic, each.partition_index), each) for topic in answer.responses for each in topic.partitions]
        has_records = any(part.records for _, part in parts)
        for place, part in parts:
            if part.error_code:
                self._refused(place, part.error_code)
                continue
            self._failures = 0
            if part.records:
                yield from self._records(place, part)
            elif not has_records and part.high_watermark >= (self._ends or {}).get(place, NEVER):
                self._end(place)
        self._drop_ended([place for place, _ in parts])

    def _records(self, place: Place, part: PartitionData) -> Iterator[tuple[Place, Record]]:
        data = memoryview(part.records)  # type: ignore[arg-type]  # a received piece is bytes
        before, end = self.positions[place], (self._ends or {}).get(place, NEVER)
        try:
            for position, record in taken(data, before, part.aborted_transactions or ()):
                if record is not None and record.offset >= end:
                    self.positions[place] = end
                    break
                self.positions[place] = position
                if record is not None:
                    yield place, record
        except (CorruptRecord, PeerFault) as fault:
            topic, partition = place
            at = self.positions[place]
            hint = (
                f"`--partition {partition} --offset {at + 1}` may pass over it; `stepdown log dump` looks into files."
            )
            raise CommandFailed(f"{topic}-{partition} cannot be read at offset {at}: {fault}", hint) from fault
        if self.positions[place] == before:
            self._make_room(place, data)

    def _make_room(self, place: Place, data: memoryview) -> None:
        """There was no whole message: asks for more next time."""
        room = self._room.get(place, PARTITION_BYTES)
        if len(data) >= LOG_OVERHEAD:
            offset, size = FRAME.unpack_from(data)
            if offset >= 0 and size + LOG_OVERHEAD > MOST_PARTITION_BYTES:
                topic, partition = place
                raise CommandFailed(f"the message at offset {offset} of {topic}-{partition} says {size} bytes")
        if room >= MOST_PARTITION_BYTES:
            self._end(place)
        self._room[place] = min(2 * room, MOST_PARTITION_BYTES)

    def _refused(self, place: Place, code: int) -> None:
        topic, partition = place
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            (first,) = self._offsets.at([place], EARLIEST).values()
            lost = f"{topic}-{partition} has no offset {self.positions[place]}, going on at {first}"
            print(f"stepdown: {lost}\n  {OUT_OF_RANGE_HINT}", file=sys.stderr)
            self.positions[place] = first
        elif is_retriable(code):
            self._again([place], error_name(code))
        else:
            raise CommandFailed(f"{topic}-{partition} cannot be read: {error_name(code)}")

    def _again(self, places: Iterable[Place], why: str) -> None:
        self._failures += 1
        if self._failures >= TRIES:
            topic, partition = min(places)
            raise CommandFailed(
                f"{topic}-{partition} cannot be read: {why}", "`stepdown topics describe` shows leaders."
            )
        time.sleep(PAUSE_SECONDS)
        self._leaders.learn({topic for topic, _ in places})

    def _drop_ended(self, places: Iterable[Place]) -> None:
        for place in places:
            if self._ends is not None and self.positions[place] >= self._ends.get(place, NEVER):
                self._end(place)

    def _end(self, place: Place) -> None:
        if self._ends is not None:
            self._ends.pop(place, None)
