"""What stands in front of the records of a v2 batch.

`protocol/records/layout.py` shows the batch, `growing_batch.py` encodes the records.
"""

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
    TRANSACTIONAL_BIT,
    Codec,
)

_CRC: Final = Struct(">I")


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
