"""The 61 bytes before the records of a batch of magic 2: read, written with their checksum, stamped by a log.

| offset | field | offset | field |
|---|---|---|---|
| 0 | base offset | 35 | max timestamp |
| 8 | size of what follows | 43 | producer id |
| 12 | partition leader epoch | 51 | producer epoch |
| 16 | magic | 53 | base sequence |
| 17 | CRC-32C of all from 21 on | 57 | record count |
| 21 | attributes | 61 | records |
| 23 | last offset delta, 27 base timestamp | | |

`layout.py` has the offsets for loops that read single fields. Source: Kafka 3.9, DefaultRecordBatch.
"""

from struct import Struct
from typing import Final, NamedTuple

from . import kernel
from .layout import (
    ATTRIBUTES_OFFSET,
    CRC_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    PARTITION_LEADER_EPOCH_OFFSET,
    RECORD_BATCH_OVERHEAD,
    SIZE_OFFSET,
)
from .record import Buffer

LAYOUT: Final = Struct(">qiibIhiqqqhii")
APPENDED: Final = Struct(">qi4xb6xi16xqhii")
"""What each append needs of it: base offset, size, magic, last offset delta, producer id and epoch, base sequence,
record count."""
_PLACE: Final = Struct(">q4si")


class V2Header(NamedTuple):
    """The fields in the order of their bytes; `size` counts what comes after it."""

    base_offset: int
    size: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


def read_header(data: Buffer, at: int = 0) -> V2Header:
    """The header at `at` of `data`, which has its 61 bytes. Nothing in it is checked."""
    return tuple.__new__(V2Header, LAYOUT.unpack_from(data, at))  # without the call that `V2Header(...)` would be


def write_header(
    body: Buffer,
    *,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    record_count: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    base_offset: int = 0,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """The header of a batch with the records `body`, as they are stored; its checksum is over them, too."""
    size = RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(body)
    head = LAYOUT.pack(
        base_offset, size, leader_epoch, MAGIC_V2, 0, attributes, last_offset_delta, base_timestamp, max_timestamp,
        producer_id, producer_epoch, base_sequence, record_count,
    )  # fmt: skip
    checksum = kernel.crc32c(body, kernel.crc32c(head[ATTRIBUTES_OFFSET:]))
    return head[:CRC_OFFSET] + checksum.to_bytes(4, "big") + head[ATTRIBUTES_OFFSET:]


def stamp_header(head: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """The header with its place in a log, which is outside the checksum (KIP-98)."""
    size = head[SIZE_OFFSET:PARTITION_LEADER_EPOCH_OFFSET]
    return _PLACE.pack(base_offset, size, leader_epoch) + head[MAGIC_OFFSET:]
