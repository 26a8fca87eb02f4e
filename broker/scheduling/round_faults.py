"""Faults in rounds of periodic work: what goes wrong with one partition, group or transaction keeps no other waiting.

A round is one pass over all items of a kind: retention over all logs, expiry over all groups. An exception that leaves
the loop would end the round for the items after it, each time again. So every item of a round is handled inside
`RoundFaults.catch_item_fault`; `tests/unit/house/test_rounds.py` finds rounds without it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...network.clock import Clock
from ...network.log_line_limit import LogLineLimit, repetition_text
from ...protocol.errors import ApiError

log = logging.getLogger(__name__)


class RoundFaults:
    """Keeps an exception in one item of periodic work from ending the pass over the others.

    `count` is called with the name of the work for each exception.
    """

    def __init__(self, clock: Clock, count: Callable[[str], None]) -> None:
        self._lines = LogLineLimit(clock)
        self._count = count

    @contextmanager
    def catch_item_fault(self, work: str, name: object) -> Iterator[None]:
        """Counts and logs an exception of the block, which handles one item; the round goes on.

        An ApiError (a full disk, say) is logged as a line, any other exception with its traceback, at most once a
        minute for each item.
        """
        try:
            yield
        except Exception as fault:
            self._note(work, str(name), fault)

    def _note(self, work: str, name: str, fault: Exception) -> None:
        self._count(work)
        left_out = self._lines.try_to_log((work, name))
        if left_out is None:
            return
        trace = None if isinstance(fault, ApiError) else fault
        more = repetition_text(left_out)
        log.error("%s of %s failed and is left out of this round%s: %s", work, name, more, fault, exc_info=trace)
