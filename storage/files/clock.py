"""Wall-clock time as storage needs it; the broker's clock adds waiting."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time of day in milliseconds since the epoch, and how much of it passes."""

    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment. What measures how long ago something was asks this: unlike the time of day it
        is never set back.
        """
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
