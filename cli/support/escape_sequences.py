r"""Escapes of separators on the command line: \n \t \r \0 \\ and \xHH.

In output, control characters, which a terminal would obey, are shown as such escapes.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category

from .failures import EXIT_BAD_USAGE, CommandFailure

ESCAPES: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
OBEYED: Final = ("Cc", "Cf", "Zl", "Zp")
"""Unicode categories of characters that move the cursor, set colours, or turn the direction of writing."""
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|.?)", re.DOTALL)


def unescape(text: str) -> bytes:
    """Returns the bytes that the text stands for. Raises: ValueError for an unknown escape."""
    found = bytearray()
    at = 0
    for match in _ESCAPE.finditer(text):
        found += text[at : match.start()].encode(errors="surrogateescape")
        code = match[1]
        if len(code) == 3:
            found.append(int(code[1:], 16))
        elif code in ESCAPES:
            found += ESCAPES[code]
        else:
            raise ValueError(rf"expected \n \t \r \0 \\ or \xHH, found \{code}")
        at = match.end()
    return bytes(found + text[at:].encode(errors="surrogateescape"))


def unescape_option(text: str, option: str) -> bytes:
    """Returns the bytes that the value of an option stands for. Raises: CommandFailure."""
    try:
        return unescape(text)
    except ValueError as fault:
        raise CommandFailure(f"{option}: {fault}", "", EXIT_BAD_USAGE) from fault


def escape(data: bytes) -> str:
    """Returns the bytes as text with escapes, in quotation marks, for messages."""
    text = data.decode(errors="backslashreplace")
    return '"' + "".join(each if each.isprintable() else _escape_of(each) for each in text) + '"'


def escape_control_characters(text: str, kept: str = "") -> str:
    """Returns the text with control characters escaped, except those in `kept`: names come from clients and brokers."""
    return "".join(each if each in kept or category(each) not in OBEYED else repr(each)[1:-1] for each in text)


def _escape_of(character: str) -> str:
    data = character.encode(errors="surrogateescape")
    known = next((code for code, meaning in ESCAPES.items() if meaning == data), None)
    return f"\\{known}" if known else "".join(f"\\x{byte:02x}" for byte in data)
