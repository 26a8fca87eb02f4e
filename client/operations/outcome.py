"""The result of one change."""

from dataclasses import dataclass
from typing import Any

from ...protocol.errors import error_name
from ..errors import make_printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a change of `name`; `error` is a wire code's name, "" for none."""

    name: str
    error: str = ""
    message: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.error)


def outcome_of(name: str, result: Any) -> Outcome:
    """The outcome in one part of a response."""
    if not result.error_code:
        return Outcome(name=name)
    message = make_printable(getattr(result, "error_message", None) or "")
    return Outcome(name=name, error=error_name(result.error_code), message=message)
