# cython: language_level=3
"""The clock of producers that run: an event loop's timers, and a time that never goes backwards.

Compiled by Cython, since each record asks for the time; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import asyncio
import time

import cython

if cython.compiled:
    from cython.cimports.stepdown.producer.loop_clock import monotonic_ms
else:

    def monotonic_ms() -> int:
        return time.monotonic_ns() // 1_000_000


COMPILED: bool = cython.compiled


@cython.final
@cython.cclass
class LoopClock:
    """The running event loop's timers. Time never goes backwards, also when the wall clock does."""

    _start_ms: cython.longlong

    def __init__(self) -> None:
        self._start_ms = time.time_ns() // 1_000_000 - monotonic_ms()

    def now_ms(self):
        return self._start_ms + monotonic_ms()

    def call_later(self, delay_ms, callback):
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)
