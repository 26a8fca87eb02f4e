"""The single record of a control batch that ends a transaction.

    key    int16 version 0 | int16 type: 0 ABORT, 1 COMMIT
    value  int16 version 0 | int32 epoch of the transaction coordinator

Source: Kafka 3.9 `EndTransactionMarker`, `ControlRecordType`. Control records of other types end no transaction.
"""

from struct import Struct
from typing import NamedTuple

from ...protocol.errors import InvalidRecord
from ..files.file_handle import Buffer

ABORT = 0
COMMIT = 1

_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_MAX_VARINT_BYTES = 10


class Marker(NamedTuple):
    """How a transaction ended, and the epoch of the coordinator that ended it."""

    is_abort: bool
    coordinator_epoch: int


def parse_marker(records: Buffer) -> Marker | None:
    """Parses the marker in the body of an uncompressed control batch; None for an empty batch or another type.

    Raises: InvalidRecord when the record is not whole.
    """
    if not len(records):
        return None
    at = _skip_varint(records, 0) + 1  # length, attributes
    at = _skip_varint(records, _skip_varint(records, at))  # timestamp and offset deltas
    key, at = _read_field(records, at)
    value, _ = _read_field(records, at)
    if len(key) < _KEY.size:
        raise InvalidRecord(f"a control record's key has {len(key)} bytes, at least {_KEY.size} expected")
    kind = _KEY.unpack_from(key)[1]
    if kind not in (ABORT, COMMIT):
        return None
    if len(value) < _VALUE.size:
        raise InvalidRecord(f"a transaction marker's value has {len(value)} bytes, at least {_VALUE.size} expected")
    return Marker(kind == ABORT, _VALUE.unpack_from(value)[1])


def _read_field(records: Buffer, at: int) -> tuple[Buffer, int]:
    length, at = _read_varint(records, at)
    if length < 0:
        return b"", at
    if length > len(records) - at:
        raise InvalidRecord(f"a field of {length} bytes in a control record, {len(records) - at} left")
    return records[at : at + length], at + length


def _skip_varint(records: Buffer, at: int) -> int:
    return _read_varint(records, at)[1]


def _read_varint(records: Buffer, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
        if at >= len(records):
            break
        byte = records[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise InvalidRecord("a control record ends inside a number")
