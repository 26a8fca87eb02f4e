"""Limits the lines about what peers do: connections that are closed, wrong passwords, denied rights. A peer that
can cause one can cause a million.

In a minute each network has ten, all together a hundred; of what follows the 1st, the 10th, the 100th and so on is
said, with how many have been left out. The first line of a cause is always said, of ten causes
of a network and a hundred in all.
"""

import logging
import re
from collections import Counter
from typing import Final

from ...protocol.plural import plural
from ..clock import Clock

WINDOW_MS: Final = 60_000
MOST_OF_A_NETWORK: Final = 10
MOST_OF_ALL: Final = 100
MOST_NETWORKS: Final = 1_000
MOST_CAUSES: Final = 100
CAUSE_CHARACTERS: Final = 100
_DIGITS: Final = re.compile(r"\d+")


class PeerLogLimit:
    """What was said in the minute that runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ms = clock.monotonic_ms()
        self._of: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._causes: set[tuple[str, str]] = set()
        self._count = 0

    def warn(self, log: logging.Logger, network: str, line: str, cause: str = "") -> None:
        """Writes the line about a peer from there, or leaves it out. Causes that differ in numbers alone are one."""
        self._log_within_limit(log, logging.WARNING, network, line, cause)

    def log_info(self, log: logging.Logger, network: str, line: str) -> None:
        """As `warn`, at level INFO, and without a cause."""
        self._log_within_limit(log, logging.INFO, network, line)

    def _log_within_limit(self, log: logging.Logger, level: int, network: str, line: str, cause: str = "") -> None:
        remark = self._count_line(network, self._is_new(network, cause))
        if remark is not None:
            log.log(level, "%s%s", line, remark)

    def _is_new(self, network: str, cause: str) -> bool:
        self._begin_minute()
        what = (network, _DIGITS.sub("", cause[:CAUSE_CHARACTERS]))
        if not cause or what in self._causes or len(self._causes) >= MOST_CAUSES:
            return False
        if sum(known == network for known, _ in self._causes) >= MOST_OF_A_NETWORK:
            return False
        self._causes.add(what)
        return True

    def _begin_minute(self) -> None:
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._began_ms >= WINDOW_MS:
            self._began_ms, self._count = now_ms, 0
            self._of.clear()
            self._left_out.clear()
            self._causes.clear()

    def _count_line(self, network: str, is_new: bool) -> str | None:
        """What the line says of those that were left out; None: it is left out, too."""
        if network in self._of or len(self._of) < MOST_NETWORKS:
            self._of[network] += 1
        own = self._of[network] - MOST_OF_A_NETWORK
        is_worth = is_new or _is_worth_logging(own)
        self._count += is_worth  # of others no more: who has many left out must not take the lines of others
        of_all = self._count - MOST_OF_ALL
        if not is_worth or not (is_new or _is_worth_logging(of_all)):
            self._left_out[network if network in self._of else ""] += 1
            return None
        if own <= 0 and of_all <= 0:
            return ""
        left_out = self._left_out[network] if own > 0 else self._left_out.total()
        if not left_out:
            return " (of more in this minute, some are logged)"
        return f" ({plural(left_out, 'line')} of this minute left out)"


def _is_worth_logging(left_out: int) -> bool:
    return left_out <= 0 or str(left_out).strip("0") == "1"
