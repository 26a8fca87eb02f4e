"""Timers by key: to schedule a key again moves it. What a callback raises is counted and logged, by its key."""

from collections.abc import Callable, Hashable

from ...network.clock import Clock, Timer
from .round_faults import RoundFaults


class Timers:
    """Delayed calls, at most one for each key."""

    def __init__(self, clock: Clock, rounds: RoundFaults) -> None:
        self._clock = clock
        self._rounds = rounds
        self._timers: dict[Hashable, Timer] = {}

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._timers

    def schedule(self, key: Hashable, delay_ms: int, callback: Callable[[], object]) -> None:
        """Calls `callback` in `delay_ms`, instead of what was scheduled under `key`."""
        self.cancel(key)

        def fire() -> None:
            if self._timers.get(key) is timer:
                del self._timers[key]
                with self._rounds.catch_item_fault("timer", key):
                    callback()

        timer = self._timers[key] = self._clock.call_later(delay_ms, fire)

    def schedule_if_absent(self, key: Hashable, delay_ms: int, callback: Callable[[], object]) -> None:
        if key not in self._timers:
            self.schedule(key, delay_ms, callback)

    def cancel(self, key: Hashable) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        for key in tuple(self._timers):
            self.cancel(key)
