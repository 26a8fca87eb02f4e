"""Detects zeros after the last batch of a segment: with `preallocate` its file has its full size from the start."""

from ..files.file_handle import ReadableFile

WINDOW_BYTES = 1 << 20


def is_all_zeros(file: ReadableFile, start: int, end: int) -> bool:
    """Whether all bytes between these positions are zero.

    Raises: DiskFault.
    """
    position = start
    while position < end:
        part = file.read(min(WINDOW_BYTES, end - position), position)
        if not part or part.strip(b"\0"):
            return False
        position += len(part)
    return True
