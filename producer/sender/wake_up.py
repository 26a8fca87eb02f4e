"""What makes the sender go: one pass soon after something happened, or when the time has come that the last pass named.

Passes are calls of the event loop, not steps of a task: nothing is created for a pass but the call, and a timer only
when it has to fire sooner than the one that runs. A pass too many does no harm.
"""

import asyncio
import logging
from collections.abc import Callable

from ..clock import Clock, Timer
from ..errors import FOREIGN_FAULTS

MAX_SLEEP_MS = 1 << 31
PAUSE_MS = 100

log = logging.getLogger("stepdown.producer")


class WakeUp:
    """Calls `run_pass` with the time in ms; it tells in how many ms it wants to be called again."""

    def __init__(self, clock: Clock, run_pass: Callable[[int], int]) -> None:
        self._clock, self._run_pass = clock, run_pass
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scheduled = False
        self._timer: Timer | None = None
        self._due_ms = 0

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.schedule_pass()

    def stop(self) -> None:
        """No pass begins any more."""
        self._loop = None
        self._cancel_timer()

    def schedule_pass(self) -> None:
        """Something happened: a pass is due at once."""
        if not self._scheduled and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self._pass)

    def run_pass_now(self) -> None:
        """Something happened that nothing follows: the pass is made here, which spares a turn of the loop."""
        self._scheduled = True
        self._pass()

    def _pass(self) -> None:
        if self._loop is None or not self._scheduled:
            return
        self._scheduled = False
        now_ms = self._clock.now_ms()
        try:
            delay_ms = self._run_pass(now_ms)
        except FOREIGN_FAULTS:  # whatever it was, other records can still be sent, and time out if not
            log.exception("a pass of the sender failed, the next one is in %d ms", PAUSE_MS)
            delay_ms = PAUSE_MS
        if delay_ms <= 0:
            self.schedule_pass()
        elif not self._scheduled:
            self._set_timer(now_ms + min(delay_ms, MAX_SLEEP_MS), now_ms)

    def _set_timer(self, due_ms: int, now_ms: int) -> None:
        if self._timer is not None and now_ms < self._due_ms <= due_ms:
            return
        self._cancel_timer()
        self._due_ms = due_ms
        self._timer = self._clock.call_later(due_ms - now_ms, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.schedule_pass()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
