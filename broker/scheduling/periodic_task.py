"""Periodic tasks: one chain of timers per task; runs of one task never overlap."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ...network.clock import Clock, Timer
from ...protocol.errors import ApiError

FOREVER_MS = 1 << 53

log = logging.getLogger(__name__)


class Periodic:
    """Runs `work` every `interval_ms`, counted from the end of the run before.

    A failure is logged; the next run comes all the same.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        work: Callable[[], Awaitable[None]],
        interval_ms: int,
        *,
        first_ms: int | None = None,
    ) -> None:
        self._name = name
        self._clock = clock
        self._work = work
        self._interval_ms = interval_ms
        self._timer: Timer | None = None
        self._run: asyncio.Task[None] | None = None
        self._schedule(interval_ms if first_ms is None else first_ms)

    async def stop(self) -> None:
        """Starts no further run, and waits for the present one."""
        self.repeat_every(FOREVER_MS)
        await self.wait_until_idle()

    def repeat_every(self, interval_ms: int) -> None:
        """Sets the time to the next run, from now or from the end of the present one; FOREVER_MS: there is none."""
        if interval_ms == self._interval_ms:
            return
        self._interval_ms = interval_ms
        if self._timer is not None:
            self._timer.cancel()
        if self._run is None or self._run.done():
            self._schedule(interval_ms)

    async def wait_until_idle(self) -> None:
        """Returns when the present run has ended."""
        if self._run is not None:
            await asyncio.gather(self._run, return_exceptions=True)

    def _schedule(self, delay_ms: int) -> None:
        self._timer = None if delay_ms >= FOREVER_MS else self._clock.sweep_later(delay_ms, self._start)

    def _start(self) -> None:
        self._run = asyncio.get_running_loop().create_task(self._run_and_schedule_next())

    async def _run_and_schedule_next(self) -> None:
        try:
            await self._work()
        except ApiError as fault:
            log.error("%s failed; it is tried again in %d ms: %s", self._name, self._interval_ms, fault)
        except Exception:
            log.exception("%s failed; it is tried again in %d ms", self._name, self._interval_ms)
        self._schedule(self._interval_ms)
