"""The headers of the batches in a segment file, read without their records.

The rules are those for files (Kafka 3.9 `FileLogInputStream`): a tail of 17 bytes or fewer ends the file, as does a
batch that does not fit; a size below 14 is corruption. Magic 2 and above is read as a v2 batch. Layouts:
`protocol/records/layout.py`.
"""

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ..protocol.errors import CorruptRecord
from ..protocol.records.kernel import crc32c
from .file_handle import Buffer, FileHandle

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

WINDOW_BYTES = 8192
LARGE_BATCH_BYTES = 1024  # from here on reading the header alone costs less than reading on
SCAN_WINDOW_BYTES = 1 << 20


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


def batch_headers(file: FileHandle, start: int, end: int) -> Iterator[BatchHeader]:
    """The headers of the whole batches between the positions `start` and `end` (open), one after the other.

    Raises: CorruptRecord at a batch that is smaller than any can be; DiskFault.
    """
    position = start
    data = b""
    at = 0  # of `position` in `data`
    while position < end - HEADER_BYTES_TO_MAGIC:
        if at + V2_HEADER_BYTES > len(data):
            data = _read(file, min(WINDOW_BYTES, end - position), position)
            at = 0
        size = FRAME.unpack_from(data, at)[1]
        if size < MIN_BATCH_BYTES:
            raise CorruptRecord(f"{file.path}: a batch at position {position} has the size {size}")
        if position > end - LOG_OVERHEAD - size:
            return
        yield parse_header(data, at, position)
        at += size + LOG_OVERHEAD
        position += size + LOG_OVERHEAD


def find_batch(file: FileHandle, offset: int, start: int, end: int) -> tuple[int, int] | None:
    """Position and size of the first whole batch from `start` on whose last offset is not below `offset`.

    It reads less of each header than `batch_headers`, and headers alone where batches are large: it runs for every
    fetch.

    Raises: CorruptRecord, DiskFault.
    """
    position = start
    data = b""
    at = size = LARGE_BATCH_BYTES  # of `position` in `data`; of the batch before
    while position < end - HEADER_BYTES_TO_MAGIC:
        if at + V2_HEADER_BYTES > len(data):
            window = V2_HEADER_BYTES if size >= LARGE_BATCH_BYTES else WINDOW_BYTES // 2
            data = _read(file, min(window, end - position), position)
            at = 0
        last_offset, size = FRAME.unpack_from(data, at)
        if size < MIN_BATCH_BYTES:
            raise CorruptRecord(f"{file.path}: a batch at position {position} has the size {size}")
        size += LOG_OVERHEAD
        if position + size > end:
            return None
        if data[at + MAGIC_AT] >= 2:
            if size < V2_HEADER_BYTES:
                raise CorruptRecord(f"{file.path}: a v2 batch at position {position} has {size} bytes")
            last_offset += LAST_OFFSET_DELTA.unpack_from(data, at + LAST_OFFSET_DELTA_AT)[0]
        if last_offset >= offset:
            return position, size
        at += size
        position += size
    return None


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


def valid_batches(file: FileHandle, start: int, end: int) -> Iterator[BatchHeader]:
    """The headers of the whole batches from `start` on whose checksums are right.

    Raises: CorruptRecord at the first that is not; DiskFault.
    """
    position = start
    data = memoryview(b"")
    at = 0  # of `position` in `data`
    while position < end - HEADER_BYTES_TO_MAGIC:
        left = len(data) - at
        if left < V2_HEADER_BYTES or left < FRAME.unpack_from(data, at)[1] + LOG_OVERHEAD:
            data = memoryview(_read(file, min(SCAN_WINDOW_BYTES, end - position), position))
            at = 0
        size = FRAME.unpack_from(data, at)[1]
        if size < MIN_BATCH_BYTES:
            raise CorruptRecord(f"{file.path}: a batch at position {position} has the size {size}")
        size += LOG_OVERHEAD
        if position + size > end:
            return
        header = parse_header(data, at, position)
        if at + size <= len(data):
            checksum = _checksum(header.magic, data[at + _crc_from(header.magic) : at + size])
        else:
            checksum = _checksum_in_parts(file, header)
        if checksum != header.crc or header.magic > 2:
            raise CorruptRecord(
                f"{file.path}: the batch at {position} (magic {header.magic}, offset {header.base_offset}) has "
                f"the checksum {checksum:08x}, its header says {header.crc:08x}"
            )
        yield header
        at += size
        position += size


def _read(file: FileHandle, size: int, position: int) -> bytes:
    data = file.read(size, position)
    if len(data) < size:
        raise CorruptRecord(f"{file.path}: ends at byte {position + len(data)}, at least {position + size} expected")
    return data


def _crc_from(magic: int) -> int:
    return LEGACY_CRC_FROM if magic < 2 else V2_CRC_FROM


def _checksum(magic: int, data: Buffer, before: int = 0) -> int:
    return zlib.crc32(data, before) if magic < 2 else crc32c(data, before)


def _checksum_in_parts(file: FileHandle, header: BatchHeader) -> int:
    checksum = 0
    position = header.position + _crc_from(header.magic)
    while position < header.end:
        part = _read(file, min(SCAN_WINDOW_BYTES, header.end - position), position)
        checksum = _checksum(header.magic, part, checksum)
        position += len(part)
    return checksum
