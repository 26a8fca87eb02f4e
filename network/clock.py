"""The broker's clock: current time and sleeping, replaceable in tests.

Tests pass a clock that they move by hand, so nothing beside this module calls `time.time()` or `asyncio.sleep()` with
a delay.
"""

import asyncio
import time
from collections.abc import Callable
from time import perf_counter
from typing import Protocol


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Tells the time, and calls functions later. `now_ms`: milliseconds since 1970."""

    def now_ms(self) -> int: ...

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer: ...

    def sweep_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        """Same as `call_later`, for periodic checks: a clock that is moved far ahead by hand may skip some."""
        ...

    async def sleep(self, delay_ms: float) -> None: ...

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment, for measuring durations: unlike the time of day it is never set back."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some moment, with fractions, to measure turns of the loop."""
        ...

    def note_worker_start(self) -> None:
        """A thread begins work: until `note_worker_end`, a clock that is moved by hand fires no timer."""

    def note_worker_end(self) -> None:
        """The loop has the thread's result."""


LATE_S = 1.0
GRACE_S = 5.0


class LoopClock:
    """The machine's time and the running event loop's timers.

    If a timer is late because the process did not run (SIGSTOP, a laptop that slept), it is delayed once more by the
    same time, at most 5 s, so that heartbeats that arrived meanwhile are read before anything expires. `forgives=False`
    switches this off.
    """

    def __init__(self, *, forgives: bool = True) -> None:
        self._forgives = forgives

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        if not self._forgives:
            return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)
        return _LoopTimer(asyncio.get_running_loop(), delay_ms / 1000, callback)

    sweep_later = call_later

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    monotonic_s = staticmethod(perf_counter)

    def note_worker_start(self) -> None: ...

    def note_worker_end(self) -> None: ...


class _LoopTimer:
    """Drops its callback once it has fired or was cancelled, since the callback's owner often holds the timer."""

    __slots__ = ("_callback", "_due_s", "_handle", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, delay_s: float, callback: Callable[[], object]) -> None:
        self._loop = loop
        self._callback: Callable[[], object] | None = callback
        self._due_s = loop.time() + delay_s
        self._handle: asyncio.TimerHandle | None = loop.call_later(delay_s, self._ring)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._callback = None

    def _ring(self) -> None:
        late_s = self._loop.time() - self._due_s
        if late_s > LATE_S:
            self._handle = self._loop.call_later(min(late_s, GRACE_S), self._call_back)
        else:
            self._call_back()

    def _call_back(self) -> None:
        callback, self._handle, self._callback = self._callback, None, None
        if callback is not None:
            callback()
