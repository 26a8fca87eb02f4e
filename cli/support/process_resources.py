"""What a process that serves asks of the system: descriptors, and memory that goes back when it is freed."""

from __future__ import annotations

import contextlib
import ctypes
import resource

# malloc.h of glibc.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
KEPT_BLOCK_BYTES = 1 << 20


def allow_open_files() -> None:
    """Raises the soft limit of open files to the hard one: sockets and segments both need descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def return_memory() -> None:
    """Has glibc give back what is freed; other C libraries are left as they are.

    As it comes, each worker thread gets an arena of its own that keeps what its largest batch took, and a large block
    that was freed once teaches malloc to keep such blocks for ever.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BLOCK_BYTES)
