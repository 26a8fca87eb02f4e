"""Runs changes strictly one after another, yielding to the event loop between them."""

import asyncio
from collections.abc import Awaitable, Callable


class Turns:
    """`async with` waits until no other change is on; `next` gives the loop away after every `steps` steps."""

    def __init__(self, breathe: Callable[[], Awaitable[None]], steps: int) -> None:
        self._breathe = breathe
        self._steps = steps
        self._taken = 0
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *error: object) -> None:
        self._lock.release()

    async def next(self) -> None:
        """One step is done."""
        self._taken += 1
        if self._taken >= self._steps:
            self._taken = 0
            await self._breathe()
