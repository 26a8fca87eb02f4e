"""The header of a batch of any magic, read without its records (`layout.py` has the layouts)."""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ..errors import CorruptRecord
from .record import Buffer

V2_HEADER = Struct(">qiiBIhiqqqhii")
FRAME = Struct(">qi")
LEGACY_HEADER = Struct(">qiIBb")
TIMESTAMP = Struct(">q")
LAST_OFFSET_DELTA = Struct(">i")

LOG_OVERHEAD = 12
MIN_BATCH_BYTES = 14
HEADER_BYTES_TO_MAGIC = 17
MAGIC_AT = 16
LEGACY_CRC_FROM = 16
V1_TIMESTAMP_AT = 18
LAST_OFFSET_DELTA_AT = 23
MIN_V0_BYTES = 26
MIN_V1_BYTES = 34
V2_CRC_FROM = 21
V2_HEADER_BYTES = 61

TRANSACTIONAL = 0x10
CONTROL = 0x20
CODEC_MASK = 0x07


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
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & CONTROL)

    @property
    def end(self) -> int:
        """The position of the next batch."""
        return self.position + self.size_bytes


def parse_header(data: Buffer, at: int, position: int) -> BatchHeader:
    """The header at `at` of `data`, of a batch that begins at `position` of its file.

    Raises: CorruptRecord when the batch is too small for its magic.
    """
    size_bytes = FRAME.unpack_from(data, at)[1] + LOG_OVERHEAD
    magic = data[at + MAGIC_AT]
    smallest = MIN_V0_BYTES if magic == 0 else MIN_V1_BYTES if magic == 1 else V2_HEADER_BYTES
    if size_bytes < smallest:
        raise CorruptRecord(
            f"a batch of magic {magic} at position {position} has {size_bytes} bytes, {smallest} at least expected"
        )
    if magic < 2:
        return _legacy_header(data, at, position)
    (
        base_offset, _, leader_epoch, magic, crc, attributes, last_delta, _, max_timestamp,
        producer_id, producer_epoch, base_sequence, record_count,
    ) = V2_HEADER.unpack_from(data, at)  # fmt: skip
    return BatchHeader(
        position, size_bytes, magic, base_offset, base_offset + last_delta, max_timestamp, leader_epoch, crc,
        attributes, producer_id, producer_epoch, base_sequence, record_count,
    )  # fmt: skip


def _legacy_header(data: Buffer, at: int, position: int) -> BatchHeader:
    offset, size, crc, magic, attributes = LEGACY_HEADER.unpack_from(data, at)
    timestamp = TIMESTAMP.unpack_from(data, at + V1_TIMESTAMP_AT)[0] if magic == 1 else -1
    count = 1 if attributes & CODEC_MASK == 0 else -1
    return BatchHeader(
        position, size + LOG_OVERHEAD, magic, offset, offset, timestamp, -1, crc, attributes, -1, -1, -1, count
    )


def headers_in(data: Buffer) -> Iterator[BatchHeader]:
    """The headers of the whole batches in memory; positions count from the start of `data`.

    Raises: CorruptRecord at a batch that is smaller than any can be, or of an unknown magic.
    """
    at = 0
    while len(data) - at >= HEADER_BYTES_TO_MAGIC:
        size = FRAME.unpack_from(data, at)[1]
        if size < MIN_BATCH_BYTES or data[at + MAGIC_AT] > 2:
            raise CorruptRecord(f"a batch of the size {size} and the magic {data[at + MAGIC_AT]} at byte {at}")
        if size + LOG_OVERHEAD > len(data) - at:
            return
        yield parse_header(data, at, at)
        at += size + LOG_OVERHEAD
