"""What only the garbage collector frees, which a process that serves runs once in some forty million new objects."""

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SETTLING_PASSES = 20
"""Of the event loop, in which tasks that have ended let go of what they hold."""


@asynccontextmanager
async def no_cycles_left() -> AsyncIterator[None]:
    """Objects of stepdown that became garbage inside were freed by their reference counts."""
    gc.collect()
    gc.disable()
    try:
        yield
        for _ in range(SETTLING_PASSES):
            await asyncio.sleep(0)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = Counter(type(each).__name__ for each in gc.garbage if type(each).__module__.startswith("stepdown."))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left, left
