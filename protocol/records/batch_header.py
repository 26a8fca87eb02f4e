"""The header of a batch of any magic, read without its records (`layout.py` has the layouts)."""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ..errors import CorruptRecord
from .layout import (
    CODEC_MASK,
    CONTROL_BIT,
    FRAME,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MIN_SIZE,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_BIT,
    V0_OVERHEAD,
    V1_OVERHEAD,
    V1_TIMESTAMP_OFFSET,
)
from .record import Buffer
from .v2_header import read_header

SMALLEST_BATCHES = (V0_OVERHEAD, V1_OVERHEAD, RECORD_BATCH_OVERHEAD)
"""The size of the smallest batch, by magic."""
_LEGACY_HEADER = Struct(">qiIBb")
_TIMESTAMP = Struct(">q")


class BatchHeader(NamedTuple):
    """One batch in a file: where it is and what its header says; -1 for what its magic does not have.

    `base_offset` of a compressed v0 or v1 wrapper is its last offset, as its first costs a decompression.
    """

    position: int
    size_bytes: int
    magic: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    crc: int
    attributes: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def is_transactional(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & CONTROL_BIT)

    @property
    def end(self) -> int:
        """The position of the next batch."""
        return self.position + self.size_bytes


def parse_batch_header(data: Buffer, at: int, position: int) -> BatchHeader:
    """The header at `at` of `data`, of a batch that begins at `position` of its file.

    Raises: CorruptRecord when the batch is too small for its magic.
    """
    size_bytes = FRAME.unpack_from(data, at)[1] + LOG_OVERHEAD
    magic = data[at + MAGIC_OFFSET]
    smallest = SMALLEST_BATCHES[min(magic, 2)]
    if size_bytes < smallest:
        raise CorruptRecord(
            f"a batch of magic {magic} at position {position} has {size_bytes} bytes, {smallest} at least expected"
        )
    if magic < 2:
        return _legacy_header(data, at, position)
    head = read_header(data, at)
    return BatchHeader(
        position, size_bytes, magic, head.base_offset, head.base_offset + head.last_offset_delta, head.max_timestamp,
        head.leader_epoch, head.crc, head.attributes, head.producer_id, head.producer_epoch, head.base_sequence,
        head.record_count,
    )  # fmt: skip


def _legacy_header(data: Buffer, at: int, position: int) -> BatchHeader:
    offset, size, crc, magic, attributes = _LEGACY_HEADER.unpack_from(data, at)
    timestamp = _TIMESTAMP.unpack_from(data, at + V1_TIMESTAMP_OFFSET)[0] if magic == 1 else -1
    count = 1 if attributes & CODEC_MASK == 0 else -1
    return BatchHeader(
        position, size + LOG_OVERHEAD, magic, offset, offset, timestamp, -1, crc, attributes, -1, -1, -1, count
    )


def batch_headers_in(data: Buffer) -> Iterator[BatchHeader]:
    """The headers of the whole batches in memory; positions count from the start of `data`.

    Raises: CorruptRecord at a batch that is smaller than any can be, or of an unknown magic.
    """
    at = 0
    while len(data) - at >= HEADER_SIZE_UP_TO_MAGIC:
        size = FRAME.unpack_from(data, at)[1]
        if size < MIN_SIZE or data[at + MAGIC_OFFSET] > 2:
            raise CorruptRecord(f"a batch of the size {size} and the magic {data[at + MAGIC_OFFSET]} at byte {at}")
        if size + LOG_OVERHEAD > len(data) - at:
            return
        yield parse_batch_header(data, at, at)
        at += size + LOG_OVERHEAD
