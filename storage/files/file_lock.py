"""A lock between processes that Java's `FileLock` respects, so that Kafka and stepdown never share a log directory."""

import errno
import fcntl
import os
from struct import Struct

_FLOCK = Struct("hhqqi")  # struct flock: type, whence, start, length, pid


class FileLock:
    """An exclusive lock between processes, as Java's `FileLock` (POSIX record locks), held until `release`."""

    __slots__ = ("_fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self.path = path

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def acquire_lock(path: str) -> FileLock | None:
    """Locks the file, creating it if missing; returns None when somebody else holds the lock.

    Raises: OSError.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock_whole_file(fd)
    except OSError as fault:
        os.close(fd)
        if fault.errno in (errno.EACCES, errno.EAGAIN):
            return None
        raise
    return FileLock(fd, path)


def _lock_whole_file(fd: int) -> None:
    # A lock of the open file description excludes both Java's FileLock and a second broker in this process, and closing
    # another descriptor does not release it. Without it, a plain record lock excludes other processes only.
    if hasattr(fcntl, "F_OFD_SETLK"):
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    else:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
