"""Finds the batches of a segment file by their headers, without reading records.

It follows Kafka 3.9 `FileLogInputStream`: a tail of 17 bytes or fewer ends the file, and so does a batch that does not
fit; a size below 14 is corruption. Magic 2 and above is read as a v2 batch.
"""

import zlib
from collections.abc import Iterator
from struct import Struct

from ...protocol.errors import CorruptRecord
from ...protocol.records.batch_header import BatchHeader, parse_batch_header
from ...protocol.records.kernel import crc32c
from ...protocol.records.layout import (
    ATTRIBUTES_OFFSET,
    FRAME,
    HEADER_SIZE_UP_TO_MAGIC,
    LAST_OFFSET_DELTA_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MIN_SIZE,
    RECORD_BATCH_OVERHEAD,
)
from ..files.file_handle import Buffer, ReadableFile

WINDOW_BYTES = 8192
LARGE_BATCH_BYTES = 1024  # from this size on, reading each header alone costs less than reading everything
SCAN_WINDOW_BYTES = 1 << 20
_DELTA = Struct(">i")


def batch_headers(file: ReadableFile, start: int, end: int) -> Iterator[BatchHeader]:
    """The headers of the whole batches between the positions `start` and `end` (exclusive).

    Raises: CorruptRecord at a batch that is smaller than any can be; DiskFault.
    """
    position = start
    data = b""
    at = 0  # of `position` in `data`
    while position < end - HEADER_SIZE_UP_TO_MAGIC:
        if at + RECORD_BATCH_OVERHEAD > len(data):
            data = _read_exactly(file, min(WINDOW_BYTES, end - position), position)
            at = 0
        size = FRAME.unpack_from(data, at)[1]
        if size < MIN_SIZE:
            raise CorruptRecord(f"{file.path}: a batch at position {position} has the size {size}")
        if position > end - LOG_OVERHEAD - size:
            return
        yield parse_batch_header(data, at, position)
        at += size + LOG_OVERHEAD
        position += size + LOG_OVERHEAD


def find_batch(file: ReadableFile, offset: int, start: int, end: int) -> tuple[int, int] | None:
    """Position and size of the first whole batch from `start` on whose last offset is at or above `offset`.

    A `start` other than 0 comes from an index: if the batch there begins after `offset`, the index is wrong.

    It runs for every fetch, so it parses less of each header than `batch_headers`, and reads only headers where batches
    are large.

    Raises: CorruptRecord, DiskFault.
    """
    position = start
    data = b""
    at = size = LARGE_BATCH_BYTES  # of `position` in `data`; of the batch before
    while position < end - HEADER_SIZE_UP_TO_MAGIC:
        if at + RECORD_BATCH_OVERHEAD > len(data):
            window = RECORD_BATCH_OVERHEAD if size >= LARGE_BATCH_BYTES else WINDOW_BYTES // 2
            data = _read_exactly(file, min(window, end - position), position)
            at = 0
        last_offset, size = FRAME.unpack_from(data, at)
        if size < MIN_SIZE:
            raise CorruptRecord(f"{file.path}: a batch at position {position} has the size {size}")
        if last_offset > offset and position == start > 0:
            raise CorruptRecord(f"{file.path}: the batch at position {position} begins behind offset {offset}")
        size += LOG_OVERHEAD
        if position + size > end:
            return None
        if data[at + MAGIC_OFFSET] >= 2:
            if size < RECORD_BATCH_OVERHEAD:
                raise CorruptRecord(f"{file.path}: a v2 batch at position {position} has {size} bytes")
            last_offset += _DELTA.unpack_from(data, at + LAST_OFFSET_DELTA_OFFSET)[0]
        if last_offset >= offset:
            return position, size
        at += size
        position += size
    return None


def valid_batch_headers(file: ReadableFile, start: int, end: int) -> Iterator[BatchHeader]:
    """The headers of the whole batches from `start` on, after checking their checksums.

    Raises: CorruptRecord at the first batch whose checksum is wrong; DiskFault.
    """
    position = start
    data = memoryview(b"")
    at = 0  # of `position` in `data`
    while position < end - HEADER_SIZE_UP_TO_MAGIC:
        left = len(data) - at
        if left < RECORD_BATCH_OVERHEAD or left < FRAME.unpack_from(data, at)[1] + LOG_OVERHEAD:
            data = memoryview(_read_exactly(file, min(SCAN_WINDOW_BYTES, end - position), position))
            at = 0
        size = FRAME.unpack_from(data, at)[1]
        if size < MIN_SIZE:
            raise CorruptRecord(f"{file.path}: a batch at position {position} has the size {size}")
        size += LOG_OVERHEAD
        if position + size > end:
            return
        header = parse_batch_header(data, at, position)
        if at + size <= len(data):
            checksum = _checksum(header.magic, data[at + _crc_start(header.magic) : at + size])
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


def _read_exactly(file: ReadableFile, size: int, position: int) -> bytes:
    data = file.read(size, position)
    if len(data) < size:
        raise CorruptRecord(f"{file.path}: ends at byte {position + len(data)}, at least {position + size} expected")
    return data


def _crc_start(magic: int) -> int:
    return MAGIC_OFFSET if magic < 2 else ATTRIBUTES_OFFSET


def _checksum(magic: int, data: Buffer, before: int = 0) -> int:
    return zlib.crc32(data, before) if magic < 2 else crc32c(data, before)


def _checksum_in_parts(file: ReadableFile, header: BatchHeader) -> int:
    checksum = 0
    position = header.position + _crc_start(header.magic)
    while position < header.end:
        part = _read_exactly(file, min(SCAN_WINDOW_BYTES, header.end - position), position)
        checksum = _checksum(header.magic, part, checksum)
        position += len(part)
    return checksum
