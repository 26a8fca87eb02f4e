"""Whether a file of keys has changed since it was read."""

from pathlib import Path

FileStamp = tuple[int, int, int]


def file_stamp(path: str) -> FileStamp | None:
    """What is another when the file is: time, size and inode; None when it is not there."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
