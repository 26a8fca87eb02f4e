"""Records to the bytes of a v2 batch, as fast as plain Python goes: one join per record, one header per batch.

`protocol/records/layout.py` shows the batch, `record.py` the record. Varints up to 64 KiB come from a table.
"""

from collections.abc import Sequence
from typing import Final

from ..protocol.records import kernel
from ..protocol.records.layout import (
    ATTRIBUTES_OFFSET,
    BATCH_HEADER,
    CRC_OFFSET,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    NO_PARTITION_LEADER_EPOCH,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_BIT,
    Codec,
)
from ..protocol.records.record import Header, encode_varint

MAX_RECORD_OVERHEAD: Final = 21
"""The most that a record's own fields take beside key, value and headers."""

_TABLE_SIZE: Final = 1 << 16
_VARINTS: list[bytes] = []
_NULL: Final = b"\x01"
_NO_HEADERS: Final = b"\x00"


def varint(value: int) -> bytes:
    """The zig-zag varint of a number."""
    if 0 <= value < _TABLE_SIZE:
        if not _VARINTS:
            _VARINTS.extend(map(encode_varint, range(_TABLE_SIZE)))
        return _VARINTS[value]
    return encode_varint(value)


def size_bound(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """The most bytes that a batch of this one record takes uncompressed."""
    size = RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + (len(key) if key else 0) + (len(value) if value else 0)
    return size + len(encode_headers(headers)) if headers else size


def encode_headers(headers: Sequence[Header]) -> bytes:
    """The count and the headers as they stand at the end of a record."""
    if not headers:
        return _NO_HEADERS
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (varint(len(encoded)), encoded)
        parts += (_NULL,) if value is None else (varint(len(value)), value)
    return b"".join(parts)


def encode_record(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: bytes
) -> bytes:
    """The record as a v2 batch stores it; `headers` are encoded already."""
    head = b"\x00" + varint(timestamp_delta) + varint(offset_delta)
    if key is None:
        head += _NULL
    else:
        head += varint(len(key)) + key
    if value is None:
        head += _NULL
        return varint(len(head) + len(headers)) + head + headers
    head += varint(len(value))
    return b"".join((varint(len(head) + len(value) + len(headers)), head, value, headers))


def encode_batch(
    body: bytes,
    *,
    codec: Codec,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    transactional: bool = False,
) -> bytes:
    """The batch of `count` records whose bytes, compressed or not, are `body`; offsets count from 0."""
    head = bytearray(
        BATCH_HEADER.pack(
            0,
            RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(body),
            NO_PARTITION_LEADER_EPOCH,
            CURRENT_MAGIC,
            0,
            codec | (TRANSACTIONAL_BIT if transactional else 0),
            count - 1,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        )
    )
    crc = kernel.crc32c(body, kernel.crc32c(head[ATTRIBUTES_OFFSET:]))
    head[CRC_OFFSET : CRC_OFFSET + 4] = crc.to_bytes(4, "big")
    return bytes(head) + body
