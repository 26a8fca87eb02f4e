"""The loop's timers, of a process that did not run for a while."""

import asyncio
from collections.abc import Callable

from stepdown.network.clock import GRACE_S, LoopClock


class Loop:
    """A loop whose time is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        self.due.append((self.now + delay_s, callback))
        return None  # type: ignore[return-value]

    def run(self, until: float) -> None:
        self.now = until
        ready = [call for at, call in self.due if at <= until]
        self.due = [(at, call) for at, call in self.due if at > until]
        for call in ready:
            call()


def test_a_timer_that_rings_late_gives_time_to_read_what_has_arrived(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    loop, rung = Loop(), []
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    LoopClock().call_later(10_000, lambda: rung.append(loop.now))
    loop.run(until=170)  # 60 s late: we did not run
    assert rung == []
    loop.run(until=170 + GRACE_S)
    assert rung == [170 + GRACE_S]


def test_a_timer_in_time_rings_at_once(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    loop, rung = Loop(), []
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    LoopClock().call_later(10_000, lambda: rung.append(loop.now))
    loop.run(until=110.2)
    assert rung == [110.2]
