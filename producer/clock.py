"""Time with waiting, for the producer: tests hand in a clock that they move by hand."""

import asyncio
import time
from collections.abc import Callable
from time import monotonic_ns
from typing import Final, Protocol

NS_A_MS: Final = 1_000_000


class Timer(Protocol):
    """A call that has been put off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Tells the time in ms since 1970 and calls back after a while."""

    def now_ms(self) -> int: ...

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer: ...


class LoopClock:
    """The running event loop's timers. Time never goes backwards, also when the wall clock does."""

    def __init__(self) -> None:
        self._start_ms = (time.time_ns() - monotonic_ns()) // NS_A_MS

    def now_ms(self) -> int:
        return self._start_ms + monotonic_ns() // NS_A_MS

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)
