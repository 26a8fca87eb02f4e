"""Batch headers as Arrow columns: what Spark takes from `kafka-batches`.

They are made a column at a time over thousands of headers, from numpy's arrays: `pa.array` of a list imports pandas,
a third of a second for each worker of Spark.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.layout import CODEC_MASK, CONTROL_BIT, TIMESTAMP_TYPE_BIT, TRANSACTIONAL_BIT, Codec
from .arrow_columns import DAMAGE, microseconds, repeat_int, repeat_text
from .arrow_columns import TYPES as ROW_TYPES
from .splits import Split

TYPES: dict[str, Any] = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "segment": pa.int64(),
    "position": pa.int64(),
    "size": pa.int32(),
    "magic": pa.int32(),
    "codec": pa.string(),
    "baseOffset": pa.int64(),
    "lastOffset": pa.int64(),
    "records": pa.int32(),
    "timestampType": pa.int32(),
    "maxTimestamp": pa.timestamp("us", tz="UTC"),
    "producerId": pa.int64(),
    "transactional": pa.bool_(),
    "control": pa.bool_(),
    DAMAGE: ROW_TYPES[DAMAGE],
}

_AT = {field: at for at, field in enumerate(BatchHeader._fields)}
_PLAIN = {
    "position": "position",
    "size": "size_bytes",
    "magic": "magic",
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "producerId": "producer_id",
}
"""Columns that are a field of the header as it stands."""
_CODECS = [
    (Codec(codec).name.lower() if codec <= Codec.ZSTD else f"unknown-{codec}").encode()
    for codec in range(CODEC_MASK + 1)
]
_CODEC_BYTES = np.array([len(name) for name in _CODECS], np.int32)


def make_header_record_batch(headers: Sequence[BatchHeader], split: Split, schema: Any) -> Any:
    """Return a record batch of the columns that `schema` names, of `TYPES`, a row for each header of the split.

    A timestamp that Spark cannot hold is null.
    """
    columns = _HeaderColumns(headers, split)
    return pa.RecordBatch.from_arrays([columns.array(name) for name in schema.names], schema=schema)


class _HeaderColumns:
    """Takes fields out of rows of headers."""

    def __init__(self, headers: Sequence[BatchHeader], split: Split) -> None:
        self._fields = list(zip(*headers, strict=True))
        self._rows = len(headers)
        self._split = split

    def array(self, name: str) -> Any:
        match name:
            case "topic":
                return repeat_text(self._split.topic, self._rows)
            case "partition":
                return repeat_int(self._split.partition, self._rows)
            case "segment":
                return self._number_array(name, np.full(self._rows, self._split.base_offset))
            case "codec":
                return self._codec_array()
            case "records":
                counts = self._field("record_count")
                return self._number_array(name, counts, counts >= 0)
            case "timestampType":
                marked = (self._field("attributes") & TIMESTAMP_TYPE_BIT) != 0
                return self._number_array(name, np.where(self._field("magic") == 0, -1, marked))
            case "maxTimestamp":
                return self._number_array(name, *microseconds(self._field("max_timestamp")))
            case "transactional":
                return self._flag_array(TRANSACTIONAL_BIT)
            case "control":
                return self._flag_array(CONTROL_BIT)
            case "damage":
                return pa.nulls(self._rows, TYPES[DAMAGE])
            case _:
                return self._number_array(name, self._field(_PLAIN[name]))

    def _field(self, name: str) -> Any:
        return np.array(self._fields[_AT[name]], np.int64)

    def _number_array(self, name: str, values: Any, valid: Any = None) -> Any:
        """The values in the column's width; null where they are not valid."""
        kind = TYPES[name]
        width = np.int32 if kind == pa.int32() else np.int64
        bits = None if valid is None or valid.all() else _pack_flags(valid)
        return pa.Array.from_buffers(kind, self._rows, [bits, pa.py_buffer(values.astype(width))])

    def _codec_array(self) -> Any:
        codes = self._field("attributes") & CODEC_MASK
        ends = np.zeros(self._rows + 1, np.int32)
        np.cumsum(_CODEC_BYTES[codes], out=ends[1:])
        names = b"".join([_CODECS[code] for code in codes.tolist()])
        return pa.Array.from_buffers(pa.string(), self._rows, [None, pa.py_buffer(ends), pa.py_buffer(names)])

    def _flag_array(self, bit: int) -> Any:
        """Whether batches of magic 2 have the attribute's bit."""
        found = ((self._field("attributes") & bit) != 0) & (self._field("magic") >= 2)
        return pa.Array.from_buffers(pa.bool_(), self._rows, [None, _pack_flags(found)])


def _pack_flags(flags: Any) -> Any:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
