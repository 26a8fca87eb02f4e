"""Looking at stored bytes through a buffer that is used again, one for each thread.

A window is good until the thread looks through its next one: who converts does so without waiting in between.
"""

import threading

from ..protocol.errors import CorruptRecord, DiskFault
from .batch_headers import HEADER_BYTES_TO_MAGIC, V2_HEADER_BYTES, BatchHeader, parse_header
from .slices import FileSlice

KEPT_BYTES = 256 * 1024
MAX_MAGIC = 2
SMALLEST_HEADERS = (26, 34, V2_HEADER_BYTES)

_kept = threading.local()


def read_window(source: FileSlice, at: int, size_bytes: int) -> memoryview:
    """Up to `size_bytes` of the slice from `at` on, fewer only at its end.

    Raises: DiskFault when the file has shrunk below the slice.
    """
    size_bytes = min(size_bytes, source.size_bytes - at)
    window = memoryview(_buffer(size_bytes))[:size_bytes]
    read = 0
    while read < size_bytes:
        count = source.read_into(window[read:], at + read)
        if count == 0:
            raise DiskFault(f"the segment lost the {size_bytes - read} bytes behind {source.position + at + read}")
        read += count
    return window


def batch_at(source: FileSlice, at: int) -> BatchHeader | None:
    """The header of the batch at `at`, its position counted from the start of the slice; None when no whole one is
    left.

    Raises: CorruptRecord when its frame is wrong.
    """
    data = source.read(at, V2_HEADER_BYTES)
    if len(data) < HEADER_BYTES_TO_MAGIC:
        return None
    magic = data[HEADER_BYTES_TO_MAGIC - 1]
    size_bytes = int.from_bytes(data[8:12], "big", signed=True) + 12
    if magic > MAX_MAGIC or size_bytes < SMALLEST_HEADERS[magic]:
        raise CorruptRecord(f"a batch of magic {magic} and {size_bytes} bytes at {source.position + at}")
    if size_bytes > source.size_bytes - at:
        return None
    return parse_header(data, 0, at)


def _buffer(size_bytes: int) -> bytearray:
    if size_bytes > KEPT_BYTES:
        return bytearray(size_bytes)
    buffer: bytearray | None = getattr(_kept, "buffer", None)
    if buffer is None:
        buffer = _kept.buffer = bytearray(KEPT_BYTES)
    return buffer
