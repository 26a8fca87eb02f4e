"""Logs and counts requests that block the event loop, with their API, client and size.

A thread looks ten times a second whether the loop's timer (metrics/loop_delay.py) is late. If so it looks at the stack
of the loop's thread: the request that is being handled is the local variable `call` in one of its frames.
"""

import logging
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from types import FrameType

from ..metrics.instruments import CounterFamily
from .call import Call

LOOK_S = 0.1
LONG_S = 0.1
OTHER = "other"

log = logging.getLogger(__name__)


class LoopWatch:
    """Told of every ring of a timer by `rang`, and when the next is due. `held` counts by API."""

    def __init__(self, held: CounterFamily, now_s: Callable[[], float] = perf_counter) -> None:
        self._held = held
        self._now_s = now_s
        self._stopped = threading.Event()
        self._loop_thread = 0
        self._due_s = 0.0
        self._found: tuple[str, str] | None = None

    def start(self) -> None:
        self._loop_thread = threading.get_ident()
        self._due_s = self._now_s()
        threading.Thread(target=self._look_again_and_again, name="loop watch", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def rang(self, late_s: float, due_s: float) -> None:
        """The timer rang, so late; the next time is `due_s`. What was found to hold the loop is told."""
        found, self._found, self._due_s = self._found, None, due_s
        if late_s > LONG_S and found is not None:
            api, told = found
            self._held.of(api).add()
            log.warning("the event loop was held for %d ms: %s", late_s * 1000, told)

    def _look_again_and_again(self) -> None:
        while not self._stopped.wait(LOOK_S):
            self.look()

    def look(self) -> None:
        """Finds out what the loop's thread does, if the timer is late."""
        if self._found is None and self._now_s() - self._due_s > LONG_S:
            frame = sys._current_frames().get(self._loop_thread)
            if frame is not None:
                self._found = what_runs(frame)


def what_runs(frame: FrameType) -> tuple[str, str]:
    """The API whose request is handled in this stack, or `OTHER`; and request and function in words."""
    code = frame.f_code
    place = f"in {code.co_qualname} ({code.co_filename.rpartition('stepdown/')[2]}:{frame.f_lineno})"
    at: FrameType | None = frame
    while at is not None:
        call = at.f_locals.get("call")
        if isinstance(call, Call):
            return call.key.name, (
                f"{call.key.name} v{call.version} from {call.peer} (client {call.client_id!r}, "
                f"{call.request_bytes} bytes), {place}"
            )
        at = at.f_back
    return OTHER, place
