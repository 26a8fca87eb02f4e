"""Zeros behind the last batch of a file: room that was set aside for more.

stepdown lets a file grow ahead of small appends (docs/decisions/log-growth.md); Kafka takes a whole segment at once
where `preallocate` is set.
"""

from ..files.file_handle import FileHandle

WINDOW_BYTES = 1 << 20


def is_room(file: FileHandle, start: int, end: int) -> bool:
    """Whether there are zeros only between these positions.

    Raises: DiskFault.
    """
    position = start
    while position < end:
        part = file.read(min(WINDOW_BYTES, end - position), position)
        if not part or part.strip(b"\0"):
            return False
        position += len(part)
    return True
