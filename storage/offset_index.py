"""`.index`: from an offset to a position in the segment file.

    | offset | size | field                                             |
    | 0      | 4    | last offset of an appended set - base offset      |
    | 4      | 4    | position in the segment file where that set starts |

Sorted by offset; not every set has an entry (`index.interval.bytes`). Source: Kafka 3.9 `OffsetIndex`.
"""

from struct import Struct

from .entry_index import EntryIndex


class OffsetIndex(EntryIndex):
    """Sparse (relative offset, position) entries of one segment."""

    __slots__ = ()

    layout = Struct(">ii")

    def position_of(self, relative_offset: int) -> int:
        """Where to begin looking for `relative_offset`: the position of the last entry not above it, else 0."""
        last = self._last
        if last is not None and last[0] <= relative_offset:
            return last[1]
        entry = self.floor_entry(relative_offset)
        return 0 if entry is None else entry[1]

    def first_from_position(self, position: int) -> int | None:
        """The relative offset of the first entry whose position is not below `position`; None when there is none."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.entry(middle)[1] < position:
                low = middle + 1
            else:
                high = middle
        return self.entry(low)[0] if low < self.count else None

    def truncate_to(self, relative_offset: int) -> None:
        """Drop the entries at or above `relative_offset`."""
        self.keep_first(self.floor(relative_offset - 1) + 1)

    def is_full(self, max_bytes: int) -> bool:
        return self.count >= max_bytes // self.layout.size

    def looks_right(self, segment_bytes: int) -> bool:
        """Whether the last entry can be true of a segment of that size; preallocated zeros are not."""
        last = self.last_entry()
        return self.is_whole and (last is None or (last[0] >= 0 and 0 < last[1] < segment_bytes))
