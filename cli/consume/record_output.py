r"""Renders records as the bytes to print.

    %t topic    %p partition    %o offset    %k key       %K its bytes      %v or %s value    %V or %S its bytes
    %h headers, name=value,...  %T timestamp in ms        %% percent        \n \t \r \0 \xHH

Lengths of null are -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ...client.operation import TopicPartition
from ...protocol.records.record import Buffer, Record
from ...protocol.records.record_rows import RecordRows
from ..support.escape_sequences import escape_control_characters, unescape
from ..support.record_json import record_to_json

Part = Callable[[TopicPartition, Record], bytes]
RecordRenderer = Callable[[TopicPartition, RecordRows], bytes]
NULL: Final = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class NullOutput:
    """The marks that are printed for null."""

    key: bytes = NULL.encode()
    value: bytes = NULL.encode()


def render_as_json(topic_partition: TopicPartition, rows: RecordRows) -> bytes:
    """Returns a line of JSON for each record."""
    return "".join(f"{record_to_json(*topic_partition, record)}\n" for record in rows.records()).encode()


def text_renderer(separator: bytes | None, end: bytes, marks: NullOutput) -> RecordRenderer:
    """Returns a renderer of values, each with `end`; with a separator, keys and separator come first."""

    def render(topic_partition: TopicPartition, rows: RecordRows) -> bytes:
        values = _mark_nulls(rows.values, marks.value)
        if separator is None:
            return end.join(values) + end
        keys = _mark_nulls(rows.keys, marks.key)
        return b"".join(part for key, value in zip(keys, values, strict=True) for part in (key, separator, value, end))

    return render


def format_renderer(text: str, marks: NullOutput) -> RecordRenderer:
    """Returns a renderer for a format with %. Raises: ValueError for an unknown % code or escape."""
    known: dict[str, Part] = {
        "t": lambda topic_partition, record: topic_partition[0].encode(),
        "p": lambda topic_partition, record: b"%d" % topic_partition[1],
        "o": lambda topic_partition, record: b"%d" % record.offset,
        "k": lambda topic_partition, record: _bytes_or_mark(record.key, marks.key),
        "v": lambda topic_partition, record: _bytes_or_mark(record.value, marks.value),
        "K": lambda topic_partition, record: _length_text(record.key),
        "V": lambda topic_partition, record: _length_text(record.value),
        "T": lambda topic_partition, record: b"%d" % record.timestamp,
        "h": partial(_headers_text, marks),
        "%": lambda topic_partition, record: b"%",
    }
    known |= {"s": known["v"], "S": known["V"]}
    parts: list[Part] = []
    first, *rest = text.split("%")
    parts.append(_constant_part(first))
    while rest:
        piece = rest.pop(0)
        code = piece[:1]
        if not code and rest:  # %% was split in two
            code, piece = "%", "%" + rest.pop(0)
        if code not in known:
            raise ValueError(f"expected one of %{' %'.join(sorted(known))}, found %{code}")
        parts += (known[code], _constant_part(piece[1:]))
    return lambda topic_partition, rows: b"".join(
        part(topic_partition, record) for record in rows.records() for part in parts
    )


def terminal_renderer(render: RecordRenderer) -> RecordRenderer:
    """Returns a renderer that also escapes control characters, which a terminal would obey."""

    def render_escaped(topic_partition: TopicPartition, rows: RecordRows) -> bytes:
        text = render(topic_partition, rows).decode(errors="backslashreplace")
        return escape_control_characters(text, kept="\n\t").encode()

    return render_escaped


def _constant_part(text: str) -> Part:
    data = unescape(text)
    return lambda topic_partition, record: data


def _headers_text(marks: NullOutput, topic_partition: TopicPartition, record: Record) -> bytes:
    return b",".join(name.encode() + b"=" + _bytes_or_mark(value, marks.value) for name, value in record.headers)


def _mark_nulls(fields: Sequence[Buffer | None], mark: bytes) -> list[Buffer]:
    return [mark if field is None else field for field in fields]


def _bytes_or_mark(data: bytes | memoryview | None, mark: bytes) -> bytes:
    return mark if data is None else bytes(data)


def _length_text(data: bytes | memoryview | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)
