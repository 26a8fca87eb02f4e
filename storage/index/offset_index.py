"""`.index`: maps offsets to positions in the segment file.

    | offset | size | field                                             |
    | 0      | 4    | last offset of an appended set - base offset      |
    | 4      | 4    | position in the segment file where that set starts |

Sorted by offset; not every set has an entry (`index.interval.bytes`). Source: Kafka 3.9 `OffsetIndex`.
"""

import sys
from array import array
from bisect import bisect_right
from struct import Struct

from .entry_index import EntryIndex

_ENTRIES_PER_GUESS = 32
_POSITION = 0xFFFFFFFF


class OffsetIndex(EntryIndex):
    """Sparse (relative offset, position) entries of one segment."""

    __slots__ = ()

    layout = Struct(">ii")

    def position_of(self, relative_offset: int) -> int:
        """The position from which to scan for `relative_offset`: that of the last entry at or below it, else 0."""
        last = self.last_entry()
        if last is None or last[0] <= relative_offset:
            return 0 if last is None else last[1]
        start, entries = self._interpolate_entries(relative_offset, last[0])
        both = array("q", entries)  # each entry as one number; these sort as their offsets do
        if sys.byteorder == "little":
            both.byteswap()
        found = bisect_right(both, relative_offset << 32 | _POSITION)
        if found:
            return both[found - 1] & _POSITION
        return self.entry(start - 1)[1] if start else 0

    def _interpolate_entries(self, relative_offset: int, last_relative_offset: int) -> tuple[int, bytes]:
        """Like `_search_entries`, but first looks where the entry is if all batches have about the same size."""
        low, high = 0, self.count - 1
        if high <= _ENTRIES_PER_GUESS or relative_offset < 0:
            return self._search_entries(relative_offset, low, high)
        start = relative_offset * high // last_relative_offset - _ENTRIES_PER_GUESS // 2
        start = min(max(start, 0), high - _ENTRIES_PER_GUESS)
        entries = self._read_entries(start, _ENTRIES_PER_GUESS)
        if self.layout.unpack_from(entries)[0] > relative_offset:
            return self._search_entries(relative_offset, low, start)
        if self.layout.unpack_from(entries, len(entries) - self.layout.size)[0] <= relative_offset:
            return self._search_entries(relative_offset, start + _ENTRIES_PER_GUESS, high)
        return start, entries

    def offset_from_position(self, position: int) -> int | None:
        """The relative offset of the first entry at or after `position`; None when there is none."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.entry(middle)[1] < position:
                low = middle + 1
            else:
                high = middle
        return self.entry(low)[0] if low < self.count else None

    def truncate_to(self, relative_offset: int) -> None:
        """Drops the entries at or above `relative_offset`."""
        self.truncate_to_count(self.floor_entry_number(relative_offset - 1) + 1)

    def looks_right(self, segment_bytes: int) -> bool:
        """Whether the last entry is possible in a segment of that size; preallocated zeros are not."""
        last = self.last_entry()
        return self.is_whole and (last is None or (last[0] >= 0 and 0 < last[1] < segment_bytes))
