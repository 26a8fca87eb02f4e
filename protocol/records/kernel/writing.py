"""Writes messages into a buffer: the readable twin of functions inlined into the compiled loops."""

from __future__ import annotations

from ..layout import LEGACY_CRC_OFFSET, LOG_OVERHEAD, MAGIC_OFFSET, V0_OVERHEAD, V1_OVERHEAD
from .crc import crc32_over
from .item import Item
from .numbers import Sink, Source, copy, get32, put32, put64


def size_as_message(item: Item, magic: int) -> int:
    """Returns the size of a message with the key and value of `item`."""
    return (V1_OVERHEAD if magic == 1 else V0_OVERHEAD) + max(0, item.key_size) + max(0, item.value_size)


def write_message(
    item: Item,
    data: Source,
    sink: Sink,
    at: int,
    size: int,
    magic: int,
    attributes: int,
    offset: int,
    timestamp: int,
) -> None:
    """Writes the key and value of `item` as a message of `size` bytes at `at`; `put_checksums` adds its checksum."""
    put64(sink, at, offset)
    put32(sink, at + 8, size - LOG_OVERHEAD)
    sink[at + MAGIC_OFFSET] = magic
    sink[at + MAGIC_OFFSET + 1] = attributes
    at += MAGIC_OFFSET + 2
    if magic == 1:
        put64(sink, at, timestamp)
        at += 8
    for part_at, part_size in ((item.key_at, item.key_size), (item.value_at, item.value_size)):
        put32(sink, at, part_size)
        copy(sink, at + 4, data, part_at, max(0, part_size))
        at += 4 + max(0, part_size)


def put_checksums(sink: Sink, at: int, end: int) -> None:
    """Writes the checksums of the messages from `at` to `end`.

    This is done for a whole batch at once: reading bytes that were written just before makes the processor wait until
    they have reached its cache, which is a third of the time with records of 100 bytes.
    """
    while at < end:
        next_at = at + LOG_OVERHEAD + get32(sink, at + 8)
        put32(sink, at + LEGACY_CRC_OFFSET, crc32_over(sink, at + MAGIC_OFFSET, next_at))
        at = next_at
