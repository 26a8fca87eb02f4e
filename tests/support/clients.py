"""Real Kafka clients behind one face: what a test writes with any of them, it reads with any of them.

A client reads with `assign`, never as a member of a group. Each call opens a client of its own under the `client_id`
given, so that a recording proxy can tell who sent what.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

LARGEST_FETCH = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A record as an application sees it; `timestamp_ms` is None where the format has none."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None

    def at_magic(self, magic: int) -> "Message":
        """Return what is left of it after a trip through this record format."""
        return replace(
            self,
            headers=self.headers if magic >= 2 else (),
            timestamp_ms=self.timestamp_ms if magic >= 1 else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A record with its place, as a consumer handed it out."""

    topic: str
    partition: int
    offset: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What to read of a partition: `count` records from `offset` on."""

    topic: str
    partition: int = 0
    offset: int = 0
    count: int


class Client(Protocol):
    """A client library in one of its configurations."""

    @property
    def name(self) -> str:
        """Library and pinned version, for test ids and client ids."""

    @property
    def codecs(self) -> tuple[str, ...]:
        """The values of compression.type it can write."""

    @property
    def write_magic(self) -> int:
        """The newest record format that it writes."""

    @property
    def null_headers(self) -> bool:
        """True when it can write a header whose value is null."""

    @property
    def read_magic(self) -> int:
        """The newest record format that its fetch version reads."""

    @property
    def fetch_versions(self) -> frozenset[int]:
        """The Fetch versions it may send to a broker that offers 0 to 15, 17 or 18 (always the same one)."""

    def produce(
        self, address: str, client_id: str, topic: str, partition: int, messages: Sequence[Message], codec: str
    ) -> None:
        """Write the messages in order and return when all are acknowledged (acks=all)."""

    def consume(
        self, address: str, client_id: str, spans: Sequence[Span], *, max_bytes: int = LARGEST_FETCH
    ) -> list[Received]:
        """Return the records of the spans; those of one partition are in the order they came.

        `max_bytes` is asked of each partition in each fetch.

        Raises:
            Exception: records are missing after 30 s, each library in its own words.
        """


class Collected:
    """Counts records down until every span is full."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.records: list[Received] = []
        self._left = Counter({(span.topic, span.partition): span.count for span in spans})

    @property
    def complete(self) -> bool:
        return all(left <= 0 for left in self._left.values())

    @property
    def missing(self) -> Mapping[tuple[str, int], int]:
        return {partition: left for partition, left in self._left.items() if left > 0}

    def add(self, record: Received) -> None:
        self._left[record.topic, record.partition] -= 1
        self.records.append(record)

    def partition(self, topic: str, partition: int) -> list[Received]:
        return [r for r in self.records if (r.topic, r.partition) == (topic, partition)]


def timestamp_or_none(value: int | None) -> int | None:
    """Return None for the ways in which libraries say that there is no timestamp."""
    return None if value is None or value < 0 else value
