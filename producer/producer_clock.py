# cython: language_level=3
"""The clock of producers outside of tests. Compiled by Cython, since each record asks for the time; uncompiled, the
same file is the readable twin.
"""

from __future__ import annotations

import asyncio
import time

import cython

if cython.compiled:
    from cython.cimports.posix.time import CLOCK_MONOTONIC, clock_gettime, timespec

COMPILED: bool = cython.compiled


@cython.cfunc
def _monotonic_ms() -> cython.longlong:
    if cython.compiled:
        now = cython.declare(timespec)
        clock_gettime(CLOCK_MONOTONIC, cython.address(now))
        return cython.cast(cython.longlong, now.tv_sec) * 1000 + now.tv_nsec // 1000000
    return time.monotonic_ns() // 1_000_000


class ProducerClock:
    """`now_ms` is in ms since 1970 and never goes backwards; `call_later` uses the event loop's timers."""

    def __init__(self) -> None:
        self._start_ms = time.time_ns() // 1_000_000 - _monotonic_ms()

    def now_ms(self):
        return self._start_ms + _monotonic_ms()

    def call_later(self, delay_ms, callback):
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)
