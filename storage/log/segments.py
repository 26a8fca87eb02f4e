"""The segments of one log, ordered by base offset; appends go to the last one."""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from operator import attrgetter

from .segment import Segment

_base_offset = attrgetter("base_offset")


class Segments:
    """At least one segment, except while a log is being loaded. `active` is the last one."""

    __slots__ = ("_segments", "active")

    active: Segment

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._note_active()

    def _note_active(self) -> None:
        if self._segments:
            self.active = self._segments[-1]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def __getitem__(self, at: int) -> Segment:
        return self._segments[at]

    def __contains__(self, segment: object) -> bool:
        return segment in self._segments

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def index_of(self, offset: int) -> int:
        """The number of the segment with the largest base offset at or below `offset`; -1 when all are above."""
        if offset >= self._segments[-1].base_offset:
            return len(self._segments) - 1
        return bisect_right(self._segments, offset, key=_base_offset) - 1

    def from_offset(self, offset: int) -> Iterator[tuple[int, Segment]]:
        """The segments from the one that contains `offset` on, each with its number."""
        for at in range(max(0, self.index_of(offset)), len(self._segments)):
            yield at, self._segments[at]

    def reaching(self, start: int, end: int | None = None) -> list[Segment]:
        """The segments that may hold offsets of [start, end)."""
        first = max(0, self.index_of(start)) if self._segments else 0
        return [segment for segment in self._segments[first:] if end is None or segment.base_offset < end]

    def from_index(self, at: int) -> list[Segment]:
        return self._segments[at:]

    def next_base_offset(self, at: int) -> int | None:
        """The base offset of the segment after number `at`; None for the active one."""
        return self._segments[at + 1].base_offset if at + 1 < len(self._segments) else None

    def append(self, segment: Segment) -> None:
        self._segments.append(segment)
        self.active = segment

    def insert(self, segment: Segment) -> None:
        """Inserts it where its base offset belongs."""
        insort(self._segments, segment, key=_base_offset)
        self._note_active()

    def remove(self, segments: Sequence[Segment]) -> None:
        gone = set(map(id, segments))
        self._segments[:] = [segment for segment in self._segments if id(segment) not in gone]
        self._note_active()
