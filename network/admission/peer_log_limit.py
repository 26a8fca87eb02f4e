"""Limits log lines about peers (closed connections, wrong passwords, denied rights): a peer that causes one can cause a
million.

In each minute a network may cause ten lines, and all networks a hundred. Beyond that, only the 1st, 10th, 100th … line
is logged, with the number of lines left out. The first line of a cause is always logged, for up to ten causes of a
network and a hundred causes in all.
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
    """Counts the lines of the current minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ms = clock.monotonic_ms()
        self._of: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._causes: set[tuple[str, str]] = set()
        self._count = 0

    def warn(self, log: logging.Logger, network: str, line: str, cause: str = "") -> None:
        """Logs the line about a peer of that network, or leaves it out. Causes that differ only in numbers count as
        one.
        """
        self._log_within_limit(log, logging.WARNING, network, line, cause)

    def log_info(self, log: logging.Logger, network: str, line: str) -> None:
        """As `warn`, at level INFO, and without a cause."""
        self._log_within_limit(log, logging.INFO, network, line)

    def _log_within_limit(self, log: logging.Logger, level: int, network: str, line: str, cause: str = "") -> None:
        remark = self._count_and_make_remark(network, self._note_new_cause(network, cause))
        if remark is not None:
            log.log(level, "%s%s", line, remark)

    def _note_new_cause(self, network: str, cause: str) -> bool:
        self._begin_minute_when_due()
        what = (network, _DIGITS.sub("", cause[:CAUSE_CHARACTERS]))
        if not cause or what in self._causes or len(self._causes) >= MOST_CAUSES:
            return False
        if sum(known == network for known, _ in self._causes) >= MOST_OF_A_NETWORK:
            return False
        self._causes.add(what)
        return True

    def _begin_minute_when_due(self) -> None:
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._began_ms >= WINDOW_MS:
            self._began_ms, self._count = now_ms, 0
            self._of.clear()
            self._left_out.clear()
            self._causes.clear()

    def _count_and_make_remark(self, network: str, is_new: bool) -> str | None:
        """Counts a line. Returns the remark about lines left out to add to it; None if this line is left out, too."""
        if network in self._of or len(self._of) < MOST_NETWORKS:
            self._of[network] += 1
        own = self._of[network] - MOST_OF_A_NETWORK
        is_worth = is_new or _is_worth_logging(own)
        self._count += is_worth  # a line left out must not use up the lines of other networks
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
