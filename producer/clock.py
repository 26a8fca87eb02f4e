"""Time with waiting, for the producer: tests hand in a clock that they move by hand."""

from collections.abc import Callable
from typing import Final, Protocol

NEVER_MS: Final = 1 << 62
"""A time that does not come."""


class Timer(Protocol):
    """A call that has been put off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Tells the time in ms since 1970 and calls back after a while."""

    def now_ms(self) -> int: ...

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer: ...
