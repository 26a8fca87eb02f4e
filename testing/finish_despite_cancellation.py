"""Ends what was begun although who waits for it is cancelled: a broker that is half stopped keeps threads and files."""

import asyncio
from collections.abc import Coroutine


async def finish_despite_cancellation(work: Coroutine[object, object, None]) -> None:
    """Returns when `work` is over. Raises what it raises; CancelledError, no sooner, when this was cancelled once."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
