"""Ctrl-C and SIGTERM, for commands that go on until they are told to end."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType


class Stopping:
    """Within the block the first signal only sets `by`; a second one ends the process as usual."""

    def __init__(self) -> None:
        self.by: int | None = None
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._restore()

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self.by = number
        self._restore()

    def _restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # what signal.signal gave
        self._before = {}
