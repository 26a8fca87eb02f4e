"""Logs about groups, at a limited rate: clients choose the names, and how often a group changes."""

import logging
from collections.abc import Callable

from ...network.admission.peer_log_limit import PeerLogLimit
from ...network.sasl.mechanism import quote_for_log

log = logging.getLogger(__name__)

KEY_CHARACTERS = 64
"""Groups whose names begin with the same 64 characters share one limit."""


class GroupLogger:
    """Limits how often a group is logged, as `PeerLogLimit` does for networks; `on_line` gets all lines."""

    def __init__(self, lines: PeerLogLimit, on_line: Callable[[str], object] = lambda line: None) -> None:
        self._lines = lines
        self._on_line = on_line

    def log_info(self, group_id: str, text: str, *values: str | int | Exception) -> None:
        """Logs a line that begins with the group. `text` is a %-format of `values`; their texts are cut and escaped."""
        line = _format_line(group_id, text, values)
        self._on_line(line)
        self._lines.log_info(log, group_id[:KEY_CHARACTERS], line)

    def warn(self, group_id: str, text: str, *values: str | int | Exception) -> None:
        """Logs such a line as a warning."""
        line = _format_line(group_id, text, values)
        self._on_line(line)
        self._lines.warn(log, group_id[:KEY_CHARACTERS], line)


def _format_line(group_id: str, text: str, values: tuple[str | int | Exception, ...]) -> str:
    shown = tuple(quote_for_log(each) if isinstance(each, str) else each for each in values)
    return f"group {quote_for_log(group_id)}: " + text % shown
