"""Limits a line in the log that the same fault may cause again and again: once a minute for each key."""

from collections.abc import Hashable
from typing import Final

from ..protocol.plural import plural
from .clock import Clock

SILENCE_MS: Final = 60_000
MOST_REMEMBERED: Final = 1_000


class LineLimit:
    """When each line was last written, and how many have been left out since."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said_ms: dict[Hashable, int] = {}
        self._left_out: dict[Hashable, int] = {}

    def count_left_out(self, key: Hashable) -> int | None:
        """How many lines were left out since the last one, which is now to be written; None: this one is left out."""
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
    """What such a line says of those that were left out."""
    return f" ({plural(left_out, 'time')} more since the last line)" if left_out else ""
