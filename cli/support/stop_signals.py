"""Ctrl-C and SIGTERM, for commands that go on until somebody ends them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType, TracebackType

ONE_TIME_S = 0.5
"""Signals so close together are one: `timeout` sends its own to the process, then to the group that it is in."""


class SignalStop(BaseException):
    """A signal came while a command waited for a broker."""


class StopSignals:
    """Within the block the first signal sets `by` and calls `on_stop`; a second one ends the process as usual."""

    def __init__(self, on_stop: Callable[[int], object] | None = None) -> None:
        self.by: int | None = None
        self._on_stop = on_stop
        self._stopped_at = 0.0
        self._ends_waits = False
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._restore()

    @contextmanager
    def end_wait(self) -> Iterator[None]:
        """Within this block the first signal ends what is waited for. Raises: SignalStop."""
        self._ends_waits = True
        try:
            yield
        finally:
            self._ends_waits = False

    def _caught(self, number: int, frame: FrameType | None) -> None:
        if self.by is None:
            self.by, self._stopped_at = number, monotonic()
            if self._on_stop is not None:
                self._on_stop(number)
            if self._ends_waits:
                raise SignalStop
        elif monotonic() - self._stopped_at > ONE_TIME_S:
            self._restore()
            signal.raise_signal(number)

    def _restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # what signal.signal gave
        self._before = {}
