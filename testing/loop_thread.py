"""An event loop in a thread of its own, for brokers, independent of the test's own loop."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")
WAITS_FOR_ITSELF = (
    "this blocking call would wait for the event loop that it holds: await {}, which `awaited` has, or use kafka_async"
)


async def run_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` in that loop, and returns or raises its result. Can be awaited in any loop, also in `loop` itself."""
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


HAS_ENDED = "the brokers have ended, with the `with` or the test that they were for: {} came after that"


class LoopThread:
    """A running event loop; `stop` ends it and its thread."""

    def __init__(self) -> None:
        started: Future[None] = Future()
        self._thread = Thread(target=self._run, args=(started,), name="stepdown-broker", daemon=True)
        self._thread.start()
        started.result()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` in the loop, returns or raises its result. Raises: RuntimeError in the loop and after its end."""
        __tracebackhide__ = True
        if is_in(self.loop):
            work.close()
            raise RuntimeError(WAITS_FOR_ITSELF.format(getattr(work, "__qualname__", "it")))
        if self.loop.is_closed():
            work.close()
            raise RuntimeError(HAS_ENDED.format(getattr(work, "__qualname__", "it")))
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the caller was interrupted: by Ctrl-C, or by a timeout of pytest
            raise

    def stop(self) -> None:
        """Stops the loop, and returns when the thread has ended."""
        self.loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self, started: "Future[None]") -> None:
        async def run_until_stop() -> None:
            self.loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
            started.set_result(None)
            await self._ended.wait()

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run_until_stop())


def is_in(loop: asyncio.AbstractEventLoop | None = None) -> bool:
    """Whether the caller runs in `loop`; without it, whether in any loop."""
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return False
    return loop is None or running is loop
