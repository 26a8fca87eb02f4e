"""Finishes work even if the task that waits for it is cancelled: a half-stopped broker would leak threads and files."""

import asyncio
from collections.abc import Coroutine


async def finish_despite_cancellation(work: Coroutine[object, object, None]) -> None:
    """Returns when `work` has ended, or raises its error. If the caller is cancelled, waits for `work` first and then
    raises CancelledError; a second cancellation is not held back."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
