r"""A record as it is printed.

    %t topic    %p partition    %o offset    %k key       %K its bytes      %v or %s value    %V or %S its bytes
    %h headers, name=value,...  %T timestamp in ms        %% percent        \n \t \r \0 \xHH

Lengths of null are -1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from ..protocol.records.record import Record
from .escapes import unescaped
from .leaders import Place
from .record_json import line_of

Part = Callable[[Place, Record], bytes]
Shown = Callable[[Place, Record], bytes]
NULL: Final = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What stands for null."""

    key: bytes = NULL.encode()
    value: bytes = NULL.encode()


def as_json(place: Place, record: Record) -> bytes:
    """A line of JSON."""
    return line_of(*place, record).encode() + b"\n"


def as_text(separator: bytes | None, end: bytes, marks: Marks) -> Shown:
    """Prints values, after their keys with a separator between."""

    def show(place: Place, record: Record) -> bytes:
        value = _or(record.value, marks.value) + end
        return value if separator is None else _or(record.key, marks.key) + separator + value

    return show


def by_format(text: str, marks: Marks) -> Shown:
    """Prints what the format says. Raises: ValueError for a % or an escape that is none of ours."""
    known: dict[str, Part] = {
        "t": lambda place, record: place[0].encode(),
        "p": lambda place, record: b"%d" % place[1],
        "o": lambda place, record: b"%d" % record.offset,
        "k": lambda place, record: _or(record.key, marks.key),
        "v": lambda place, record: _or(record.value, marks.value),
        "K": lambda place, record: _length(record.key),
        "V": lambda place, record: _length(record.value),
        "T": lambda place, record: b"%d" % record.timestamp,
        "h": partial(_headers, marks),
        "%": lambda place, record: b"%",
    }
    known |= {"s": known["v"], "S": known["V"]}
    parts: list[Part] = []
    first, *rest = text.split("%")
    parts.append(_constant(first))
    while rest:
        piece = rest.pop(0)
        code = piece[:1]
        if not code and rest:  # %% was split in two
            code, piece = "%", "%" + rest.pop(0)
        if code not in known:
            raise ValueError(f"expected one of %{' %'.join(sorted(known))}, found %{code}")
        parts += (known[code], _constant(piece[1:]))
    return lambda place, record: b"".join(part(place, record) for part in parts)


def _constant(text: str) -> Part:
    data = unescaped(text)
    return lambda place, record: data


def _headers(marks: Marks, place: Place, record: Record) -> bytes:
    return b",".join(name.encode() + b"=" + _or(value, marks.value) for name, value in record.headers)


def _or(data: bytes | memoryview | None, mark: bytes) -> bytes:
    return mark if data is None else bytes(data)


def _length(data: bytes | memoryview | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)
