"""Limits the lines about connections that are closed: whoever can cause one can cause a million.

In a minute each network has ten, all together a hundred; of what follows the 1st, the 10th, the 100th and so on is
said, with how many were left out.
"""

import logging
from collections import Counter
from typing import Final

from ..clock import Clock

WINDOW_MS: Final = 60_000
MOST_OF_A_NETWORK: Final = 10
MOST_OF_ALL: Final = 100
MOST_NETWORKS: Final = 1_000


class ClosingLines:
    """What was said in the minute that runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ms = clock.now_ms()
        self._of: Counter[str] = Counter()
        self._count = 0

    def warn(self, log: logging.Logger, network: str, line: str) -> None:
        """Writes the line about a connection from there, or leaves it out."""
        left_out = self._count_left_out(network)
        if left_out is not None:
            more = f" ({left_out} more since a minute at most have no line)" if left_out else ""
            log.warning("%s%s", line, more)

    def _count_left_out(self, network: str) -> int | None:
        """None: this line is left out."""
        now_ms = self._clock.now_ms()
        if not 0 <= now_ms - self._began_ms < WINDOW_MS:
            self._began_ms, self._count = now_ms, 0
            self._of.clear()
        self._count += 1
        if network in self._of or len(self._of) < MOST_NETWORKS:
            self._of[network] += 1
        left_out = max(self._of[network] - MOST_OF_A_NETWORK, self._count - MOST_OF_ALL, 0)
        return left_out if not left_out or is_power_of_ten(left_out) else None


def is_power_of_ten(number: int) -> bool:
    return str(number).strip("0") == "1"
