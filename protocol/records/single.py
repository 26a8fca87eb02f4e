"""A compressed v2 batch of ordinary size as one wrapper of magic 0 or 1, each step in one piece.

Most batches open to less than `SINGLE_BYTES`: for those, objects for streams (`convert.py`) cost more than the codecs.
What comes out is the same.
"""

import threading
from typing import Final

from . import kernel
from .compression import read_single, write_single
from .layout import (
    BATCH_HEADER,
    CODEC_MASK,
    LEGACY_CRC_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V0,
    MAGIC_V1,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    RECORD_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    V0_HEADER,
    V1_HEADER,
    Codec,
)

SINGLE_BYTES: Final = 128 * 1024
NO_FIRST_OFFSET: Final = -(1 << 63)

_CRC_FROM = 21
_NULL = b"\xff\xff\xff\xff"


class _Kept(threading.local):
    """A thread's buffers: fresh ones cost more in page faults than the conversion."""

    def __init__(self) -> None:
        self.messages = bytearray(2 * SINGLE_BYTES)
        self.wrapper = bytearray(2 * SINGLE_BYTES)


_kept = _Kept()


def convert_single(batch: memoryview, target: int, out: bytearray, at: int) -> tuple[int, int, int] | None:
    """Write one whole compressed batch as a wrapper of magic `target` into `out` from `at` on.

    Returns: the position behind it, its records, temporary bytes (what Kafka counts so). None when the batch is not
    of that kind, `out` has not room for sure, or the batch is damaged: `convert_compressed` then has to see to it.

    Raises: CorruptRecord, InvalidRecord.
    """
    if len(batch) > SINGLE_BYTES or batch[MAGIC_OFFSET] != MAGIC_V2:
        return None
    fields = BATCH_HEADER.unpack_from(batch)
    base_offset, crc, attributes, base_timestamp, max_timestamp = fields[0], *fields[4:6], *fields[7:9]
    codec = attributes & CODEC_MASK
    if codec not in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4) or kernel.crc32c(batch[_CRC_FROM:]) != crc:
        return None
    opened = read_single(codec, batch[RECORD_BATCH_OVERHEAD:], max_bytes=SINGLE_BYTES)
    if opened is None:
        return None
    marked = attributes & TIMESTAMP_TYPE_BIT
    down = kernel.RecordsDown(
        target,
        fields[12],
        base_offset,
        base_timestamp,
        max_timestamp if marked else None,
        target == MAGIC_V1,
        NO_FIRST_OFFSET,
    )
    messages = _kept.messages
    _, written, wanted = down.feed(opened, 0, messages)
    if wanted < 0:
        return None
    kept, last, newest = down.finish()
    if not kept:
        return at, 0, 0
    overhead = LOG_OVERHEAD + RECORD_OVERHEAD[target]
    end = write_single(codec, memoryview(messages)[:written], out, at + overhead, magic=target)
    if end < 0:
        return None
    write_head(out, at, end, target, codec | marked, last, newest)
    return end, kept, len(batch) + written + overhead


def single_wrapper(batch: memoryview, target: int) -> tuple[bytearray, int, int] | None:
    """Return the wrapper by itself, its records, temporary bytes; or None, as `convert_single` does."""
    wrapper = _kept.wrapper
    converted = convert_single(batch, target, wrapper, 0)
    return None if converted is None else (wrapper[: converted[0]], *converted[1:])


def write_head(
    out: bytearray, at: int, end: int, magic: int, attributes: int, last_offset: int, timestamp: int
) -> None:
    """Write the head of the wrapper that takes `out` from `at` to `end`, its value behind the head already there."""
    size = end - at - LOG_OVERHEAD
    if magic == MAGIC_V0:
        V0_HEADER.pack_into(out, at, last_offset, size, 0, magic, attributes & CODEC_MASK)
        value_at = at + V0_HEADER.size + 8
    else:
        V1_HEADER.pack_into(out, at, last_offset, size, 0, magic, attributes, timestamp)
        value_at = at + V1_HEADER.size + 8
    out[value_at - 8 : value_at] = _NULL + (end - value_at).to_bytes(4, "big")
    crc = kernel.crc32(memoryview(out)[at + MAGIC_OFFSET : end])
    out[at + LEGACY_CRC_OFFSET : at + LEGACY_CRC_OFFSET + 4] = crc.to_bytes(4, "big")
