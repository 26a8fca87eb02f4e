"""Settings of a broker or gateway process: more descriptors, a malloc that returns freed memory to the system, and
threads and a garbage collector that hold the event loop only for short times.
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

THREAD_TURN_S = 0.0005
"""A tenth of Python's default: a request waits at most this long for a worker thread between two compiled loops. It
halves the 99th percentile of produce requests while a log is cleaned."""

COLLECT_AFTER = (2_000, 10, 2_000)
"""By default a full garbage collection comes after some 70,000 new objects: several times a second for large requests,
and 100 ms long with 9,000 partitions. Reference counting frees almost everything here without it."""


def allow_open_files() -> None:
    """Raises the soft limit of open files to the hard one: sockets and segments both need descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def make_malloc_return_memory(kept_bytes: int = 1 << 20) -> None:
    """Makes glibc return freed memory beyond `kept_bytes` to the system; does nothing with other C libraries.

    By default, each worker thread has its own arena, which keeps the memory of its largest batch, and malloc keeps
    large blocks after the first one was freed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, kept_bytes)
        mallopt(M_TRIM_THRESHOLD, kept_bytes)


def shorten_switch_interval() -> None:
    """Makes a worker thread that runs Python yield to the event loop after half a millisecond."""
    sys.setswitchinterval(THREAD_TURN_S)


def collect_garbage_seldom() -> None:
    """Enables the garbage collector with rare runs. It ignores all present objects, which stay, and which are many with
    thousands of partitions.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()
