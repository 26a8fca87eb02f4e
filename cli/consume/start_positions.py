"""Start positions of partitions: parses `--offset` and asks brokers for the offsets.

earliest | latest | 42 | -10 (the last ten) | @1700000000000 (the first record of that time or later, in ms)
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ...client.errors import describe_error
from ...client.operation import TopicPartition, ask
from ...client.operations.offsets import EARLIEST, LATEST
from ...client.operations.partition_leaders import PartitionLeaders
from ...client.versions import ANY_VERSION
from ...protocol.errors import ErrorCode, error_name
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ..support.command_client import CommandClient
from ..support.failures import CommandFailure

NOT_FOUND = -1
ONE_OFFSET_FROM = 1
ISOLATION_FROM = 2
TRIES = 50
PAUSE_SECONDS = 0.1


class StartKind(Enum):
    """The meaning of a start position's number."""

    TIME = "time"
    OFFSET = "offset"
    LAST = "last"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPosition:
    """A position to begin at; EARLIEST and LATEST have kind TIME, as in ListOffsets."""

    kind: StartKind
    number: int


FROM_EARLIEST = StartPosition(kind=StartKind.TIME, number=EARLIEST)
FROM_LATEST = StartPosition(kind=StartKind.TIME, number=LATEST)
NAMED_STARTS = {"earliest": FROM_EARLIEST, "latest": FROM_LATEST, "beginning": FROM_EARLIEST, "end": FROM_LATEST}
"""The last two are kcat's names."""


def parse_start(text: str) -> StartPosition:
    """Returns the position that `--offset` names. Raises: ValueError."""
    if text in NAMED_STARTS:
        return NAMED_STARTS[text]
    kind, digits = StartKind.OFFSET, text
    if text.startswith("@"):
        kind, digits = StartKind.TIME, text[1:]
    elif text.startswith("-"):
        kind, digits = StartKind.LAST, text[1:]
    if not (digits.isascii() and digits.isdigit()) or int(digits) >= 1 << 63:
        raise ValueError(f"--offset: expected earliest, latest, N, -N or @MS, found {text!r}")
    return StartPosition(kind=kind, number=int(digits))


class OffsetLookup:
    """Asks leaders for offsets in an isolation level. All methods raise CommandFailure."""

    def __init__(self, client: CommandClient, leaders: PartitionLeaders, isolation: int) -> None:
        self._client, self._leaders, self._isolation = client, leaders, isolation

    def find_start_offsets(
        self, topic_partitions: Iterable[TopicPartition], start: StartPosition
    ) -> dict[TopicPartition, int]:
        """Returns the offset of each partition that `start` stands for."""
        topic_partitions = list(topic_partitions)
        if start.kind is StartKind.TIME:
            found = self.find_offsets_at(topic_partitions, start.number)
            late = [topic_partition for topic_partition, offset in found.items() if offset == NOT_FOUND]
            return found | (self.find_offsets_at(late, LATEST) if late else {})
        first, end = self.find_offsets_at(topic_partitions, EARLIEST), self.find_offsets_at(topic_partitions, LATEST)
        if start.kind is StartKind.LAST:
            return {
                topic_partition: max(first[topic_partition], end[topic_partition] - start.number)
                for topic_partition in topic_partitions
            }
        for topic_partition in topic_partitions:
            if not first[topic_partition] <= start.number <= end[topic_partition]:
                topic, partition = topic_partition
                low, high = first[topic_partition], end[topic_partition]
                raise CommandFailure(
                    f"{topic}-{partition} has no offset {start.number}: its offsets go from {low} to {high}",
                    "Choose one with --partition and --offset, or read --from-beginning.",
                )
        return dict.fromkeys(topic_partitions, start.number)

    def find_offsets_at(self, topic_partitions: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        """Returns the offset of the first record at or after `timestamp`, or NOT_FOUND; for LATEST, the end that the
        isolation level can read."""
        found: dict[TopicPartition, int] = {}
        left = set(topic_partitions)
        for tries in reversed(range(TRIES)):
            for leader, asked in self._leaders.group_by_leader(left).items():
                found |= self._list_offsets(leader, asked, timestamp, is_last_try=not tries)
            left -= found.keys()
            if not left:
                return found
            time.sleep(PAUSE_SECONDS)  # leaders have moved: the next response may have them
            self._client.run(self._leaders.refresh_and_count_partitions({topic for topic, _ in left}))
        topic, partition = min(left)
        raise CommandFailure(f"{topic}-{partition} has no leader", "`stepdown topics describe` shows leaders.")

    def _list_offsets(
        self, leader: int, topic_partitions: list[TopicPartition], timestamp: int, *, is_last_try: bool
    ) -> dict[TopicPartition, int]:
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for topic, partition in topic_partitions:
            entry = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
            by_topic.setdefault(topic, []).append(entry)
        topics = tuple(ListOffsetsTopic(name=name, partitions=tuple(each)) for name, each in by_topic.items())
        lowest = ISOLATION_FROM if self._isolation else ONE_OFFSET_FROM
        request = ListOffsetsRequest(replica_id=-1, isolation_level=self._isolation, topics=topics)
        response = self._client.run(ask(request, leader, within=(lowest, ANY_VERSION[1])))
        found = {}
        for answered in response.topics:
            for each in answered.partitions:
                if not each.error_code:
                    found[answered.name, each.partition_index] = each.offset
                elif is_last_try or not is_retriable(each.error_code):
                    error = describe_error(error_name(each.error_code), "")
                    raise CommandFailure(f"{answered.name}-{each.partition_index}: {error}")
        return found


def is_retriable(code: int) -> bool:
    """Whether trying again may help."""
    try:
        return ErrorCode(code).retriable
    except ValueError:
        return False
