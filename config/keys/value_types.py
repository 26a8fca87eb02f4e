"""The types of settings; parses texts to values, and renders values as texts.

Parsing follows org.apache.kafka.common.config.ConfigDef.parseType. Text is trimmed first (characters up to U+0020, as
Java's String.trim does). Booleans are case-insensitive. Lists are separated by commas; blanks around commas are
dropped, empty items kept; the empty text is the empty list. The codes are those of DescribeConfigs v3+ (KIP-569).
"""

from __future__ import annotations

import re
from enum import Enum

Value = bool | int | float | str | tuple[str, ...]
"""A parsed value of a setting."""

_BLANKS = "".join(map(chr, range(0x21)))
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?)")
_COMMA = re.compile(r"\s*,\s*")
_MAX_INTEGER_DIGITS = 40


class ValueType(Enum):
    """A type of setting; the value is its DescribeConfigs code."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @property
    def label(self) -> str:
        """Kafka's name of the type, in small letters."""
        return self.name.lower()

    @property
    def expected(self) -> str:
        """The text after "expected" in an error message."""
        return _EXPECTED[self]


_EXPECTED = {
    ValueType.BOOLEAN: "true or false",
    ValueType.STRING: "text",
    ValueType.INT: "a 32-bit integer",
    ValueType.SHORT: "a 16-bit integer",
    ValueType.LONG: "a 64-bit integer",
    ValueType.DOUBLE: "a number",
    ValueType.LIST: "a comma separated list",
    ValueType.CLASS: "a class name",
    ValueType.PASSWORD: "text",
}

_BITS = {ValueType.SHORT: 16, ValueType.INT: 32, ValueType.LONG: 64}


def parse(kind: ValueType, text: str) -> Value:
    """Parses the text of a value.

    Raises:
        ValueError: the text is not of this kind.
    """
    trimmed = text.strip(_BLANKS)
    if kind is ValueType.BOOLEAN:
        return _boolean(trimmed)
    if kind in _BITS:
        return _integer(trimmed, _BITS[kind])
    if kind is ValueType.DOUBLE:
        return _double(trimmed)
    if kind is ValueType.LIST:
        return tuple(_COMMA.split(trimmed)) if trimmed else ()
    return trimmed


def render(value: Value | None) -> str | None:
    """Renders a value as Kafka does: `true`, `a,b`, `1.7976931348623157E308`; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return _java_double(value)
    return str(value)


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError("neither true nor false")
    return lowered == "true"


def _integer(text: str, bits: int) -> int:
    if len(text) > _MAX_INTEGER_DIGITS or not _INTEGER.fullmatch(text):
        raise ValueError("not an integer")
    number = int(text)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"does not fit in {bits} bits")
    return number


def _double(text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        raise ValueError("not a number")
    return float(text.rstrip("dDfF") if text[-1] in "dDfF" else text)


def _java_double(number: float) -> str:
    """Renders a number as Java's Double.toString: plain from 1e-3 up to 1e7, otherwise `d.dE±n`."""
    if number == 0 or 1e-3 <= abs(number) < 1e7 or number != number or number in (float("inf"), float("-inf")):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(number), repr(number))
    mantissa, _, exponent = repr(number).partition("e")
    if not exponent:
        mantissa, _, exponent = format(number, ".17g").partition("e")
        mantissa, _, exponent = _shortest_scientific(number).partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}E{int(exponent)}"


def _shortest_scientific(number: float) -> str:
    for digits in range(1, 18):
        text = format(number, f".{digits}e")
        if float(text) == number:
            return text
    return format(number, ".17e")
