"""An event loop in a thread of its own, in which brokers run while the test does as it likes with its own, or none."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


class LoopThread:
    """A running event loop; `stop` ends it and its thread."""

    def __init__(self) -> None:
        started: Future[None] = Future()
        self._thread = Thread(target=self._run, args=(started,), name="stepdown-broker", daemon=True)
        self._thread.start()
        started.result()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns or raises, done in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def stop(self) -> None:
        """Returns when the thread has ended."""
        self.loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self, started: "Future[None]") -> None:
        async def run_until_stop() -> None:
            self.loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
            started.set_result(None)
            await self._ended.wait()

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run_until_stop())
