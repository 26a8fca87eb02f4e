"""Reads a segment from start to end in windows of whole batches, for work on all of its batches."""

from collections.abc import Iterator

from ...protocol.errors import CorruptRecord
from ...protocol.records.layout import FRAME, LOG_OVERHEAD, MIN_SIZE
from ..files.file_names import LOG
from ..files.files import Files
from .segment import Segment

HEADER_BYTES = 61


def windows(files: Files, segment: Segment, position: int, window_bytes: int) -> Iterator[memoryview]:
    """Yields views of whole batches from `position` to the segment's end; one larger than `window_bytes` comes alone.

    A view is valid until the next one is taken. The file has a handle of its own, so any thread may read it.

    Raises: CorruptRecord if a batch does not end within the segment; DiskFault.
    """
    handle = files.handle(segment.path(LOG))
    buffer = bytearray(min(window_bytes, max(segment.size - position, HEADER_BYTES)))
    try:
        while position < segment.size:
            view = memoryview(buffer)[: segment.size - position]
            view = view[: handle.read_into(view, position)]
            whole = _whole_batch_bytes(view)
            if whole:
                position += whole
                yield view[:whole]
                continue
            size = FRAME.unpack_from(view)[1] + LOG_OVERHEAD if len(view) >= FRAME.size else 0
            if size < MIN_SIZE + LOG_OVERHEAD or size > segment.size - position or size <= len(buffer):
                raise CorruptRecord(f"{handle.path}: no whole batch at position {position}")
            buffer = bytearray(size)
    finally:
        handle.close()


def _whole_batch_bytes(view: memoryview) -> int:
    at = 0
    while len(view) - at >= FRAME.size:
        size = FRAME.unpack_from(view, at)[1]
        if size < MIN_SIZE or size + LOG_OVERHEAD > len(view) - at:
            break
        at += size + LOG_OVERHEAD
    return at
