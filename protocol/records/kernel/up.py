# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Converts messages up, plain ones and those of a decompressed wrapper."""

from __future__ import annotations

import cython

from .results import ConvertedUp

if not cython.compiled:  # up.pxd has them else
    from ..layout import CODEC_MASK, MAGIC_OFFSET, NO_TIMESTAMP, TIMESTAMP_TYPE_BIT
    from .crc import crc32_over, crc_at, crc_prepare
    from .decompressed_stream import Stream
    from .item import Item
    from .numbers import Sink, add64, copy, put_varint, varint_size
    from .reading import message_size_at, read_message
    from .run_status import BAD_CHECKSUM, BAD_FRAME, BAD_MAGIC, BAD_RECORD, DONE

crc_prepare()

COMPILED: bool = cython.compiled


@cython.final
@cython.cclass
class MessagesUp(Stream):
    """Converts messages of magic `magic`, plain or decompressed, to the records of a v2 batch, numbered from 0.

    `checked`: whether their checksums are verified, as for messages from inside a wrapper. `append_time` replaces the
    timestamps inside a LogAppendTime wrapper. Deltas count from the first timestamp.
    """

    magic: cython.int
    checked: cython.bint
    stamped: cython.bint
    has_append_time: cython.bint
    append_time: cython.longlong
    oldest: cython.longlong
    keyless: cython.bint
    base_timestamp: cython.longlong
    taken: cython.longlong
    given: cython.longlong

    def __init__(self, magic: cython.int, checked: cython.bint, append_time: object) -> None:
        self.magic, self.checked = magic, checked
        self.has_append_time = append_time is not None
        self.append_time = NO_TIMESTAMP if append_time is None else append_time
        self.seen = self.taken = self.given = self.last = 0
        self.oldest = self.newest = self.base_timestamp = NO_TIMESTAMP
        self.keyless = self.stamped = False
        self.item = Item()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take_whole_items(self, item: Item) -> cython.int:
        takes: cython.longlong
        while True:
            takes = message_size_at(self.data, self.at, self.end)
            if takes < 0:
                return BAD_FRAME
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if not read_message(item, self.data, self.at, self.at + takes):
                return BAD_RECORD
            if item.magic != self.magic or item.attributes & CODEC_MASK:
                return BAD_MAGIC
            if self.checked and crc32_over(self.data, self.at + MAGIC_OFFSET, self.at + takes) != crc_at(
                self.data, self.at + 12
            ):
                return BAD_CHECKSUM
            if takes + 32 > self.room - self.written:
                self.wanted = -(takes + 32)
                return DONE
            if item.attributes & TIMESTAMP_TYPE_BIT:
                self.stamped = True
            self.put_record(item)
            self.at += takes
            self.taken += takes
            self.last = item.offset

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_record(self, item: Item) -> cython.void:
        """Write the record of the item. It takes at most what its message took and 32 bytes."""
        sink: Sink = self.sink
        delta: cython.longlong = self.note(item.timestamp, item.key_size < 0)
        size: cython.Py_ssize_t = 2 + varint_size(delta) + varint_size(self.seen)
        size += varint_size(item.key_size) + max(0, item.key_size)
        size += varint_size(item.value_size) + max(0, item.value_size)
        at: cython.Py_ssize_t = put_varint(sink, self.written, size)
        sink[at] = 0
        at = put_varint(sink, at + 1, delta)
        at = put_varint(sink, at, self.seen)
        at = put_varint(sink, at, item.key_size)
        if item.key_size > 0:
            copy(sink, at, self.data, item.key_at, item.key_size)
            at += item.key_size
        at = put_varint(sink, at, item.value_size)
        if item.value_size > 0:
            copy(sink, at, self.data, item.value_at, item.value_size)
            at += item.value_size
        sink[at] = 0
        self.given += at + 1 - self.written
        self.written = at + 1
        self.seen += 1

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def note(self, timestamp: cython.longlong, keyless: cython.bint) -> cython.longlong:
        """Counts in a message; returns its timestamp delta."""
        if self.has_append_time:
            timestamp = self.append_time
        if self.seen == 0:
            self.base_timestamp = timestamp
        if timestamp != NO_TIMESTAMP:
            self.newest = max(self.newest, timestamp)
            self.oldest = timestamp if self.oldest == NO_TIMESTAMP else min(self.oldest, timestamp)
        if keyless:
            self.keyless = True
        return add64(timestamp, -self.base_timestamp)

    def number_large_message(
        self, offset: cython.longlong, timestamp: cython.longlong, keyless: cython.bint, taken: cython.longlong
    ) -> tuple[int, int]:
        """Counts in a message of `taken` bytes whose record the caller writes; returns number and timestamp delta."""
        delta: cython.longlong = self.note(timestamp, keyless)
        self.last = offset
        self.taken += taken
        self.seen += 1
        return self.seen - 1, delta

    def note_written_bytes(self, given: cython.longlong) -> None:
        """Counts in the bytes that the caller wrote for a large message."""
        self.given += given

    def saw_append_time(self) -> bool:
        """Whether a message itself has the LogAppendTime bit."""
        return self.stamped

    def summary(self) -> ConvertedUp:
        """Returns counts, offsets and timestamps of the messages so far."""
        return ConvertedUp(
            self.seen,
            self.last,
            self.base_timestamp,
            self.oldest,
            self.newest,
            self.keyless,
            self.taken,
            self.given,
        )
