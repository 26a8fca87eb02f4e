"""Columns of the kernel as Arrow, without a copy: what Spark takes from a data source.

    key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int,
    headers array<struct<key:string,value:binary>>      null when a record has none

These are the columns of Spark's Kafka source. As there, a record without a timestamp (-1) shows one millisecond before
1970. A time that Spark cannot hold is null; `timestampMs bigint` has the number as it is stored.

    damage struct<kind,file,position,bytes,firstOffset,endOffset,reason>    null but in rows that are no records
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ...protocol.records.kernel.columns import BinaryColumn, RecordColumns
from .damage import Damage

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")

DAMAGE = "damage"
_DAMAGE = pa.struct(
    [
        pa.field("kind", pa.string()),
        pa.field("file", pa.string()),
        pa.field("position", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("firstOffset", pa.int64()),
        pa.field("endOffset", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
TYPES: dict[str, Any] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "timestampMs": pa.int64(),
    "headers": pa.list_(pa.field("element", _HEADER)),
    DAMAGE: _DAMAGE,
}
MICROSECONDS = 1000
_MAX_MS = ((1 << 63) - 1) // MICROSECONDS


class ArrowBatchMaker:
    """Makes record batches of the columns `names` for the rows of one partition."""

    def __init__(self, names: Sequence[str], topic: str, partition: int, schema: Any = None) -> None:
        self._names = tuple(names)
        self._topic = topic
        self._partition = partition
        self._constant: dict[str, Any] = {}
        self.schema = pa.schema([pa.field(name, TYPES[name]) for name in names]) if schema is None else schema

    def make_record_batch(self, columns: RecordColumns) -> Any:
        """Return a record batch over the buffers of `columns`, which must be cleared, not overwritten, afterwards."""
        arrays = [self._array(name, columns) for name in self._names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _array(self, name: str, columns: RecordColumns) -> Any:
        rows = columns.rows
        match name:
            case "key":
                return binary_array(columns.key)
            case "value":
                return binary_array(columns.value)
            case "topic":
                return self._repeat_kept_array(name, rows, lambda: repeat_text(self._topic, rows))
            case "partition":
                return self._repeat_kept_array(name, rows, lambda: repeat_int(self._partition, rows))
            case "offset":
                return pa.Array.from_buffers(TYPES[name], rows, [None, pa.py_buffer(columns.offsets_buffer)])
            case "timestamp":
                times, valid = microseconds(np.frombuffer(columns.timestamps_buffer, np.int64, rows))
                return pa.Array.from_buffers(TYPES[name], rows, [pack_bits(valid), pa.py_buffer(times)])
            case "timestampMs":
                return pa.Array.from_buffers(TYPES[name], rows, [None, pa.py_buffer(columns.timestamps_buffer)])
            case "timestampType":
                return pa.Array.from_buffers(TYPES[name], rows, [None, pa.py_buffer(columns.types_buffer)])
            case "damage":
                return pa.nulls(rows, _DAMAGE)
            case _:
                return _headers_array(columns)

    def _repeat_kept_array(self, name: str, rows: int, make: Callable[[], Any]) -> Any:
        """An array of the same value `rows` times, cut from one that is kept."""
        kept = self._constant.get(name)
        if kept is None or len(kept) < rows:
            kept = self._constant[name] = make()
        return kept[:rows]


def damage_rows(damages: Sequence[Damage], schema: Any) -> Any:
    """A record batch with a row for each damage: topic, partition and `damage`, all other columns null."""
    values = {
        "topic": [each.topic for each in damages],
        "partition": [each.partition for each in damages],
        DAMAGE: [_damage_fields(each) for each in damages],
    }
    arrays = [pa.array(values.get(field.name, [None] * len(damages)), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _damage_fields(damage: Damage) -> dict[str, str | int | None]:
    return {
        "kind": damage.kind,
        "file": damage.file,
        "position": damage.position,
        "bytes": damage.size_bytes,
        "firstOffset": damage.first_offset,
        "endOffset": damage.end_offset,
        "reason": damage.reason,
    }


def repeat_text(value: str, rows: int) -> Any:
    """Return the value as a string column. `pa.repeat` would do, but its scalar imports pandas, which takes a third of
    a second of each worker of Spark.
    """
    data = value.encode()
    ends = np.arange(rows + 1, dtype=np.int32) * np.int32(len(data))
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(ends), pa.py_buffer(data * rows)])


def repeat_int(value: int, rows: int) -> Any:
    """The value as an int32 column."""
    return pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(np.full(rows, value, np.int32))])


def binary_array(column: BinaryColumn, kind: Any = None) -> Any:
    """Return a binary array over the buffers of `column`; `kind` may say string."""
    buffers = [
        _pack_validity(column.valid_buffer, column),
        pa.py_buffer(column.ends_buffer),
        pa.py_buffer(column.data_buffer),
    ]
    return pa.Array.from_buffers(pa.binary() if kind is None else kind, column.count, buffers, column.nulls)


def _pack_validity(valid: Any, column: BinaryColumn) -> Any:
    """The validity bits, none when no row is null."""
    if not column.nulls:
        return None
    return pa.py_buffer(np.packbits(np.frombuffer(valid, np.uint8, column.count), bitorder="little"))


def microseconds(timestamps: Any) -> tuple[Any, Any]:
    """Return int64 milliseconds as microseconds, and which of them are valid, None for all.

    What cannot be held (producers that write nanoseconds) is not valid, and the nearest that can be held.
    """
    held = np.clip(timestamps, -_MAX_MS, _MAX_MS)
    valid = held == timestamps
    return held * MICROSECONDS, None if valid.all() else valid


def pack_bits(valid: Any) -> Any:
    """Flags as Arrow's validity bits, None for none."""
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _headers_array(columns: RecordColumns) -> Any:
    keys = _replace_invalid_utf8(binary_array(columns.header_key, pa.string()))
    values = binary_array(columns.header_value)
    entries = pa.StructArray.from_arrays([keys, values], fields=list(_HEADER))
    ends = np.frombuffer(columns.header_ends_buffer, np.int32, columns.rows + 1)
    empty = np.diff(ends) == 0
    bits = pa.py_buffer(np.packbits(~empty, bitorder="little")) if empty.any() else None
    return pa.Array.from_buffers(
        TYPES["headers"], columns.rows, [bits, pa.py_buffer(columns.header_ends_buffer)], int(empty.sum()), 0, [entries]
    )


def _replace_invalid_utf8(keys: Any) -> Any:
    """The keys; those that are not UTF-8 with replacement characters, as Kafka's clients read them."""
    try:
        keys.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([key.decode(errors="replace") for key in keys.cast(pa.binary()).to_pylist()], pa.string())
    return keys
