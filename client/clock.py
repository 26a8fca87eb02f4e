"""The clock of the asyncio client, which tests and simulations replace."""

import asyncio
from time import time_ns
from typing import Protocol


class Clock(Protocol):
    """The time in ms since 1970, and a sleep."""

    def now_ms(self) -> int: ...

    async def sleep(self, delay_ms: float) -> None: ...


class SystemClock:
    """The machine's time and the running event loop's timers."""

    def now_ms(self) -> int:
        return time_ns() // 1_000_000

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)
