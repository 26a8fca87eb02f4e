"""A clock that a test can stop, move on and let run again; until then it is the machine's own time.

All that a broker waits for goes by its clock: sessions, transactions, retention, rolling, purgatories, deletions. While
it is moved on, it waits for worker threads, so that their speed changes nothing. While it is paused, requests are
answered as ever: only time does not pass.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from ...storage.files.clock import SystemClock

TURNS = 25
"""Turns of the loop after each timer, for what is ready: a chain of tasks that wake each other needs some."""
MOST_SWEEPS = 300
"""How often a sweep may ring within one `advance`: a week takes as long as its timers need, not its seconds."""


class _Timer:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class MovableClock:
    """The clock of one event loop."""

    def __init__(self, start_ms: int | None = None, *, turns: int = TURNS) -> None:
        """It begins with the machine's time and runs, or with `start_ms` and is paused."""
        self._turns = turns
        self._loop = asyncio.get_running_loop()
        self._timers: list[tuple[float, int, _Timer]] = []
        self._numbers = itertools.count()
        self._wake: asyncio.TimerHandle | None = None
        self._at_work = self._works_begun = 0
        self._nobody_works = asyncio.Event()
        self._nobody_works.set()
        self._end_ms = self._spread_ms = 0.0
        self._ahead_ms = 0.0
        self._stands_at_ms: float | None = None if start_ms is None else float(start_ms)
        self._day_ms = 0 if start_ms is not None else self._lead_of_machine_time_ms()

    def _loop_ms(self) -> float:
        return self._loop.time() * 1000

    def _now(self) -> float:
        """The monotonic time in ms, by which timers ring."""
        return self._loop_ms() + self._ahead_ms if self._stands_at_ms is None else self._stands_at_ms

    def _lead_of_machine_time_ms(self) -> int:
        """What the machine's time of day is ahead of `_now`."""
        return SystemClock().now_ms() - int(self._now())

    def now_ms(self) -> int:
        return int(self._now()) + self._day_ms

    def monotonic_ms(self) -> int:
        return int(self._now())

    @property
    def is_paused(self) -> bool:
        return self._stands_at_ms is not None

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> _Timer:
        return self._call_at(self._now() + delay_ms, callback)

    def sweep_later(self, delay_ms: float, callback: Callable[[], object]) -> _Timer:
        """While time is moved on it rings MOST_SWEEPS times at most, and at the end, if it is due before."""
        due_ms = self._now() + delay_ms
        if due_ms <= self._end_ms:
            due_ms = min(self._end_ms, max(due_ms, self._now() + self._spread_ms))
        return self._call_at(due_ms, callback)

    def _call_at(self, due_ms: float, callback: Callable[[], object]) -> _Timer:
        timer = _Timer(callback)
        heapq.heappush(self._timers, (due_ms, next(self._numbers), timer))
        self._schedule_next_ring()
        return timer

    async def sleep(self, delay_ms: float) -> None:
        done: asyncio.Future[None] = self._loop.create_future()
        timer = self.call_later(delay_ms, lambda: None if done.done() else done.set_result(None))
        try:
            await done
        finally:
            timer.cancel()

    def monotonic_s(self) -> float:
        return self._now() / 1000

    def note_worker_start(self) -> None:
        self._at_work += 1
        self._works_begun += 1
        self._nobody_works.clear()

    def note_worker_end(self) -> None:
        self._at_work -= 1
        if not self._at_work:
            self._nobody_works.set()

    def pause(self) -> None:
        """Time stands still from now on."""
        self._stands_at_ms = self._now()
        self._schedule_next_ring()

    def resume(self) -> None:
        """Time goes on from where it stands."""
        if self._stands_at_ms is not None:
            self._ahead_ms = self._stands_at_ms - self._loop_ms()
            self._stands_at_ms = None
            self._schedule_next_ring()

    def reset(self) -> None:
        """The clock runs again, with the machine's time of day.

        `monotonic_ms` does not jump, so that timers keep the time that was left to them.
        """
        self.resume()
        self._day_ms = self._lead_of_machine_time_ms()

    async def advance(self, by_ms: float) -> None:
        """Moves time on, and rings each timer at its time; the tasks that it wakes run before the next one rings."""
        end = self._now() + by_ms
        self._end_ms, self._spread_ms = end, by_ms / MOST_SWEEPS
        was_running, self._stands_at_ms = self._stands_at_ms is None, self._now()
        self._schedule_next_ring()
        await self._await_idle()
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            self._stands_at_ms = max(self._stands_at_ms, due)
            if timer.callback is not None:
                timer.callback()
                await self._await_idle()
        self._stands_at_ms = end
        await self._await_idle()
        if was_running:
            self.resume()

    async def _await_idle(self) -> None:
        begun = None
        while begun != self._works_begun:  # workers that ended in the last turns wake tasks, too
            await self._nobody_works.wait()
            begun = self._works_begun
            for _ in range(self._turns):
                await asyncio.sleep(0)

    def _schedule_next_ring(self) -> None:
        """Asks the loop to call `_ring` when the next timer is due, while time runs."""
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        if self._timers and self._stands_at_ms is None:
            delay_ms = max(0.0, self._timers[0][0] - self._now())
            self._wake = self._loop.call_later(delay_ms / 1000, self._ring)

    def _ring(self) -> None:
        self._wake = None
        now = self._now()
        while self._timers and self._timers[0][0] <= now:
            _, _, timer = heapq.heappop(self._timers)
            if timer.callback is not None:
                timer.callback()
        self._schedule_next_ring()
