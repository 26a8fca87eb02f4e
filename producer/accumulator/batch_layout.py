"""What stands around the records of a v2 batch: its header, and the headers of a record.

`protocol/records/layout.py` shows the batch, `record_buffer.py` encodes the records.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from ...protocol.records import kernel
from ...protocol.records.layout import (
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
from ...protocol.records.record import Header, encode_varint

MAX_RECORD_OVERHEAD: Final = 21
"""The most that a record's own fields take beside key, value and headers."""
LEAST_BOUND: Final = RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD
"""The most that a batch of one empty record takes."""

_VARINTS: Final = tuple(map(encode_varint, range(128)))
_NULL: Final = b"\x01"
NO_HEADERS: Final = b"\x00"
_CRC: Final = Struct(">I")


def varint(value: int) -> bytes:
    """The zig-zag varint of a length."""
    return _VARINTS[value] if value < len(_VARINTS) else encode_varint(value)


def size_bound(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """The most bytes that a batch of this one record takes uncompressed."""
    size = LEAST_BOUND + (len(key) if key else 0) + (len(value) if value else 0)
    return size + len(encode_headers(headers)) if headers else size


def encode_headers(headers: Sequence[Header]) -> bytes:
    """The count and the headers as they stand at the end of a record."""
    if not headers:
        return NO_HEADERS
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (varint(len(encoded)), encoded)
        parts += (_NULL,) if value is None else (varint(len(value)), value)
    return b"".join(parts)


def write_header(
    batch: bytearray | memoryview,
    *,
    codec: Codec,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    transactional: bool = False,
) -> None:
    """Fills in the first 61 bytes of a batch of `count` records, compressed or not; offsets count from 0."""
    BATCH_HEADER.pack_into(
        batch,
        0,
        0,
        len(batch) - LOG_OVERHEAD,
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
    crc = kernel.crc32c(memoryview(batch)[ATTRIBUTES_OFFSET:])
    _CRC.pack_into(batch, CRC_OFFSET, crc)
