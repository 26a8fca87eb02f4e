"""`.timeindex`: maps timestamps to offsets.

    | offset | size | field                                                        |
    | 0      | 8    | largest timestamp so far, ms since 1970                      |
    | 8      | 4    | last offset of the batch that has it - base offset           |

Timestamps strictly increase. The last entry of a closed segment is its largest timestamp. Source: Kafka 3.9
`TimeIndex`.
"""

from struct import Struct

from .entry_index import EntryIndex


class TimeIndex(EntryIndex):
    """(timestamp, relative offset) entries of one segment."""

    __slots__ = ()

    layout = Struct(">qi")

    def append_if_later(self, timestamp: int, relative_offset: int) -> None:
        """Adds an entry if `timestamp` is above that of the last entry (-1 without entries)."""
        last = self.last_entry()
        if timestamp > (last[0] if last is not None else -1):
            self.append(timestamp, relative_offset)

    def offset_to_search_from(self, timestamp: int) -> int:
        """A relative offset at or below the first record that is at or after `timestamp`."""
        at = self.floor_entry_number(timestamp)
        return self.entry(at)[1] if at >= 0 else 0

    def truncate_to(self, relative_offset: int) -> None:
        """Drops the entries at or above `relative_offset`."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.entry(middle)[1] < relative_offset:
                low = middle + 1
            else:
                high = middle
        self.truncate_to_count(low)

    def looks_right(self) -> bool:
        """Whether the last entry is possible; preallocated zeros are not."""
        last = self.last_entry()
        if last is None:
            return self.is_whole
        return self.is_whole and last[1] >= 0 and last[0] > (self.entry(0)[0] if self.count > 1 else -1)
