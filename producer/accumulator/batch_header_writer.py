"""Writes the header of a v2 batch; `protocol/records/v2_header.py` has its layout."""

from ...protocol.records import v2_header
from ...protocol.records.layout import RECORD_BATCH_OVERHEAD, TRANSACTIONAL_BIT, Codec


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
    """Fills in the first 61 bytes of a batch of `count` records, compressed or not; its base offset is 0."""
    batch[:RECORD_BATCH_OVERHEAD] = v2_header.write_header(
        memoryview(batch)[RECORD_BATCH_OVERHEAD:],
        attributes=codec | (TRANSACTIONAL_BIT if transactional else 0),
        last_offset_delta=count - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=count,
    )
