"""Index files entry by entry, compared with their segment.

An offset index entry names the position of a batch that ends at or before the entry's offset; a time index entry names
a batch whose largest timestamp is the entry's. Both ascend. Kafka preallocates index files, so zeros may follow the
entries. The segment's batch headers are read once, side by side with the entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from ...protocol.records.batch_header import BatchHeader
from ...storage.files.file_handle import FileHandle
from ...storage.index.offset_index import OffsetIndex
from ...storage.index.time_index import TimeIndex
from ...storage.log.batch_scan import batch_headers
from .segment_rows import Row, problem_row

_ENTRIES_PER_READ = 4096
_ABORTED = Struct(">hqqqq")


class IndexedSegment:
    """A segment file to compare an index with; only its headers are read."""

    def __init__(self, file: FileHandle, size_bytes: int, base_offset: int) -> None:
        self.base_offset = base_offset
        self._headers = batch_headers(file, 0, size_bytes)
        self._current: BatchHeader | None = next(self._headers, None)

    def next_batch_at_position(self, position: int) -> BatchHeader | None:
        """Returns the first batch at or after `position`. Positions must ascend from call to call."""
        while self._current is not None and self._current.position < position:
            self._current = next(self._headers, None)
        return self._current

    def next_batch_reaching_offset(self, offset: int) -> BatchHeader | None:
        """Returns the first batch whose last offset is `offset` or more. Offsets must ascend from call to call."""
        while self._current is not None and self._current.last_offset < offset:
            self._current = next(self._headers, None)
        return self._current


def offset_index_rows(file: FileHandle, size_bytes: int, segment: IndexedSegment) -> Iterator[Row]:
    """A row of kind "index" for each entry, "problem" for each that is wrong."""
    before = (-1, -1)
    for number, (relative, position) in enumerate(_read_entries(OffsetIndex.layout, file, size_bytes)):
        if relative == 0 and number > 0:
            return
        offset = segment.base_offset + relative
        yield {"kind": "index", "offset": offset, "position": position}
        if relative <= before[0] or position < before[1] or position < 0:
            yield problem_row("the entry does not ascend", offset=offset, position=position)
            return
        before = (relative, position)
        header = segment.next_batch_at_position(position)
        if header is None or header.position != position:
            yield problem_row("no batch begins at the entry's position", offset=offset, position=position)
        elif header.last_offset > offset:
            text = f"the batch there ends at offset {header.last_offset}, above the entry's"
            yield problem_row(text, offset=offset, position=position)
    yield from _check_size(OffsetIndex.layout, size_bytes)


def time_index_rows(file: FileHandle, size_bytes: int, segment: IndexedSegment) -> Iterator[Row]:
    """A row of kind "time_index" for each entry, "problem" for each that is wrong."""
    before = (-1, -1)
    for number, (timestamp, relative) in enumerate(_read_entries(TimeIndex.layout, file, size_bytes)):
        if relative == 0 and timestamp == 0 and number > 0:
            return
        offset = segment.base_offset + relative
        yield {"kind": "time_index", "timestamp": timestamp, "offset": offset}
        if timestamp <= before[0] or relative < before[1]:
            yield problem_row("the entry does not ascend", offset=offset, timestamp=timestamp)
            return
        before = (timestamp, relative)
        header = segment.next_batch_reaching_offset(offset)
        if header is None:
            yield problem_row("no batch has the entry's offset", offset=offset, timestamp=timestamp)
        elif header.max_timestamp != timestamp:
            text = f"the largest timestamp of the batch there is {header.max_timestamp}"
            yield problem_row(text, offset=offset, timestamp=timestamp)
    yield from _check_size(TimeIndex.layout, size_bytes)


def transaction_index_rows(file: FileHandle, size_bytes: int, base_offset: int) -> Iterator[Row]:
    """A row of kind "aborted_transaction" for each entry, "problem" for each that is wrong."""
    before = -1
    for version, producer_id, first, last, stable in _read_entries(_ABORTED, file, size_bytes):
        if version != 0:
            yield problem_row(f"an entry of the unknown version {version}")
            return
        yield {
            "kind": "aborted_transaction",
            "producer_id": producer_id,
            "first_offset": first,
            "last_offset": last,
            "last_stable_offset": stable,
        }
        if last < base_offset or first > last or last <= before:
            yield problem_row("the entry is out of order, or not of this segment", offset=last)
        before = last
    yield from _check_size(_ABORTED, size_bytes)


def _read_entries(layout: Struct, file: FileHandle, size_bytes: int) -> Iterator[tuple[int, ...]]:
    """Yields the whole entries of a file, and reads a few thousand at a time."""
    whole = size_bytes - size_bytes % layout.size
    step = _ENTRIES_PER_READ * layout.size
    for position in range(0, whole, step):
        data = file.read(min(step, whole - position), position)
        yield from layout.iter_unpack(data[: len(data) - len(data) % layout.size])


def _check_size(layout: Struct, size_bytes: int) -> Iterator[Row]:
    if size_bytes % layout.size:
        yield problem_row(f"the file's {size_bytes} bytes are not a multiple of {layout.size}, the size of an entry")
