"""Runs changes strictly one after another, yielding to the event loop between them."""

import asyncio
from collections.abc import Awaitable, Callable

from .loop_yield import Pauses


class Turns(Pauses):
    """`async with` waits until no other change is on; `next` gives the loop away after every `steps` steps."""

    def __init__(self, breathe: Callable[[], Awaitable[None]], steps: int) -> None:
        super().__init__(breathe, steps)
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *error: object) -> None:
        self._lock.release()
