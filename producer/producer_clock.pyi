"""What Python sees of producer_clock.py, which is itself typed for Cython, which checks it."""

from collections.abc import Callable

from .clock import Timer

COMPILED: bool

class ProducerClock:
    def now_ms(self) -> int: ...
    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer: ...
