"""The result of a producer's call that waits for brokers: success or an error."""

import asyncio
from functools import partial

from .clock import Clock
from .errors import ProducerError, Timeout


class AwaitedResult:
    """Ends once, by the first `succeed` or `fail`. Several may wait for it."""

    def __init__(self) -> None:
        self.ended = False
        self.error: ProducerError | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def succeed(self) -> None:
        self._end(None)

    def fail(self, error: ProducerError) -> None:
        self._end(error)

    async def wait(self, clock: Clock, timeout_ms: int, call: str) -> None:
        """Waits for success. Raises: its error; Timeout after `timeout_ms`, but it may still end later."""
        if not self.ended:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            timer = clock.call_later(timeout_ms, partial(_wake, waiter))
            try:
                await waiter
            finally:
                timer.cancel()
        if self.error is not None:
            raise self.error
        if not self.ended:
            raise Timeout(f"{call} did not end within {timeout_ms} ms")

    def _end(self, error: ProducerError | None) -> None:
        if self.ended:
            return
        self.ended, self.error = True, error
        for waiter in self._waiters:
            _wake(waiter)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
