"""Partitions of which a client got an error in place of records.

A client that asks for the same offset again does not get past the error.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MOST_PARTITIONS = 10
"""At most this many partitions are kept for a client; a new one takes the place of one whose error is long ago."""
RECENT_S = 60.0

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RefusedFetch:
    """Fetches of one partition at the same offset, by the server's clock of requests."""

    offset: int
    first_s: float
    latest_s: float
    is_repeated: bool = False


class RefusedFetches(dict[Partition, RefusedFetch]):
    """The refused fetches of one client, by partition."""

    def note(self, partition: Partition, offset: int, at_s: float) -> None:
        """Notes that the partition got an error in place of the records from `offset` on."""
        known = self.get(partition)
        if known is not None and known.offset == offset and at_s - known.latest_s < RECENT_S:
            self[partition] = RefusedFetch(offset, known.first_s, at_s, is_repeated=True)
            return
        if known is None and len(self) >= MOST_PARTITIONS:
            oldest = min(self, key=lambda each: self[each].latest_s)
            if at_s - self[oldest].latest_s < RECENT_S:
                return
            del self[oldest]
        self[partition] = RefusedFetch(offset, at_s, at_s)

    def join(self, other: "RefusedFetches") -> None:
        """Takes the fetches of another connection, or process, of the client: of each partition the latest."""
        for partition, fetch in tuple(other.items()):  # another thread may add one now
            if partition not in self or self[partition].latest_s <= fetch.latest_s:
                self[partition] = fetch

    def list_repeats(self, now_s: float) -> Iterator[tuple[Partition, RefusedFetch]]:
        """The fetches that came again after the error, the latest within the last minute."""
        for partition, fetch in tuple(self.items()):
            if fetch.is_repeated and now_s - fetch.latest_s < RECENT_S:
                yield partition, fetch
