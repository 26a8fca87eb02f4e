"""Where a partition is read from: `--offset` and what the broker says to it.

earliest | latest | 42 | -10 (the last ten) | @1700000000000 (the first record of that time or later, in ms)
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ..protocol.api import ApiKey
from ..protocol.errors import ErrorCode
from ..protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from .client import ANY_VERSION, BrokerClient, error_name
from .failures import CommandFailed
from .leaders import Leaders, Place

EARLIEST, LATEST = -2, -1
NOT_FOUND = -1
ONE_OFFSET_FROM = 1
ISOLATION_FROM = 2
TRIES = 50
PAUSE_SECONDS = 0.1


class Kind(Enum):
    """What the number of a start means."""

    TIME = "time"
    OFFSET = "offset"
    LAST = "last"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where to begin; EARLIEST and LATEST are times to the broker."""

    kind: Kind
    number: int


FROM_EARLIEST = Start(kind=Kind.TIME, number=EARLIEST)
FROM_LATEST = Start(kind=Kind.TIME, number=LATEST)


def start_of(text: str) -> Start:
    """What `--offset` says. Raises: ValueError."""
    if text in ("earliest", "latest"):
        return FROM_EARLIEST if text == "earliest" else FROM_LATEST
    kind, digits = Kind.OFFSET, text
    if text.startswith("@"):
        kind, digits = Kind.TIME, text[1:]
    elif text.startswith("-"):
        kind, digits = Kind.LAST, text[1:]
    if not (digits.isascii() and digits.isdigit()) or int(digits) >= 1 << 63:
        raise ValueError(f"expected earliest, latest, N, -N or @MS, found {text!r}")
    return Start(kind=kind, number=int(digits))


class Offsets:
    """Asks leaders for offsets as a reader of that isolation level sees them. Raises: CommandFailed from all."""

    def __init__(self, leaders: Leaders, isolation: int) -> None:
        self._leaders, self._isolation = leaders, isolation

    def resolve(self, places: Iterable[Place], start: Start) -> dict[Place, int]:
        """The position of each place."""
        places = list(places)
        if start.kind is Kind.TIME:
            found = self.at(places, start.number)
            late = [place for place, offset in found.items() if offset == NOT_FOUND]
            return found | (self.at(late, LATEST) if late else {})
        first, end = self.at(places, EARLIEST), self.at(places, LATEST)
        if start.kind is Kind.LAST:
            return {place: max(first[place], end[place] - start.number) for place in places}
        for place in places:
            if not first[place] <= start.number <= end[place]:
                topic, partition = place
                raise CommandFailed(
                    f"{topic}-{partition} has no offset {start.number}: it goes from {first[place]} to {end[place]}",
                    "Choose one with --partition and --offset, or read --from-beginning.",
                )
        return dict.fromkeys(places, start.number)

    def at(self, places: Iterable[Place], timestamp: int) -> dict[Place, int]:
        """Offset of the first record of that time or later, or NOT_FOUND; LATEST is the last stable one's successor."""
        found: dict[Place, int] = {}
        left = set(places)
        for tries in reversed(range(TRIES)):
            for client, asked in self._leaders.by_broker(left).items():
                found |= self._ask(client, asked, timestamp, is_last_try=not tries)
            left -= found.keys()
            if not left:
                return found
            time.sleep(PAUSE_SECONDS)  # leaders move: the next answer may know them
            self._leaders.learn({topic for topic, _ in left})
        topic, partition = min(left)
        raise CommandFailed(f"{topic}-{partition} has no leader", "`stepdown topics describe` shows leaders.")

    def _ask(self, client: BrokerClient, places: list[Place], timestamp: int, *, is_last_try: bool) -> dict[Place, int]:
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for topic, partition in places:
            entry = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
            by_topic.setdefault(topic, []).append(entry)
        topics = tuple(ListOffsetsTopic(name=name, partitions=tuple(each)) for name, each in by_topic.items())
        lowest = ISOLATION_FROM if self._isolation else ONE_OFFSET_FROM
        response = client.call(
            ApiKey.LIST_OFFSETS,
            lambda version: ListOffsetsRequest(replica_id=-1, isolation_level=self._isolation, topics=topics),
            among=(lowest, ANY_VERSION[1]),
        )
        found = {}
        for answered in response.topics:
            for each in answered.partitions:
                if not each.error_code:
                    found[answered.name, each.partition_index] = each.offset
                elif is_last_try or not is_retriable(each.error_code):
                    raise CommandFailed(f"{answered.name}-{each.partition_index}: {error_name(each.error_code)}")
        return found


def is_retriable(code: int) -> bool:
    """Whether trying again may help."""
    try:
        return ErrorCode(code).retriable
    except ValueError:
        return False
