"""What a process that serves asks of the system: descriptors, and memory that goes back when it is freed; and of
Python: that its threads and its garbage collector hold the event loop for short times.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import resource
import sys

# malloc.h of glibc.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
KEPT_BLOCK_BYTES = 1 << 20

THREAD_TURN_S = 0.0005
"""A tenth of Python's own: what a request waits at most for a worker that is between two compiled loops. While a log is
cleaned the 99th percentile of produce requests is half of what it was."""

COLLECT_AFTER = (2_000, 10, 2_000)
"""By default a full garbage collection comes after some 70,000 new objects and takes 100 ms with 9,000 partitions,
several times a second while long requests come. Reference counting frees almost everything here without it."""


def allow_open_files() -> None:
    """Raises the soft limit of open files to the hard one: sockets and segments both need descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def make_malloc_return_memory() -> None:
    """Has glibc give back what is freed; other C libraries are left as they are.

    As it comes, each worker thread gets an arena of its own that keeps what its largest batch took, and a large block
    that was freed once teaches malloc to keep such blocks for ever.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BLOCK_BYTES)


def shorten_switch_interval() -> None:
    """Has a worker that runs Python let the event loop go on after half a millisecond."""
    sys.setswitchinterval(THREAD_TURN_S)


def collect_garbage_seldom() -> None:
    """Starts the garbage collector once the process is ready: what was imported and made so far stays, and is much with
    thousands of partitions.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()
