"""A value as an operator wrote it, and where: a line of a file, an environment variable, an option."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written: a file and its line (counted from 1), or a variable or an option (line 0)."""

    place: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.place}:{self.line}" if self.line else self.place


NOWHERE = Origin("")


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it was written."""

    key: str
    text: str
    origin: Origin
