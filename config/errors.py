"""The problems of a configuration, and the exception that carries all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .sources.origin import NOWHERE, Given, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault: what was expected for `key`, and what was found (None if that is secret or would not help)."""

    key: str
    expected: str
    found: str | None = None
    origin: Origin = NOWHERE
    nearest: str | None = None

    def __str__(self) -> str:
        where = f"{self.origin}: " if self.origin.place else ""
        text = f"{where}{self.key}: {self.expected}"
        if self.found is not None:
            text += f", found {self.found!r}"
        if self.nearest is not None:
            text += f"; did you mean {self.nearest}?"
        return text


class ConfigError(ValueError):
    """The configuration cannot be used; `problems` has all faults that were found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))

    def report(self) -> str:
        """Formats the problems for a terminal, one a line."""
        if len(self.problems) == 1:
            return f"stepdown: bad configuration: {self.problems[0]}"
        lines = [f"stepdown: {len(self.problems)} problems in the configuration"]
        return "\n  ".join([*lines, *(str(problem) for problem in self.problems)])


_SHOWN_CHARACTERS = 200


def wrong_value(given: Given, expected: str, *, sensitive: bool = False) -> Problem:
    """The problem of a wrong value; a `sensitive` value is not shown, a long one is cut."""
    found = given.text if len(given.text) <= _SHOWN_CHARACTERS else given.text[:_SHOWN_CHARACTERS] + "…"
    return Problem(
        key=given.key,
        expected=f"expected {expected}",
        found=None if sensitive else found,
        origin=given.origin,
    )
