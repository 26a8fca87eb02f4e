"""`.txnindex`: the aborted transactions that end in a segment; the file is created with the first of them.

    | offset | size | field                                     |
    | 0      | 2    | version, 0                                |
    | 2      | 8    | producer id                               |
    | 10     | 8    | first offset of the transaction           |
    | 18     | 8    | last offset: that of its ABORT marker     |
    | 26     | 8    | last stable offset when the marker came   |

Source: Kafka 3.9 `TransactionIndex`, `AbortedTxn`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from ..files.file_handle import FileHandle
from ..files.files import Files

_ENTRY = Struct(">hqqqq")
_ENTRIES_PER_READ = 128
LAST_OFFSET = (1 << 63) - 1


class AbortedTransaction(NamedTuple):
    """An aborted transaction; `first_offset` and `last_offset` both belong to it."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def parse_entries(data: bytes) -> list[AbortedTransaction]:
    """The whole entries in the bytes of an index, up to the first of an unknown version."""
    found: list[AbortedTransaction] = []
    for version, *fields in _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size]):
        if version != 0:
            break
        found.append(AbortedTransaction(*fields))
    return found


class TransactionIndex:
    """The aborted transactions of one segment, in the order of their markers."""

    __slots__ = ("_file", "_files", "_size")

    def __init__(self, files: Files, path: str, size_bytes: int) -> None:
        self._files = files
        self._file: FileHandle = files.handle(path)
        self._size = size_bytes // _ENTRY.size * _ENTRY.size

    @property
    def count(self) -> int:
        return self._size // _ENTRY.size

    @property
    def path(self) -> str:
        return self._file.path

    def append(self, aborted: AbortedTransaction) -> None:
        self._size += self._file.write([_ENTRY.pack(0, *aborted)], self._size)

    def entries(self) -> list[AbortedTransaction]:
        """All entries up to the first of an unknown version."""
        return list(self._entries_from(0))

    def _entries_from(self, number: int) -> Iterator[AbortedTransaction]:
        for position in range(number * _ENTRY.size, self._size, _ENTRIES_PER_READ * _ENTRY.size):
            data = self._file.read(min(_ENTRIES_PER_READ * _ENTRY.size, self._size - position), position)
            part = parse_entries(data)
            yield from part
            if len(part) < len(data) // _ENTRY.size:
                return

    def collect(self, fetch_offset: int, upper_offset: int, take: Callable[[AbortedTransaction], object]) -> bool:
        """Calls `take` with each transaction that overlaps [fetch_offset, upper_offset).

        Returns whether later segments cannot have more of them. Last offsets ascend, so it finds the first entry that
        ends at or after `fetch_offset` by a binary search.
        """
        first = bisect_left(range(self.count), fetch_offset, key=self._last_offset)
        for aborted in self._entries_from(first):
            if aborted.first_offset < upper_offset:
                take(aborted)
            if aborted.last_stable_offset >= upper_offset:
                return True
        return False

    def _last_offset(self, number: int) -> int:
        """The last offset of an entry; one of an unknown version counts as the highest."""
        entry = parse_entries(self._file.read(_ENTRY.size, number * _ENTRY.size))
        return entry[0].last_offset if entry else LAST_OFFSET

    def looks_right(self, base_offset: int) -> bool:
        """Whether all entries are possible in a segment that starts at `base_offset`."""
        entries = self.entries()
        return len(entries) == self.count and all(entry.last_offset >= base_offset for entry in entries)

    def truncate_to(self, offset: int) -> None:
        """Drops the transactions whose markers are at or above `offset`."""
        keep = sum(1 for entry in self.entries() if entry.last_offset < offset)
        if keep < self.count:
            self._size = keep * _ENTRY.size
            self._file.truncate(self._size)

    def reset(self) -> None:
        """Removes all entries and the file."""
        self._file.close()
        self._files.remove(self._file.path)
        self._size = 0

    def sync(self) -> None:
        if self._size:
            self._file.sync()

    def close(self) -> None:
        self._file.close()
