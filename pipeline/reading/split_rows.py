"""The rows of a split: whole batches are decoded into columns, a window at a time; what is damaged is reported.

A batch larger than a window gets one of its own size, which is no larger than what is left of the split.
"""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from ...protocol.errors import ApiError, CorruptRecord, DiskFault
from ...protocol.records.batch_header import BatchHeader, batch_headers_in
from ...protocol.records.batches import next_batch_size
from ...protocol.records.columns import ColumnFiller, WantedRows
from ...protocol.records.kernel.columns import RecordColumns
from ...protocol.records.layout import FRAME, HEADER_SIZE_UP_TO_MAGIC, LOG_OVERHEAD, MIN_SIZE
from ...protocol.records.record import Buffer
from ..places.place_files import PlaceFiles
from .segment_location import open_segment
from .split_damage import DamagePolicy, SplitDamageCheck
from .splits import Split
from .transactions import AbortedBatches

WINDOW_BYTES = 1 << 20


def allocate_without_clearing(size: int) -> Buffer:
    """A writable buffer of `size` bytes, not cleared."""
    return memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]  # arrays are buffers from Python 3.12 on


class SplitRows:
    """The rows of one split. Iterating yields the columns whenever they are full or the split ends, to be used up.

    With `keep_headers`, `headers` has those of all batches that the rows so far are from, and maybe of a few more.
    """

    def __init__(
        self, files: PlaceFiles, split: Split, wanted: WantedRows, leniency: DamagePolicy, *, keep_headers: bool = False
    ) -> None:
        self._split = split
        self._file = open_segment(files, split, split.end)
        self._filler = ColumnFiller(wanted, allocate_without_clearing)
        self._aborted = AbortedBatches(split.aborted)
        self._damage = SplitDamageCheck(split, self._file, leniency)
        self._keep_headers = keep_headers
        self.headers: list[BatchHeader] = []
        self._buffer = bytearray(min(WINDOW_BYTES, split.size_bytes))
        self._position = split.start

    def __iter__(self) -> Iterator[RecordColumns]:
        """Yield columns with rows in them; they are cleared when the next ones are asked for.

        Raises: PipelineFailure naming file, position and reason; DataLoss; DiskFault.
        """
        columns = self._filler.columns
        try:
            for _ in self._fill_columns():
                self._damage.add_rows(columns)
                yield columns
                columns.clear()
                self._damage.forget_columns()
            if columns.rows:
                yield columns
        finally:
            self._file.close()

    def _fill_columns(self) -> Iterator[None]:
        """Yield when the columns are full."""
        window = WINDOW_BYTES
        while self._position < self._split.end:
            data = self._read_window(window)
            if data is None:
                return
            window = WINDOW_BYTES
            done = whole = 0
            if self._keep_headers:
                self._collect_headers(data)
            try:
                for start, end in self._aborted.find_runs_to_keep(data):
                    for at in self._filler.fill(data[:end], start):
                        if at < 0:
                            yield
                        done = whole = at
                self._end_window(data[:whole])
            except ApiError as error:
                at = self._filler.columns.position
                self._end_window(data[:at])
                self._position = self._skip_damage(data[at:], self._position + at, str(error))
                continue
            self._position += done
            if not done:
                window = self._window_bytes_for_next_batch(data) or WINDOW_BYTES
        self._damage.end_split()

    def _end_window(self, data: memoryview) -> None:
        self._damage.add_rows(self._filler.columns)
        self._damage.end_window(data, self._position)

    def _collect_headers(self, data: memoryview) -> None:
        with suppress(CorruptRecord):  # the filler reports it
            self.headers += batch_headers_in(data)

    def _read_window(self, size: int) -> memoryview | None:
        """The next bytes, None where the file has gone or become shorter. Raises: DataLoss, DiskFault."""
        size = min(size, self._split.end - self._position)
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        view = memoryview(self._buffer)[:size]
        try:
            found = self._file.read_into(view, self._position)
        except DiskFault as fault:
            if isinstance(fault.__cause__, FileNotFoundError):
                self._damage.report_lost_file(self._position, "deleted while it was to be read")
                return None
            raise
        if found < size:
            end = self._position + found
            self._damage.report_lost_file(end, f"ends at byte {end}, after {self._split.end} before")
            return None
        return view

    def _window_bytes_for_next_batch(self, data: memoryview) -> int:
        """How large a window has to be for the next batch; 0 where there is a part of one, which is passed by.

        Raises: PipelineFailure where a part of a batch may not be.
        """
        left = self._split.end - self._position
        reason = f"{left} bytes are left, less than a header"
        if left >= HEADER_SIZE_UP_TO_MAGIC:
            size = FRAME.unpack_from(data)[1]
            if MIN_SIZE <= size <= left - LOG_OVERHEAD:
                return int(size) + LOG_OVERHEAD
            reason = f"the batch says {size} bytes, {left - LOG_OVERHEAD} are left"
        self._position = self._skip_damage(data, self._position, reason, may_be_torn=self._split.ends_log)
        return 0

    def _skip_damage(self, data: memoryview, position: int, reason: str, *, may_be_torn: bool = False) -> int:
        """Where to go on after the broken batch that `data` begins with; a torn one has nothing after it.

        Raises: PipelineFailure unless it may be skipped.
        """
        size = None
        with suppress(CorruptRecord):
            size = next_batch_size(data)
        found = self._damage.find_batch_after_damage(position, size)
        following = self._split.end if found is None else found
        if found is not None or not may_be_torn:
            offset = FRAME.unpack_from(data)[0] if len(data) >= LOG_OVERHEAD else -1
            self._damage.note_corruption(position, following - position, offset, reason)
        return following
