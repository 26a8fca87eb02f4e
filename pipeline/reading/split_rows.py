"""The rows of a split: whole batches are decoded into columns, a window at a time; broken ones are reported.

A batch larger than a window gets one of its own size, which is no larger than what is left of the split.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from ...protocol.errors import ApiError, CorruptRecord, DiskFault
from ...protocol.records.batch_header import BatchHeader, headers_in
from ...protocol.records.batches import next_batch_size
from ...protocol.records.columns import ColumnFiller, Wanted
from ...protocol.records.kernel.columns import RecordColumns
from ...protocol.records.layout import FRAME, HEADER_SIZE_UP_TO_MAGIC, LOG_OVERHEAD, MIN_SIZE
from ...protocol.records.record import Buffer
from ..failures import DataLoss, PipelineFailure
from ..places.place_files import PlaceFiles
from .segment_location import open_segment
from .splits import Split
from .transactions import AbortedBatches

WINDOW_BYTES = 1 << 20


@dataclass(slots=True)
class Leniency:
    """What a reader may skip, and what it did skip: a line each, naming file, position and reason."""

    skip_corrupt: bool = False
    fail_on_data_loss: bool = True
    skipped: list[str] = field(default_factory=list)


def allocate(size: int) -> Buffer:
    """A writable buffer of `size` bytes, not cleared."""
    return memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]  # arrays are buffers from Python 3.12 on


class SplitRows:
    """The rows of one split. Iterating yields the columns whenever they are full or the split ends, to be used up.

    With `keep_headers`, `headers` has those of all batches that the rows so far are from, and maybe of a few more.
    """

    def __init__(
        self, files: PlaceFiles, split: Split, wanted: Wanted, leniency: Leniency, *, keep_headers: bool = False
    ) -> None:
        self._split = split
        self._leniency = leniency
        self._file = open_segment(files, split.path, split.chunks, split.end)
        self._filler = ColumnFiller(wanted, allocate)
        self._aborted = AbortedBatches(split.aborted)
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
            for _ in self._read():
                yield columns
                columns.clear()
            if columns.rows:
                yield columns
        except DataLoss as loss:
            if self._leniency.fail_on_data_loss:
                raise
            self._leniency.skipped.append(str(loss))
            if columns.rows:
                yield columns
        finally:
            self._file.close()

    def _read(self) -> Iterator[None]:
        """Yield when the columns are full."""
        window = WINDOW_BYTES
        while self._position < self._split.end:
            data = self._window(window)
            window = WINDOW_BYTES
            done = 0
            if self._keep_headers:
                self._collect_headers(data)
            try:
                for start, end in self._aborted.runs_without(data):
                    for at in self._filler.fill(data[:end], start):
                        if at < 0:
                            yield
                        done = at
            except ApiError as error:
                done = self._skip(data, self._filler.columns.position, error)
            if not done:
                window = self._next_batch_bytes(data)
                if not window:
                    return
            self._position += done

    def _collect_headers(self, data: memoryview) -> None:
        with suppress(CorruptRecord):  # the filler reports it
            self.headers += headers_in(data)

    def _window(self, size: int) -> memoryview:
        size = min(size, self._split.end - self._position)
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        view = memoryview(self._buffer)[:size]
        try:
            found = self._file.read_into(view, self._position)
        except DiskFault as fault:
            if isinstance(fault.__cause__, FileNotFoundError):
                raise DataLoss(f"{self._split.path}: deleted while it was to be read") from fault
            raise
        if found < size:
            raise DataLoss(f"{self._split.path}: ends at byte {self._position + found}, after {self._split.end} before")
        return view

    def _next_batch_bytes(self, data: memoryview) -> int:
        """How large a window has to be for the next batch; 0 where the log ends in a part of one.

        Raises: PipelineFailure where a part of a batch may not be.
        """
        left = self._split.end - self._position
        if left >= HEADER_SIZE_UP_TO_MAGIC:
            offset, size = FRAME.unpack_from(data)
            if MIN_SIZE <= size <= left - LOG_OVERHEAD:
                return int(size) + LOG_OVERHEAD
            reason = f"the batch says {size} bytes, {left - LOG_OVERHEAD} are left"
        else:
            offset, reason = -1, f"{left} bytes are left, less than a header"
        if not self._split.ends_log:
            self._note(self._position, offset, reason)
        return 0

    def _skip(self, data: memoryview, at: int, error: ApiError) -> int:
        """Where to go on behind a broken batch. Raises: PipelineFailure unless it may be skipped."""
        offset = FRAME.unpack_from(data, at)[0]
        self._note(self._position + at, offset, error)
        try:
            size = next_batch_size(data, at)
        except CorruptRecord:
            size = None
        return self._split.end - self._position if size is None else at + size

    def _note(self, position: int, base_offset: int, reason: object) -> None:
        line = f"{self._split.path}: position {position}, base offset {base_offset}: {reason}"
        if not self._leniency.skip_corrupt:
            raise PipelineFailure(line)
        self._leniency.skipped.append(line)
