"""A clock that stands still until a test moves it."""

import asyncio
import heapq
import itertools
from collections.abc import Callable


class _Timer:
    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualClock:
    """Time is `now`; `advance` runs the timers that fall due, in order, and lets the loop settle after each."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now = now_ms
        self._timers: list[tuple[float, int, _Timer]] = []
        self._ids = itertools.count()

    def now_ms(self) -> int:
        return self.now

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> _Timer:
        timer = _Timer(callback)
        heapq.heappush(self._timers, (self.now + delay_ms, next(self._ids), timer))
        return timer

    sweep_later = call_later

    async def sleep(self, delay_ms: float) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.call_later(delay_ms, lambda: done.done() or done.set_result(None))
        await done

    def monotonic_ms(self) -> int:
        return self.now

    def monotonic_s(self) -> float:
        return self.now / 1000

    def note_worker_start(self) -> None: ...

    def note_worker_end(self) -> None: ...

    async def advance(self, delay_ms: int) -> None:
        """Moves time on by `delay_ms`."""
        end = self.now + delay_ms
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            self.now = max(self.now, int(due))
            if timer.callback is not None:
                timer.callback()
                await settle()
        self.now = end
        await settle()


async def settle(turns: int = 20) -> None:
    """Gives every ready task its turn."""
    for _ in range(turns):
        await asyncio.sleep(0)
