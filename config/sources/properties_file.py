r"""Parses Java's .properties files, with line numbers.

Rules of java.util.Properties.load: lines end with \n, \r or \r\n; a line whose first character that is not blank is #
or ! is a comment, and cannot be continued; a line that ends with an odd number of backslashes continues in the next
one, whose leading blanks are dropped. A key ends at the first =, : or blank that is not escaped by a backslash; blanks
around the separator are dropped, those at the end of the value are kept. \t \n \r \f \uXXXX are escapes; a backslash
before any other character is dropped. Blanks are space, tab and form feed.

Unlike Java, which always reads Latin-1, this reads a file as UTF-8 if it is valid UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX = re.compile(r"[0-9A-Fa-f]{4}")


@dataclass(frozen=True, slots=True)
class Property:
    """A key, its value, and the line on which it begins, counted from 1."""

    key: str
    value: str
    line: int


class MalformedProperties(ValueError):
    """The file has a broken \\u escape; Java refuses it too."""

    def __init__(self, line: int, key: str) -> None:
        self.line = line
        self.key = key
        super().__init__(f"line {line}: \\u needs four hexadecimal digits")


def decode(data: bytes) -> str:
    """Decodes a file as UTF-8 if it is valid, else as Latin-1; drops a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_properties(text: str) -> list[Property]:
    """Parses the properties, in the order of the file, including repeated ones.

    Raises:
        MalformedProperties: a \\u escape has not four hexadecimal digits.
    """
    return [_split(line, number) for number, line in _logical_lines(text)]


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields line number and content of each line that is not blank or a comment, with continuations joined."""
    joined: list[str] = []
    begun = 0
    for number, raw in enumerate(_LINE_END.split(text), start=1):
        line = raw.lstrip(_BLANKS)
        if not joined and (not line or line[0] in "#!"):
            continue
        if not joined:
            begun = number
        if _is_continued(line):
            joined.append(line[:-1])
            continue
        yield begun, "".join([*joined, line])
        joined = []
    if joined:
        yield begun, "".join(joined)


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str, number: int) -> Property:
    end = _end_of_key(line)
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    raw_key = line[:end]
    try:
        return Property(_unescape(raw_key), _unescape(rest), number)
    except ValueError:
        raise MalformedProperties(number, raw_key) from None


def _end_of_key(line: str) -> int:
    escaped = False
    for position, character in enumerate(line):
        if not escaped and (character in "=:" or character in _BLANKS):
            return position
        escaped = character == "\\" and not escaped
    return len(line)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    result: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\" and position < len(text):
            character, position = _escape(text, position)
        elif character == "\\":
            break
        result.append(character)
    return "".join(result).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(text: str, position: int) -> tuple[str, int]:
    """The character of the escape whose backslash is before `position`, and the position after the escape."""
    letter = text[position]
    if letter != "u":
        return _ESCAPES.get(letter, letter), position + 1
    digits = text[position + 1 : position + 5]
    if not _HEX.fullmatch(digits):
        raise ValueError(digits)
    return chr(int(digits, 16)), position + 5
