"""A file of fixed-size entries in ascending order: the base of the offset index and the time index.

New entries go to a short tail in memory and are written in groups: the file may lag behind until a flush, since an
index is rebuilt from its segment after a crash. Unlike Kafka's file of an open segment, this one has no preallocated
zeros at its end. Lookups are binary searches in the file; only the tail and the last entry are kept in memory.
"""

from struct import Struct
from typing import ClassVar

from ...protocol.errors import DiskFault
from ..files.file_handle import FileHandle

_TAIL_ENTRIES = 64
_ENTRIES_PER_READ = 512

Entry = tuple[int, int]  # sorted by the first field; offsets are relative to the segment's base offset


class EntryIndex:
    """The entries of one index file, sorted by their first field; `count` of them."""

    __slots__ = ("_file", "_last", "_tail", "count", "is_whole")

    layout: ClassVar[Struct]

    def __init__(self, file: FileHandle, size_bytes: int) -> None:
        self._file = file
        self.count, rest = divmod(size_bytes, self.layout.size)
        self.is_whole = rest == 0
        self._last: Entry | None = None
        self._tail: bytearray | None = None

    @property
    def size_bytes(self) -> int:
        """The size of the file once all entries are written."""
        return self.count * self.layout.size

    @property
    def path(self) -> str:
        return self._file.path

    def size_bytes_without_zeros(self) -> int:
        """`size_bytes` without preallocated zeros after the entries, which Kafka leaves after an unclean stop."""
        low, high = 0, self.count
        if high and any(self.entry(high - 1)):
            return self.size_bytes
        while low < high:
            middle = (low + high) // 2
            if any(self.entry(middle)):
                low = middle + 1
            else:
                high = middle
        return low * self.layout.size

    def last_entry(self) -> Entry | None:
        """The last entry, None in an empty index."""
        if self._last is None and self.count:
            self._last = self.entry(self.count - 1)
        return self._last

    def entry(self, at: int) -> Entry:
        """The entry number `at`, counted from 0."""
        first, second = self.layout.unpack(self._read_entries(at, 1))
        return first, second

    def floor_entry_number(self, target: int) -> int:
        """The number of the last entry whose first field is not above `target`; -1 when there is none."""
        last = self.last_entry()
        if last is None:
            return -1
        if last[0] <= target:
            return self.count - 1
        start, entries = self._search_entries(target, 0, self.count - 1)
        return start - 1 + self._count_up_to(target, entries)

    def _search_entries(self, target: int, low: int, high: int) -> tuple[int, bytes]:
        """Narrows a binary search to a few entries; returns the number of the first of them, and their bytes.

        All entries before those are at or below `target`, all after them above it. The caller knows that of the entries
        before number `low` and from number `high` on.
        """
        while high - low > _ENTRIES_PER_READ:
            middle = (low + high) // 2
            if self.entry(middle)[0] <= target:
                low = middle + 1
            else:
                high = middle
        return low, self._read_entries(low, high - low)

    def _count_up_to(self, target: int, entries: bytes) -> int:
        unpack, width = self.layout.unpack_from, self.layout.size
        low, high = 0, len(entries) // width
        while low < high:
            middle = (low + high) // 2
            if unpack(entries, middle * width)[0] <= target:
                low = middle + 1
            else:
                high = middle
        return low

    def append(self, first: int, second: int) -> None:
        """Adds an entry, which must be above the last one."""
        if self._tail is None:
            self._tail = bytearray()
        self._tail += self.layout.pack(first, second)
        self.count += 1
        self._last = (first, second)
        if len(self._tail) >= _TAIL_ENTRIES * self.layout.size:
            self.write_out()

    def write_out(self) -> None:
        """Writes the entries that are only in memory to the file.

        Raises: DiskFault; the entries are then kept for the next attempt.
        """
        if self._tail:
            self._file.write([self._tail], self.size_bytes - len(self._tail))
        self._tail = None

    def truncate_to_count(self, count: int) -> None:
        """Drops all but the first `count` entries, in memory and in the file."""
        self.write_out()
        self.count = min(count, self.count)
        self.is_whole = True
        self._last = None
        self._file.truncate(self.size_bytes)

    def trim(self) -> None:
        """Writes out the tail and cuts the file after the last entry."""
        self.write_out()
        self._file.truncate(self.size_bytes)

    def sync_entries(self) -> None:
        """Returns when the entries that were written out are on the disk; safe beside appends in another thread."""
        if self.count:
            self._file.sync()

    def close(self) -> None:
        """Closes the file; entries that were not written out are lost."""
        self._tail = None
        self._file.close()

    def _read_entries(self, start: int, count: int) -> bytes:
        """Reads entries from the file, the tail or both.

        Raises: DiskFault when the file has become shorter.
        """
        width = self.layout.size
        tail = self._tail or b""
        written = self.count - len(tail) // width
        data = b""
        if start < written:
            data = self._file.read(min(count, written - start) * width, start * width)
        if start + count > written:
            data += tail[max(0, start - written) * width : (start + count - written) * width]
        if len(data) != count * width:
            raise DiskFault(f"{self.path}: {count} entries expected from number {start} on, found {len(data)} bytes")
        return data
