"""The clock that storage reads; the broker's clock can also wait."""

import time
from typing import Protocol


class Clock(Protocol):
    """Returns the time of day, in milliseconds since 1970, and a time for measuring intervals."""

    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment, for measuring intervals: unlike the time of day they are never set back."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
