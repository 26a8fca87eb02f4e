"""A file of equally wide entries in ascending order: what the offset index and the time index have in common.

Entries are appended to a short tail in memory and written in groups: an index is rebuilt from its segment after a
crash, so it may lag behind until it is flushed. The file holds whole entries only, never the preallocated zeros Kafka
keeps while a segment is open. Lookups read the file by halves; nothing but the tail and the last entry stays in memory.
"""

from struct import Struct
from typing import ClassVar

from ...protocol.errors import DiskFault
from ..files.file_handle import FileHandle

_TAIL_ENTRIES = 64
_ENTRIES_PER_READ = 512

Entry = tuple[int, int]  # ascending in its first field; offsets relative to the segment's base


class EntryIndex:
    """The entries of one index file; the first field of an entry is what it is sorted by."""

    __slots__ = ("_count", "_file", "_last", "_tail", "is_whole")

    layout: ClassVar[Struct]

    def __init__(self, file: FileHandle, size_bytes: int) -> None:
        self._file = file
        self._count, rest = divmod(size_bytes, self.layout.size)
        self.is_whole = rest == 0
        self._last: Entry | None = None
        self._tail: bytearray | None = None

    @property
    def count(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """What the file measures once all entries are written."""
        return self._count * self.layout.size

    @property
    def path(self) -> str:
        return self._file.path

    def size_of_entries(self) -> int:
        """As `size_bytes`, of a file that may have preallocated zeros behind its entries, as after an unclean stop."""
        low, high = 0, self._count
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
        if self._last is None and self._count:
            self._last = self.entry(self._count - 1)
        return self._last

    def entry(self, at: int) -> Entry:
        """The entry number `at`, counted from 0."""
        first, second = self.layout.unpack(self._read_entries(at, 1))
        return first, second

    def floor(self, target: int) -> int:
        """The number of the last entry whose first field is not above `target`; -1 when there is none."""
        last = self.last_entry()
        if last is None:
            return -1
        if last[0] <= target:
            return self._count - 1
        start, entries = self._read_entries_around(target, 0, self._count - 1)
        return start - 1 + self._count_up_to(target, entries)

    def _read_entries_around(self, target: int, low: int, high: int) -> tuple[int, bytes]:
        """A few entries and the number of the first of them: those before are not above `target`, those behind are.

        Known before: those below number `low` are not above it, number `high` and those behind are.
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
        """Add an entry, which the caller knows to be above the last."""
        if self._tail is None:
            self._tail = bytearray()
        self._tail += self.layout.pack(first, second)
        self._count += 1
        self._last = (first, second)
        if len(self._tail) >= _TAIL_ENTRIES * self.layout.size:
            self.write_out()

    def write_out(self) -> None:
        """Put the entries that are only in memory into the file.

        Raises: DiskFault; the entries are then kept for the next attempt.
        """
        if self._tail:
            self._file.write([self._tail], self.size_bytes - len(self._tail))
        self._tail = None

    def truncate_to_count(self, count: int) -> None:
        """Drop all but the first `count` entries, in memory and in the file."""
        self.write_out()
        self._count = min(count, self._count)
        self.is_whole = True
        self._last = None
        self._file.truncate(self.size_bytes)

    def trim(self) -> None:
        """Write what is left and cut the file to its entries."""
        self.write_out()
        self._file.truncate(self.size_bytes)

    def sync_entries(self) -> None:
        """Return when what was written out is on the disk; safe beside appends in another thread."""
        if self._count:
            self._file.sync()

    def close(self) -> None:
        """Let go of the file; entries not written out are lost."""
        self._tail = None
        self._file.close()

    def _read_entries(self, start: int, count: int) -> bytes:
        """Whole entries from the file or the tail; from both when the range crosses the border.

        Raises: DiskFault when the file has become shorter.
        """
        width = self.layout.size
        tail = self._tail or b""
        written = self._count - len(tail) // width
        data = b""
        if start < written:
            data = self._file.read(min(count, written - start) * width, start * width)
        if start + count > written:
            data += tail[max(0, start - written) * width : (start + count - written) * width]
        if len(data) != count * width:
            raise DiskFault(f"{self.path}: {count} entries expected from number {start} on, found {len(data)} bytes")
        return data
