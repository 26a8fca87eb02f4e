"""Reads stored bytes into a buffer that each thread keeps and uses again.

A window is valid until the same thread reads its next one, so a conversion must not await while it uses one.
"""

import threading

from ...protocol.errors import CorruptRecord, DiskFault
from ...protocol.records.batch_header import SMALLEST_BATCHES, BatchHeader, parse_batch_header
from ...protocol.records.layout import FRAME, HEADER_SIZE_UP_TO_MAGIC, LOG_OVERHEAD, MAGIC_OFFSET, RECORD_BATCH_OVERHEAD
from ..files.file_handle import Buffer
from ..files.file_slice import FileSlice

KEPT_BYTES = 256 * 1024
MAX_MAGIC = 2


class _KeptWindow(threading.local):
    """The window that each thread keeps, made at its first use."""

    def __init__(self) -> None:
        self.window = memoryview(bytearray(KEPT_BYTES))


_kept = _KeptWindow()


def read_window(source: FileSlice, at: int, size_bytes: int) -> memoryview:
    """Reads `size_bytes` of the slice from `at` on, fewer only at its end.

    Raises: DiskFault when the file has become shorter than the slice.
    """
    size_bytes = min(size_bytes, source.size_bytes - at)
    window = _kept.window[:size_bytes] if size_bytes <= KEPT_BYTES else memoryview(bytearray(size_bytes))
    read, position, file = 0, source.position + at, source.file
    while read < size_bytes and file is not None:
        count = file.read_into(window[read:], position + read)
        if count == 0:
            raise DiskFault(f"the segment lost the {size_bytes - read} bytes behind {position + read}")
        read += count
    return window


def batch_header_at(source: FileSlice, at: int) -> BatchHeader | None:
    """Reads the header of the batch at `at`, counted from the start of the slice; None if no whole batch is there.

    Raises: CorruptRecord when its offset, size or magic is wrong.
    """
    return _read_header(source.read(at, RECORD_BATCH_OVERHEAD), 0, source.size_bytes - at, source.position + at)


def batch_header_in(window: memoryview, at: int, position: int) -> BatchHeader | None:
    """The header of the batch at `at` in a window that begins at `position` of its file, as `batch_header_at`."""
    return _read_header(window, at, len(window) - at, position + at)


def _read_header(data: Buffer, at: int, left: int, position: int) -> BatchHeader | None:
    """The header at `at` in `data`; the batch is at `position` of its file, `left` bytes before the slice's end."""
    if len(data) - at < HEADER_SIZE_UP_TO_MAGIC:
        return None
    size_bytes = FRAME.unpack_from(data, at)[1] + LOG_OVERHEAD
    magic = data[at + MAGIC_OFFSET]
    if magic > MAX_MAGIC or size_bytes < SMALLEST_BATCHES[magic]:
        raise CorruptRecord(f"a batch of magic {magic} and {size_bytes} bytes at {position}")
    if size_bytes > left or len(data) - at < min(
        size_bytes, RECORD_BATCH_OVERHEAD
    ):  # the file may end before the slice does
        return None
    return parse_batch_header(data, at, position)
