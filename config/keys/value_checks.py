"""Checks of a value beyond its type, such as a range, each with a text that describes it.

A check accepts or refuses a parsed value; `expected` completes the sentence "expected a 32-bit integer …".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from .value_types import Value, render


class Check(Protocol):
    """A rule on one parsed value."""

    @property
    def expected(self) -> str:
        """A text that describes the rule, to follow the name of the type."""

    def accepts(self, value: Value) -> bool:
        """Whether the value obeys the rule."""


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number with a lower bound (inclusive)."""

    low: int | float

    @property
    def expected(self) -> str:
        return f"of at least {render(self.low)}"

    def accepts(self, value: Value) -> bool:
        return isinstance(value, int | float) and value >= self.low


@dataclass(frozen=True, slots=True)
class Between:
    """A number with a lower and an upper bound (inclusive)."""

    low: int | float
    high: int | float

    @property
    def expected(self) -> str:
        return f"from {render(self.low)} to {render(self.high)}"

    def accepts(self, value: Value) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class BetweenOr:
    """A number with a lower and an upper bound (inclusive), or one special value outside of them."""

    low: int
    high: int
    extra: int

    @property
    def expected(self) -> str:
        return f"from {self.low} to {self.high}, or {self.extra}"

    def accepts(self, value: Value) -> bool:
        return isinstance(value, int) and (self.low <= value <= self.high or value == self.extra)


@dataclass(frozen=True, slots=True)
class NotZero:
    """A number other than 0; a negative one means that there is no limit."""

    expected: str = "of at least 1, or -1 for no limit"

    def accepts(self, value: Value) -> bool:
        return value != 0


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few words; case-sensitive unless `fold`."""

    words: tuple[str, ...]
    fold: bool = False

    @property
    def expected(self) -> str:
        return "one of " + ", ".join(self.words)

    def accepts(self, value: Value) -> bool:
        if not isinstance(value, str):
            return False
        return value in self.words or (self.fold and value.lower() in [word.lower() for word in self.words])


@dataclass(frozen=True, slots=True)
class EachOf:
    """A list whose items are among a few words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        return "out of " + ", ".join(self.words)

    def accepts(self, value: Value) -> bool:
        return isinstance(value, tuple) and all(item in self.words for item in value)


@dataclass(frozen=True, slots=True)
class OnlyValue:
    """The only supported value; `reason` says why."""

    value: Value
    reason: str

    @property
    def expected(self) -> str:
        return f"equal to {render(self.value)} ({self.reason})"

    def accepts(self, value: Value) -> bool:
        return value == self.value


@dataclass(frozen=True, slots=True)
class Matching:
    """A text that matches a pattern, or a list that does so when joined by commas; `form` describes the pattern."""

    pattern: str
    form: str

    @property
    def expected(self) -> str:
        return f"such as {self.form}"

    def accepts(self, value: Value) -> bool:
        text = ",".join(value) if isinstance(value, tuple) else value
        return isinstance(text, str) and re.fullmatch(self.pattern, text) is not None


_RELEASES = (
    *("0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1"),
    *(f"2.{minor}" for minor in range(9)),
    *(f"3.{minor}" for minor in range(10)),
)


@dataclass(frozen=True, slots=True)
class ReleaseVersion:
    """A Kafka release, with or without its bug fix number or internal version: 2.8, 2.8.1, 0.10.0, 3.0-IV1."""

    expected: str = "naming a Kafka release from 0.8.0 to 3.9, such as 2.8 or 3.0-IV1"

    def accepts(self, value: Value) -> bool:
        if not isinstance(value, str):
            return False
        numbers, dash, internal = value.partition("-IV")
        parts = numbers.split(".")
        release = ".".join(parts[: 3 if parts[0] == "0" else 2])
        return release in _RELEASES and all(part.isdigit() for part in parts) and (not dash or internal.isdigit())
