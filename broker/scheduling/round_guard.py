"""Guards the rounds of periodic work: what goes wrong with one partition, group or transaction keeps no other waiting.

A round is one pass over all items of a kind: retention over all logs, expiry over all groups. An exception that leaves
the loop would end the round for the items after it, each time again. So every item of a round is handled inside
`RoundGuard.item`; `tests/unit/house/test_rounds.py` finds rounds without it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ...network.clock import Clock
from ...protocol.errors import ApiError

SILENCE_MS: Final = 60_000
MOST_REMEMBERED: Final = 1_000

log = logging.getLogger(__name__)


class RoundGuard:
    """The faults of items. `count` is called with the name of the work for each."""

    def __init__(self, clock: Clock, count: Callable[[str], None]) -> None:
        self._clock = clock
        self._count = count
        self._said_ms: dict[tuple[str, str], int] = {}
        self._unsaid: dict[tuple[str, str], int] = {}

    @contextmanager
    def item(self, work: str, name: object) -> Iterator[None]:
        """Around the handling of one item: its fault is counted and logged, and the round goes on.

        A fault that the code foresees (an ApiError, a full disk for one) has a line, any other its traceback, at most
        once a minute for each item.
        """
        try:
            yield
        except Exception as fault:
            self._note(work, str(name), fault)

    def _note(self, work: str, name: str, fault: Exception) -> None:
        self._count(work)
        key = work, name
        now_ms = self._clock.now_ms()
        if now_ms - self._said_ms.get(key, now_ms - SILENCE_MS) < SILENCE_MS:
            self._unsaid[key] = self._unsaid.get(key, 0) + 1
            return
        if len(self._said_ms) >= MOST_REMEMBERED:
            self._said_ms.clear()
            self._unsaid.clear()
        self._said_ms[key] = now_ms
        more = self._unsaid.pop(key, 0)
        repeated = f" ({more} times more since the last line)" if more else ""
        trace = None if isinstance(fault, ApiError) else fault
        log.error("%s of %s failed and is left out of this round%s: %s", work, name, repeated, fault, exc_info=trace)
