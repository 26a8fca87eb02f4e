"""A value as the operator wrote it, and its origin: a line of a file, an environment variable, an option."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a value: a file and line (counted from 1), or a variable or an option (line 0)."""

    place: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.place}:{self.line}" if self.line else self.place


NOWHERE = Origin("")


@dataclass(frozen=True, slots=True)
class Given:
    """The key and text of a value as it was written, with its origin."""

    key: str
    text: str
    origin: Origin
