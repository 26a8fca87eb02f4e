"""How many passes of the event loop others have while something is done."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def count_passes(work: Awaitable[T]) -> tuple[int, T]:
    """The passes, and what came of the work."""
    passes = 0

    async def count() -> None:
        nonlocal passes
        while True:
            passes += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    found = await work
    counting.cancel()
    return passes, found
