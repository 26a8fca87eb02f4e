"""Looking at stored bytes through a buffer that is used again, one for each thread.

A window is good until the thread looks through its next one: who converts does so without waiting in between.
"""

import threading

from ...protocol.errors import CorruptRecord, DiskFault
from ...protocol.records.batch_header import SMALLEST_BATCHES, BatchHeader, parse_header
from ...protocol.records.layout import FRAME, HEADER_SIZE_UP_TO_MAGIC, LOG_OVERHEAD, MAGIC_OFFSET, RECORD_BATCH_OVERHEAD
from ..files.file_handle import Buffer
from .bytes_slice import BytesSlice, Source

KEPT_BYTES = 256 * 1024
MAX_MAGIC = 2

_kept = threading.local()


def read_window(source: Source, at: int, size_bytes: int) -> memoryview:
    """Up to `size_bytes` of the slice from `at` on, fewer only at its end.

    Raises: DiskFault when the file has shrunk below the slice.
    """
    size_bytes = min(size_bytes, source.size_bytes - at)
    if isinstance(source, BytesSlice):
        return source.data[at : at + size_bytes]
    window = thread_buffer(size_bytes)[:size_bytes]
    read = 0
    while read < size_bytes:
        count = source.read_into(window[read:], at + read)
        if count == 0:
            raise DiskFault(f"the segment lost the {size_bytes - read} bytes behind {source.position + at + read}")
        read += count
    return window


def batch_header_at(source: Source, at: int) -> BatchHeader | None:
    """The header of the batch at `at`, its position counted from the start of the slice; None when no whole one is
    left.

    Raises: CorruptRecord when its frame is wrong.
    """
    if isinstance(source, BytesSlice):
        return batch_header_in(source.data, at, 0)
    return _read_header(source.read(at, RECORD_BATCH_OVERHEAD), 0, source.size_bytes - at, source.position + at)


def batch_header_in(window: memoryview, at: int, position: int) -> BatchHeader | None:
    """As `batch_header_at`, of the batch at `at` of a window that begins at `position` of its file."""
    return _read_header(window, at, len(window) - at, position + at)


def _read_header(data: Buffer, at: int, left: int, position: int) -> BatchHeader | None:
    """The header at `at` of `data`, of a batch at `position` of its file with `left` bytes before the end."""
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
    return parse_header(data, at, position)


def thread_buffer(size_bytes: int = KEPT_BYTES) -> memoryview:
    """Room to look at `size_bytes` or more through, holding anything: all that this thread keeps, if that is enough."""
    if size_bytes > KEPT_BYTES:
        return memoryview(bytearray(size_bytes))
    window: memoryview | None = getattr(_kept, "window", None)
    if window is None:
        window = _kept.window = memoryview(bytearray(KEPT_BYTES))
    return window
