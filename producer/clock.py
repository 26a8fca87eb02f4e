"""The interface of the producer's clock: tests pass one that they move by hand."""

from collections.abc import Callable
from typing import Final, Protocol

NEVER_MS: Final = 1 << 62
"""A time that never comes."""


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Tells the time in ms since 1970, and calls functions later."""

    def now_ms(self) -> int: ...

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer: ...
