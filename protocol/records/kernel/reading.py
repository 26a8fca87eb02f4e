"""Reads records, messages and batches: the readable twin of functions inlined into the compiled loops.

No length is trusted: a position never passes the end of its record, message or batch.
"""

from __future__ import annotations

from ..layout import (
    LEGACY_ATTRIBUTES_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    SIZE_OFFSET,
    V0_OVERHEAD,
    V1_OVERHEAD,
    V1_TIMESTAMP_OFFSET,
)
from .item import Item
from .numbers import Source, get32, get64, varint, varlong

_VARINT_BYTES = 5
_OVERHEAD = (V0_OVERHEAD, V1_OVERHEAD, RECORD_BATCH_OVERHEAD)


def skip_headers(data: Source, at: int, end: int, count: int) -> int:
    """Returns the position after `count` headers of a record; end + 1 when they are broken."""
    if not 0 <= count <= end - at:
        return end + 1
    for _ in range(count):
        key_size, at = varint(data, at, end)
        if not 0 <= key_size <= end - at:
            return end + 1
        value_size, at = varint(data, at + key_size, end)
        if value_size > 0:
            at += value_size
        if at > end:
            return end + 1
    return at


def read_record(item: Item, data: Source, at: int, limit: int) -> int:
    """Reads the v2 record at `at`, which must end by `limit`; returns the position after it, -1 when it is broken."""
    size, at = varint(data, at, limit)
    if not 0 < size <= limit - at:
        return -1
    end = at + size
    item.timestamp, at = varlong(data, at + 1, end)
    item.offset, at = varint(data, at, end)
    size, item.key_at = varint(data, at, end)
    item.key_size = max(size, -1)
    at = item.key_at + max(size, 0)
    if at > end:
        return -1
    size, item.value_at = varint(data, at, end)
    item.value_size = max(size, -1)
    at = item.value_at + max(size, 0)
    if at > end:
        return -1
    item.header_count, item.headers_at = varint(data, at, end)
    at = skip_headers(data, item.headers_at, end, item.header_count) if item.header_count else item.headers_at
    return at if at == end else -1


def read_message(item: Item, data: Source, at: int, end: int) -> bool:
    """Reads the v0 or v1 message from `at` to `end`; returns False when it is broken."""
    item.offset = get64(data, at)
    item.magic = data[at + MAGIC_OFFSET]
    item.attributes = data[at + LEGACY_ATTRIBUTES_OFFSET]
    item.timestamp = NO_TIMESTAMP
    if item.magic > 1 or end - at < _OVERHEAD[item.magic]:
        return False
    if item.magic == 1:
        item.timestamp = get64(data, at + V1_TIMESTAMP_OFFSET)
    at += _OVERHEAD[item.magic] - 8
    size = get32(data, at)
    item.key_at, item.key_size = at + 4, max(size, -1)
    at = item.key_at + max(size, 0)
    if at + 4 > end:
        return False
    size = get32(data, at)
    item.value_at, item.value_size = at + 4, max(size, -1)
    return size <= end - item.value_at


def record_size_at(data: Source, at: int, end: int) -> int:
    """Returns the size of the record at `at`; 0 if its length field is not whole, -1 if that is wrong."""
    size, after = varint(data, at, end)
    if after > end:
        return -1 if end - at >= _VARINT_BYTES else 0
    return size + after - at if size > 0 else -1


def message_size_at(data: Source, at: int, end: int) -> int:
    """Returns the size of the message at `at`; 0 if its frame is not whole, -1 if its size is too small."""
    if end - at < LOG_OVERHEAD:
        return 0
    size = get32(data, at + SIZE_OFFSET) + LOG_OVERHEAD
    return -1 if size < V0_OVERHEAD else size


def batch_end(data: Source, at: int, end: int) -> int:
    """Returns where the batch at `at` ends; 0 if it is not whole, -1 if its frame is wrong."""
    size = message_size_at(data, at, end)
    if size <= 0:
        return size
    if end - at <= MAGIC_OFFSET:
        return 0
    magic = data[at + MAGIC_OFFSET]
    if magic > 2:
        return -1
    if size > end - at:
        return 0
    return -1 if size < _OVERHEAD[magic] else at + size
