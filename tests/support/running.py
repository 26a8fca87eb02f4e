"""A broker inside the test's own process and event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from stepdown.broker.broker import Broker
from stepdown.broker.dispatch.interceptor import Interceptor
from stepdown.config import load
from stepdown.network.clock import Clock
from stepdown.storage.files.files import Files

from .deadline import DEADLINE_S


@asynccontextmanager
async def running_broker(
    directory: Path,
    *,
    clock: Clock | None = None,
    files: Files | None = None,
    interceptors: Sequence[Interceptor] = (),
    **settings: object,
) -> AsyncIterator[Broker]:
    """A started broker on a free port of 127.0.0.1; settings by Kafka's names with `_` for `.`."""
    texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log_dirs": str(directory), **settings}
    loaded = load(overrides=[f"{key.replace('_', '.')}={value}" for key, value in texts.items()])
    broker = Broker(loaded.settings, loaded.layers, clock=clock, files=files)
    broker.interceptors.extend(interceptors)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


async def until(holds: Callable[[], bool]) -> None:
    """Returns when something has come about that nobody tells."""
    async with asyncio.timeout(DEADLINE_S):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0)
