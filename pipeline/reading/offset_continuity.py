"""Follows the offsets of a split's batches, and finds those that are missing between them.

In most windows the offsets of the rows are consecutive, so nothing is missing. Where they are not, the batch headers
are looked at: control batches and skipped batches also use up offsets.

Compaction leaves holes as well. It explains those below the offset up to which the cleaner has cleaned the log
(`cleaner-offset-checkpoint`), and all of a segment in which a batch has fewer records than offsets: a replica of a
compacted log gets such segments from its leader.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ...protocol.errors import CorruptRecord
from ...protocol.records.batch_header import BatchHeader, batch_headers_in
from ...protocol.records.kernel.columns import RecordColumns
from ...protocol.records.layout import CODEC_MASK, FRAME, MAGIC_V2
from ...storage.files.file_handle import ReadableFile
from ...storage.log.batch_scan import batch_headers


class Gap(NamedTuple):
    """Offsets `first` to `end` (open) that no batch has; `position`: where in the file they would be.

    `is_overlap`: batches have them that come after batches with higher offsets.
    """

    first: int
    end: int
    position: int
    is_overlap: bool = False


class OffsetContinuity:
    """`expected` is the offset that the next batch begins with if nothing is missing, None where that is not known.
    `window_first` is the first offset of the last window.

    Rows are of the offsets from `first` on: those before are not looked at. With `begins_in_batch` the first batch may
    have lower offsets, too.
    """

    def __init__(self, file: ReadableFile, *, expected: int | None, first: int, begins_in_batch: bool = False) -> None:
        self.expected = expected
        self.has_thinned_batch = False
        self.window_first: int | None = None
        self._file = file
        self._first = first
        self._begins_in_batch = begins_in_batch
        self._rows: list[Any] = []
        self._taken = 0
        self._unwalked: tuple[int, int] | None = None

    def add_rows(self, columns: RecordColumns) -> None:
        """Keep the offsets of the rows that came since the last call."""
        offsets = np.frombuffer(columns.offsets_buffer, np.int64, columns.rows)[self._taken :]
        self._taken = columns.rows
        if len(offsets):
            self._rows.append(offsets.copy())

    def forget_columns(self) -> None:
        """The columns are empty again."""
        self._taken = 0

    def end_window(self, data: memoryview, position: int) -> Iterator[Gap]:
        """Yield the gaps of whole batches, which lie at `position` of the file; their rows were taken."""
        rows = np.concatenate(self._rows) if self._rows else np.empty(0, np.int64)
        self._rows.clear()
        if not len(data):
            return
        self.window_first = _first_offset(data, rows)
        if self.expected is None:
            self.expected = self.window_first
        if self._is_without_gap(rows):
            self.expected, self._unwalked = int(rows[-1]) + 1, (position, len(data))
            return
        self._walk_window_before()
        yield from self._find_gaps(data, position, rows)

    def next_offset_after_all_batches(self) -> int | None:
        """`expected` after all batches so far, those without rows too."""
        self._walk_window_before()
        return self.expected

    def take_gap_before(self, offset: int, position: int) -> Gap | None:
        """The gap between all batches so far and `offset`, None where there is none."""
        if self.expected is not None and self.expected < offset:
            self._walk_window_before()
        if self.expected is None or self.expected >= offset:
            return None
        gap = Gap(self.expected, offset, position)
        self.expected = offset
        return gap

    def _is_without_gap(self, rows: Any) -> bool:
        if self.expected is None or not len(rows) or rows[0] != max(self.expected, self._first):
            return False
        return bool((np.diff(rows) == 1).all())

    def _walk_window_before(self) -> None:
        """Take the headers of the window before for its end: its last batches may have no rows."""
        if self._unwalked is None:
            return
        position, size = self._unwalked
        self._unwalked = None
        for header in _headers(memoryview(self._file.read(size, position))):
            self._expect_after(header.last_offset)

    def _find_gaps(self, data: memoryview, position: int, rows: Any) -> Iterator[Gap]:
        at = 0
        for header in _headers(data):
            base = header.base_offset
            count = _count_rows_of_batch(rows, at, header)
            if header.magic < MAGIC_V2 and header.attributes & CODEC_MASK:
                base = self._first_of_wrapper(rows[at : at + count], header)
            at += count
            gap = self._pass_batch(base, header, position)
            if gap is not None:
                yield gap

    def check_header(self, header: BatchHeader) -> Gap | None:
        """The gap before a batch, by its header alone; that of a wrapper does not tell its first offset."""
        is_wrapper = header.magic < MAGIC_V2 and header.attributes & CODEC_MASK
        base = header.base_offset if not is_wrapper or self.expected is None else self.expected
        return self._pass_batch(min(base, header.base_offset), header, 0)

    def _pass_batch(self, base: int, header: BatchHeader, position: int) -> Gap | None:
        gap = None
        if self.expected is not None and base != self.expected and not self._begins_in_batch:
            first, end = sorted((self.expected, base))
            gap = Gap(first, end, position + header.position, is_overlap=base < self.expected)
        self._begins_in_batch = False
        self.has_thinned_batch = self.has_thinned_batch or _is_thinned(header)
        self._expect_after(header.last_offset)
        return gap

    def _first_of_wrapper(self, rows: Any, header: BatchHeader) -> int:
        """The first offset of a compressed wrapper of magic 0 or 1, which only its rows tell if there are any."""
        after = header.last_offset if self.expected is None else self.expected
        if not len(rows) or after < self._first:
            return min(after, header.last_offset)
        self.has_thinned_batch = self.has_thinned_batch or int(rows[-1] - rows[0]) >= len(rows)
        return int(rows[0])

    def _expect_after(self, last_offset: int) -> None:
        if self.expected is None or last_offset >= self.expected:
            self.expected = last_offset + 1


def has_thinned_batch(file: ReadableFile, end: int) -> bool:
    """Whether compaction has taken records out of a batch of the segment. Raises: DiskFault."""
    with suppress(CorruptRecord):
        return any(_is_thinned(header) for header in batch_headers(file, 0, end))
    return False


def _count_rows_of_batch(rows: Any, at: int, header: BatchHeader) -> int:
    """How many rows from `at` on are the batch's: rising offsets up to its last."""
    end = at
    while end < len(rows) and rows[end] <= header.last_offset and (end == at or rows[end] > rows[end - 1]):
        end += 1
    return end - at


def _is_thinned(header: BatchHeader) -> bool:
    return header.magic >= MAGIC_V2 and 0 <= header.record_count <= header.last_offset - header.base_offset


def _headers(data: memoryview) -> Iterator[BatchHeader]:
    with suppress(CorruptRecord):
        yield from batch_headers_in(data)


def _first_offset(data: memoryview, rows: Any) -> int:
    """The first offset of the batches in `data`; of a wrapper of magic 0 or 1 without rows its last one."""
    base = int(FRAME.unpack_from(data)[0])
    return min(base, int(rows[0])) if len(rows) else base
