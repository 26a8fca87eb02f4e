"""Log lines of a producer: each kind at most once in ten seconds, with the number of lines left out.

Text from a broker is escaped and shortened.
"""

import logging
from collections.abc import Callable
from typing import Final

from ..client.errors import make_printable

log = logging.getLogger("stepdown.producer")
EVERY_MS: Final = 10_000
MAX_KINDS: Final = 1000
"""How many kinds are remembered. Some contain addresses that brokers send, hence the bound."""


class LimitedLog:
    """Lines of one producer under `stepdown.producer`, with its client id in front."""

    def __init__(self, client_id: str, now: Callable[[], int]) -> None:
        self._client_id, self._now = client_id, now
        self._kinds: dict[str, tuple[int, int]] = {}  # when the last line was written, and how many were left out since

    def warning(self, kind: str, text: str, *values: object) -> None:
        """Logs a warning; lines of the same `kind` share the limit."""
        self._write(logging.WARNING, kind, text, values, None)

    def log_fault(self, what: str, fault: BaseException) -> None:
        """Logs a fault of the producer, with its traceback."""
        self._write(logging.ERROR, what, "%s failed", (what,), fault)

    def _write(self, level: int, kind: str, text: str, values: tuple[object, ...], fault: BaseException | None) -> None:
        now_ms = self._now()
        written_ms, left_out = self._kinds.get(kind, (now_ms - EVERY_MS, 0))
        if now_ms - written_ms < EVERY_MS:
            self._kinds[kind] = written_ms, left_out + 1
            return
        if len(self._kinds) >= MAX_KINDS:
            self._kinds.clear()
        self._kinds[kind] = now_ms, 0
        more = f" ({left_out} more like this since the last line)" if left_out else ""
        shown = [each if isinstance(each, int) else make_printable(str(each)) for each in values]
        log.log(level, "%s: " + text + "%s", self._client_id, *shown, more, exc_info=fault)
