"""Walks over the batches of any magic in memory (`layout.py` shows the frame they share).

Fewer than 12 bytes left end the data. A size below 14 or above the reader's maximum is corrupt, before completeness is
looked at. Fewer than 17 bytes left, or an entry that is not there whole, end the data. A magic below 0 or above 2 is
corrupt. Source: Kafka 3.9, ByteBufferLogInputStream.
"""

from collections.abc import Iterator

from ..errors import CorruptRecord
from .batch import RecordBatch
from .layout import (
    FRAME,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    MIN_SIZE,
)
from .legacy_batch import LegacyBatch
from .record import Buffer

Batch = RecordBatch | LegacyBatch


def view_batch(data: Buffer) -> Batch:
    """Return the view over the one batch that `data` is. Raises: CorruptRecord when it is not exactly one."""
    if len(data) < HEADER_SIZE_UP_TO_MAGIC:
        raise CorruptRecord(f"a batch of {len(data)} bytes")
    data = memoryview(data)
    return RecordBatch(data) if data[MAGIC_OFFSET] == MAGIC_V2 else LegacyBatch(data)


def next_batch_size(data: Buffer, at: int = 0, max_bytes: int | None = None) -> int | None:
    """Return the whole size of the batch at `at`, frame included, or None when no whole one is there.

    Raises: CorruptRecord for a size below 14 or above `max_bytes`, or an unknown magic.
    """
    left = len(data) - at
    if left < LOG_OVERHEAD:
        return None
    offset, size = FRAME.unpack_from(data, at)
    if size < MIN_SIZE:
        raise CorruptRecord(f"the batch at offset {offset} says {size} bytes, below the smallest of {MIN_SIZE}")
    if max_bytes is not None and size > max_bytes:
        raise CorruptRecord(f"the batch at offset {offset} says {size} bytes, above the limit of {max_bytes}")
    if left < HEADER_SIZE_UP_TO_MAGIC:
        return None
    if data[at + MAGIC_OFFSET] > MAGIC_V2:
        raise CorruptRecord(f"the batch at offset {offset} has magic {data[at + MAGIC_OFFSET]}")
    return None if left < size + LOG_OVERHEAD else int(size) + LOG_OVERHEAD


def iter_batches(data: Buffer, max_bytes: int | None = None) -> Iterator[Batch]:
    """Yield a view over each whole batch; a part of one at the end is ignored.

    Raises: CorruptRecord where a frame is wrong, once the batches before it are out.
    """
    data = memoryview(data)
    at = 0
    while (size := next_batch_size(data, at, max_bytes)) is not None:
        yield view_batch(data[at : at + size])
        at += size
