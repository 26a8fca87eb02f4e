"""Time with waiting: the only place of the broker that knows how long a second is.

Tests pass a clock that they move by hand, so nothing beside this module calls `time.time()` or `asyncio.sleep()` with
a delay.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from ...storage.files.clock import Clock as StorageClock
from ...storage.files.clock import SystemClock


class Timer(Protocol):
    """A call that has been put off."""

    def cancel(self) -> None: ...


class Clock(StorageClock, Protocol):
    """Tells the time and calls back after a while."""

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer: ...

    async def sleep(self, delay_ms: float) -> None: ...


class LoopClock(SystemClock):
    """The running event loop's timers."""

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)


async def wait_until(done: "asyncio.Future[None]", clock: Clock, timeout_ms: float) -> bool:
    """True when `done` came before `timeout_ms` passed. The future is left as it is: its owner cancels it."""
    expired: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.call_later(timeout_ms, partial(expired.set_result, None))
    try:
        await asyncio.wait((done, expired), return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
        expired.cancel()
    return done.done()
