"""The result of one change."""

from dataclasses import dataclass
from typing import Any

from ...protocol.errors import error_name
from ..errors import make_printable

UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a change of `name`; `error` is a wire code's name, "" for none.

    `partitions`: how many a topic that was created has; None where the broker does not say.
    """

    name: str
    error: str = ""
    message: str = ""
    partitions: int | None = None

    @property
    def failed(self) -> bool:
        return bool(self.error)


def outcome_of(name: str, result: Any) -> Outcome:
    """The outcome in one part of a response."""
    if not result.error_code:
        partitions = getattr(result, "num_partitions", UNKNOWN)
        return Outcome(name=name, partitions=None if partitions == UNKNOWN else partitions)
    message = make_printable(getattr(result, "error_message", None) or "")
    return Outcome(name=name, error=error_name(result.error_code), message=message)
