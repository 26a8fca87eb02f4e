"""Whether a file of keys has changed since it was read."""

from pathlib import Path

FileStamp = tuple[int, int, int]


def file_stamp(path: str) -> FileStamp | None:
    """Modification time, size and inode, which differ once the file was changed or replaced; None: no file."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
