"""Offset and width of each field of magic 0, 1 and 2, and the attribute bits.

Frame shared by every magic (integers are big-endian and signed unless said otherwise):

    offset size field
    0      8    offset        v0/v1: of this message, a compressed wrapper: of its last inner message; v2: base offset
    8      4    size          bytes after this field: the batch takes size + 12 bytes
    12     4    crc | epoch   v0/v1: CRC-32; v2: partition leader epoch
    16     1    magic

Magic 0 and 1 continue with attributes (1), timestamp (8, v1 only), key length (4), key, value length (4), value.
Magic 2 continues as `v2_header.py` shows. Source: Kafka 3.9, DefaultRecordBatch, LegacyRecord, Records.
"""

from enum import IntEnum
from struct import Struct
from typing import Final

MAGIC_V0: Final = 0
MAGIC_V1: Final = 1
MAGIC_V2: Final = 2
CURRENT_MAGIC: Final = MAGIC_V2

# The frame.
OFFSET_OFFSET: Final = 0
SIZE_OFFSET: Final = 8
LOG_OVERHEAD: Final = 12
MAGIC_OFFSET: Final = 16
HEADER_SIZE_UP_TO_MAGIC: Final = 17

# Magic 0 and 1. The overheads leave the 12-byte frame out, as Kafka's RECORD_OVERHEAD_V0 and _V1 do.
LEGACY_CRC_OFFSET: Final = 12
LEGACY_ATTRIBUTES_OFFSET: Final = 17
V1_TIMESTAMP_OFFSET: Final = 18
RECORD_OVERHEAD_V0: Final = 14
RECORD_OVERHEAD_V1: Final = 22
RECORD_OVERHEAD: Final = (RECORD_OVERHEAD_V0, RECORD_OVERHEAD_V1)
MIN_SIZE: Final = RECORD_OVERHEAD_V0
# The frame included.
V0_OVERHEAD: Final = LOG_OVERHEAD + RECORD_OVERHEAD_V0
V1_OVERHEAD: Final = LOG_OVERHEAD + RECORD_OVERHEAD_V1

# Magic 2.
PARTITION_LEADER_EPOCH_OFFSET: Final = 12
CRC_OFFSET: Final = 17
ATTRIBUTES_OFFSET: Final = 21
LOW_ATTRIBUTES_OFFSET: Final = 22  # the second of their two bytes, which has all bits that are in use
LAST_OFFSET_DELTA_OFFSET: Final = 23
BASE_TIMESTAMP_OFFSET: Final = 27
MAX_TIMESTAMP_OFFSET: Final = 35
PRODUCER_ID_OFFSET: Final = 43
PRODUCER_EPOCH_OFFSET: Final = 51
BASE_SEQUENCE_OFFSET: Final = 53
RECORD_COUNT_OFFSET: Final = 57
RECORD_BATCH_OVERHEAD: Final = 61
MIN_RECORD_BYTES: Final = 7  # length, attributes, two deltas, two lengths and a header count of one byte each

FRAME: Final = Struct(">qi")
V0_HEADER: Final = Struct(">qiIbB")
V1_HEADER: Final = Struct(">qiIbBq")

# Attribute bits. Only the low byte of a v2 batch's attributes is read.
CODEC_MASK: Final = 0x07
TIMESTAMP_TYPE_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1

MAX_INT32: Final = 0x7FFFFFFF
# What a compressed batch may open to unless the caller says less: Java clients hold it in one array of this length.
MAX_OPENED_BYTES: Final = MAX_INT32


class Codec(IntEnum):
    """Attribute bits 0-2 of a batch."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TimestampType(IntEnum):
    """Who set a record's timestamp. Magic 0 has none."""

    NONE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class ControlType(IntEnum):
    """What a control record says; types above COMMIT appear only in the metadata log."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def next_sequence(sequence: int, increment: int) -> int:
    """Return `sequence` + `increment`, where 0 comes after 2147483647."""
    return (sequence + increment) & MAX_INT32
