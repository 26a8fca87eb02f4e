"""The columns that decoding adds: `value_decoded`, JSON text, and `value_error`, why there is none."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from .schemas import ValueDecoding
from .values_to_json import ValueDecoder

VALUE = "value"
DECODED = "value_decoded"
ERROR = "value_error"
ADDED = (DECODED, ERROR)
TEXT_CHARS = 16 << 20
"""How long the text of a batch may become; values of a few bytes may have long text."""


class DecodedColumns:
    """Makes batches of the columns of `schema` from batches of `columns_to_read`, and counts what was not decoded."""

    def __init__(self, decoding: ValueDecoding, schema: Any) -> None:
        """Raises: BadUsage."""
        self._decoder = ValueDecoder(decoding)
        self._schema = schema
        self._values = self._errors = 0
        self._first_error = ""

    @property
    def columns_to_read(self) -> Sequence[str]:
        """The columns that batches have to have: the stored ones of the schema, and values."""
        names = [name for name in self._schema.names if name not in ADDED]
        return names if VALUE in names else [*names, VALUE]

    def batches(self, stored: Any) -> Iterator[Any]:
        """The rows with the added columns; they are cut where the text is long."""
        values = stored.column(self.columns_to_read.index(VALUE))
        start = 0
        for texts, reasons in self._decode(values):
            rows = stored.slice(start, len(texts))
            start += len(texts)
            added = {DECODED: pa.array(texts, pa.string()), ERROR: pa.array(reasons, pa.string())}
            arrays = [
                added[name] if name in added else rows.column(self.columns_to_read.index(name))
                for name in self._schema.names
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def describe_errors(self) -> Iterator[str]:
        """A line where values could not be decoded."""
        if self._errors:
            yield f"{self._errors:,} of {self._values:,} values not decoded, the first: {self._first_error}"

    def _decode(self, values: Any) -> Iterator[tuple[list[str | None], list[str | None]]]:
        """Texts and reasons of the values, in pieces of `TEXT_CHARS` or a value more."""
        texts: list[str | None] = []
        reasons: list[str | None] = []
        chars = 0
        for value in values:
            buffer = value.as_buffer()
            text, reason = self._decoder.decode(None if buffer is None else memoryview(buffer))
            self._count(text, reason)
            texts.append(text)
            reasons.append(reason)
            chars += len(text or "")
            if chars >= TEXT_CHARS:
                yield texts, reasons
                texts, reasons, chars = [], [], 0
        if texts:
            yield texts, reasons

    def _count(self, text: str | None, reason: str | None) -> None:
        self._values += text is not None or reason is not None
        if reason is not None:
            self._first_error = self._first_error or reason
            self._errors += 1
