"""Handles ^C, SIGTERM and SIGHUP: they end a command with its cleanup, or after its current work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from types import FrameType, TracebackType

ONE_TIME_S = 0.5
"""Signals within this time count as one: `timeout` sends one to the process, and another to its group."""
ENDING = (signal.SIGINT, signal.SIGTERM)


class SignalStop(BaseException):
    """A signal came while a command waited for a broker."""


def end_like_ctrl_c(number: int) -> None:
    """Acts like ^C, so that temporary files and child processes of a command are removed. Raises: SystemExit.

    It raises no KeyboardInterrupt: if that interrupts an `exec`, Python may die by SIGINT although it was caught.
    """
    on_interrupt = signal.getsignal(signal.SIGINT)
    if not callable(on_interrupt) or on_interrupt is signal.default_int_handler:
        raise SystemExit(128 + number)
    on_interrupt(number, None)  # the handler of asyncio cancels the main task


def signals_with_default_action() -> list[signal.Signals]:
    """Returns those of SIGTERM and SIGHUP with the default action, which ends the process without cleanup."""
    return [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]


class StopSignals:
    """Within the block the first signal sets `by` and calls `on_stop`; a second one ends the process as usual."""

    def __init__(
        self, on_stop: Callable[[int], object] | None = None, numbers: Sequence[signal.Signals] = ENDING
    ) -> None:
        self.by: int | None = None
        self._numbers = numbers
        self._on_stop = on_stop
        self._stopped_at = 0.0
        self._ends_waits = False
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                self._before[number] = signal.signal(number, self._handle_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._restore_handlers()

    @contextmanager
    def end_wait_on_signal(self) -> Iterator[None]:
        """Within this block the first signal raises SignalStop, which ends a wait."""
        self._ends_waits = True
        try:
            yield
        finally:
            self._ends_waits = False

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        if self.by is None:
            self.by, self._stopped_at = number, monotonic()
            if self._on_stop is not None:
                self._on_stop(number)
            if self._ends_waits:
                raise SignalStop
        elif monotonic() - self._stopped_at > ONE_TIME_S:
            self._restore_handlers()
            signal.raise_signal(number)

    def _restore_handlers(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # what signal.signal gave
        self._before = {}
