"""How long a step of the event loop takes, counted in calls of functions, not in seconds."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from types import FrameType
from typing import Any

import pytest
from stepdown.network.turn import Turns

CALLS_A_SECOND = 5_000_000
"""What time is made of here. A function of Python or C takes 0.1 to 0.3 µs with what it does by itself."""
MOST_CALLS = CALLS_A_SECOND // 50
"""20 ms."""


class Calls:
    """Counts the functions that are called in the event loop's thread, and the most of one step of the loop."""

    def __init__(self, turns: Turns) -> None:
        """They are measured in calls from now on."""
        self.count = 0
        self.most = 0
        turns.monotonic_s = lambda: self.count / CALLS_A_SECOND

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.count += 1

    @contextmanager
    def counted(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        run, own = asyncio.events.Handle._run, get_ident()
        self.most = 0

        def run_step(handle: Any) -> None:
            before = self.count
            run(handle)
            if get_ident() != own:  # the loop of another thread, during several of these steps
                return
            self.most = max(self.most, self.count - before)

        monkeypatch.setattr(asyncio.events.Handle, "_run", run_step)
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(None)
            monkeypatch.undo()
