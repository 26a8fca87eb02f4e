"""Limits repeated log lines: one a minute for each key."""

from collections.abc import Hashable
from typing import Final

from ..protocol.plural import plural
from .clock import Clock

SILENCE_MS: Final = 60_000
MOST_REMEMBERED: Final = 1_000


class LogLineLimit:
    """Decides by key whether a line is logged, and counts lines that are left out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said_ms: dict[Hashable, int] = {}
        self._left_out: dict[Hashable, int] = {}

    def try_to_log(self, key: Hashable) -> int | None:
        """Returns None if this line is to be left out; otherwise how many were left out since the last one."""
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._said_ms.get(key, now_ms - SILENCE_MS) < SILENCE_MS:
            self._left_out[key] = self._left_out.get(key, 0) + 1
            return None
        if len(self._said_ms) >= MOST_REMEMBERED:
            self._said_ms.clear()
            self._left_out.clear()
        self._said_ms[key] = now_ms
        return self._left_out.pop(key, 0)


def repetition_text(left_out: int) -> str:
    """The text about lines that were left out, to add to a line; "" for none."""
    return f" ({plural(left_out, 'time')} more since the last line)" if left_out else ""
