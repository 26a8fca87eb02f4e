# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Converts decompressed streams down: the records of a batch, or the messages of a wrapper."""

from __future__ import annotations

import cython

from .run_status import fault

if not cython.compiled:  # down.pxd has them else
    from ..layout import (
        ATTRIBUTES_OFFSET,
        BASE_TIMESTAMP_OFFSET,
        CODEC_MASK,
        CONTROL_BIT,
        CRC_OFFSET,
        LEGACY_ATTRIBUTES_OFFSET,
        LEGACY_CRC_OFFSET,
        LOG_OVERHEAD,
        MAGIC_OFFSET,
        MAX_INT32,
        MAX_TIMESTAMP_OFFSET,
        NO_TIMESTAMP,
        RECORD_COUNT_OFFSET,
        TIMESTAMP_TYPE_BIT,
        V0_OVERHEAD,
        V1_OVERHEAD,
        V1_TIMESTAMP_OFFSET,
    )
    from .buffer_pointers import sink_of
    from .crc import crc32_over, crc32c_over, crc_at, crc_prepare
    from .decompressed_stream import Stream
    from .item import Item
    from .numbers import Sink, Source, add64, get32, get64, put32, put64
    from .reading import message_size_at, read_message, read_record, record_size_at
    from .run_status import BAD_COUNT, BAD_FRAME, BAD_MAGIC, BAD_ORDER, BAD_RECORD, BAD_TIMESTAMP, DONE
    from .writing import put_checksums, size_as_message, write_message

crc_prepare()

COMPILED: bool = cython.compiled


class MessageStream(Stream):
    """A stream that becomes messages; their checksums are written after each piece of the stream."""

    def write_without_checksums(self, item: Item) -> cython.int:
        """Writes all whole messages without their checksums; returns a run status."""
        return DONE

    def take_whole_items(self, item: Item) -> cython.int:
        start: cython.Py_ssize_t = self.written
        status: cython.int = self.write_without_checksums(item)
        put_checksums(self.sink, start, self.written)
        return status


class RecordsDown(MessageStream):
    """Converts the decompressed records of a v2 batch to messages of magic 0 or 1.

    `relative`: offsets count from the first record, as inside a wrapper of magic 1. Records before `first_offset` are
    left out. `append_time` replaces the timestamps of a LogAppendTime batch.
    """

    def __init__(
        self,
        target: cython.int,
        count: cython.longlong,
        base_offset: cython.longlong,
        base_timestamp: cython.longlong,
        append_time: object,
        relative: cython.bint,
        first_offset: cython.longlong,
    ) -> None:
        self.target, self.count, self.relative = target, count, relative
        self.base_offset, self.base_timestamp, self.first_offset = base_offset, base_timestamp, first_offset
        self.attributes = 0 if append_time is None else TIMESTAMP_TYPE_BIT
        self.append_time = NO_TIMESTAMP if append_time is None else append_time
        self.seen = self.kept = self.first = 0
        self.last = base_offset
        self.newest = NO_TIMESTAMP
        self.item = Item()

    def begin(self, data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Prepares for the records of the compressed v2 batch from `at` to `end`, bounds that the caller has checked.

        Returns: codec and timestamp type as attributes of a message; 0 for a batch that is not compressed, is a control
        batch, or is damaged.
        """
        attributes: cython.int = data[at + ATTRIBUTES_OFFSET + 1]
        self.count = get32(data, at + RECORD_COUNT_OFFSET)
        if attributes & CONTROL_BIT or not attributes & CODEC_MASK or self.count < 0:
            return 0
        if crc32c_over(data, at + ATTRIBUTES_OFFSET, end) != crc_at(data, at + CRC_OFFSET):
            return 0
        self.attributes = attributes & TIMESTAMP_TYPE_BIT
        self.base_offset, self.base_timestamp = get64(data, at), get64(data, at + BASE_TIMESTAMP_OFFSET)
        self.append_time = get64(data, at + MAX_TIMESTAMP_OFFSET) if self.attributes else NO_TIMESTAMP
        self.seen = self.kept = self.first = 0
        self.last, self.newest = self.base_offset, NO_TIMESTAMP
        return attributes & (CODEC_MASK | TIMESTAMP_TYPE_BIT)

    def admit(self, delta: cython.longlong, timestamp: cython.longlong) -> cython.int:
        """Checks the offset and timestamp of the next record and counts it; returns a run status."""
        offset: cython.longlong = add64(self.base_offset, delta)
        if timestamp < NO_TIMESTAMP:
            return BAD_TIMESTAMP
        if self.kept == 0:
            self.first = offset
        elif offset <= self.last or add64(offset, -self.first) > MAX_INT32:
            return BAD_ORDER
        self.last = offset
        self.kept += 1
        if timestamp > self.newest:
            self.newest = timestamp
        return DONE

    def write_without_checksums(self, item: Item) -> cython.int:
        timestamp: cython.longlong
        takes: cython.longlong
        size: cython.Py_ssize_t
        status: cython.int
        while self.seen < self.count:
            takes = record_size_at(self.data, self.at, self.end)
            if takes < 0:
                return BAD_RECORD
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if read_record(item, self.data, self.at, self.end) < 0:
                return BAD_RECORD
            if add64(self.base_offset, item.offset) >= self.first_offset:
                size = size_as_message(item, self.target)
                if size > self.room - self.written:
                    self.wanted = -size
                    return DONE
                timestamp = self.append_time if self.attributes else add64(self.base_timestamp, item.timestamp)
                status = self.admit(item.offset, timestamp)
                if status != DONE:
                    return status
                write_message(
                    item,
                    self.data,
                    self.sink,
                    self.written,
                    size,
                    self.target,
                    self.attributes if self.target else 0,
                    add64(self.last, -self.first) if self.relative else self.last,
                    timestamp,
                )
                self.written += size
            self.seen += 1
            self.at += takes
        return DONE if self.at == self.end else BAD_COUNT

    def admit_large_record(
        self, delta: cython.longlong, timestamp_delta: cython.longlong
    ) -> tuple[int, int, int] | None:
        """Checks and counts a record that the caller writes; returns the offset, timestamp and attributes to write.

        Returns None if the record lies before the first offset. Raises: InvalidRecord.
        """
        timestamp: cython.longlong = (
            self.append_time if self.attributes else add64(self.base_timestamp, timestamp_delta)
        )
        status: cython.int
        self.seen += 1
        if add64(self.base_offset, delta) < self.first_offset:
            return None
        status = self.admit(delta, timestamp)
        if status != DONE:
            raise fault(status, self.last)
        offset: cython.longlong = add64(self.last, -self.first) if self.relative else self.last
        return offset, timestamp, self.attributes if self.target else 0

    def check_and_summarize(self) -> tuple[int, int, int]:
        """Returns how many records were kept, the last one's offset, and the newest timestamp or the append time.

        Raises: InvalidRecord when records are missing.
        """
        if self.seen != self.count:
            raise fault(BAD_COUNT, self.base_offset)
        return self.kept, self.last, self.append_time if self.attributes else self.newest


@cython.final
@cython.cclass
class MessagesDown(MessageStream):
    """Converts the messages of a decompressed wrapper to magic 0; `base` is added to their offsets.

    Without `write` nothing is written: a first pass finds the last inner offset, from which `base` is computed.
    """

    base: cython.longlong
    write: cython.bint

    def __init__(self, base: cython.longlong, write: cython.bint) -> None:
        self.base, self.write = base, write
        self.seen = self.last = 0
        self.item = Item()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def write_without_checksums(self, item: Item) -> cython.int:
        takes: cython.longlong
        size: cython.Py_ssize_t
        status: cython.int
        offset: cython.longlong
        while True:
            takes = message_size_at(self.data, self.at, self.end)
            if takes < 0:
                return BAD_FRAME
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if not read_message(item, self.data, self.at, self.at + takes):
                return BAD_RECORD
            offset = add64(self.base, item.offset)
            if self.write:
                size = size_as_message(item, 0)
                if size > self.room - self.written:
                    self.wanted = -size
                    return DONE
                status = self.admit(offset, item.timestamp, item.attributes)
                if status != DONE:
                    return status
                write_message(item, self.data, self.sink, self.written, size, 0, 0, offset, NO_TIMESTAMP)
                self.written += size
            self.last = offset
            self.seen += 1
            self.at += takes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def admit(self, offset: cython.longlong, timestamp: cython.longlong, attributes: cython.int) -> cython.int:
        """Checks the offset, timestamp and codec of the next message; returns a run status."""
        if attributes & CODEC_MASK:
            return BAD_MAGIC
        if timestamp < NO_TIMESTAMP:
            return BAD_TIMESTAMP
        if self.seen == 0:
            self.first = offset
        elif offset <= self.last or add64(offset, -self.first) > MAX_INT32:
            return BAD_ORDER
        return DONE

    def admit_large_message(self, offset: cython.longlong, timestamp: cython.longlong, attributes: cython.int) -> int:
        """Checks and counts a message that the caller writes itself; returns its offset. Raises: InvalidRecord."""
        status: cython.int = DONE
        offset = add64(self.base, offset)
        if self.write:
            status = self.admit(offset, timestamp, attributes)
        if status != DONE:
            raise fault(status, self.last)
        self.last = offset
        self.seen += 1
        return offset

    def summary(self) -> tuple[int, int]:
        """Returns how many messages there were and the last one's offset."""
        return self.seen, self.last


def put_wrapper_head(
    sink: Sink,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    magic: cython.int,
    attributes: cython.int,
    last_offset: cython.longlong,
    timestamp: cython.longlong,
) -> None:
    """Writes the head of the wrapper from `at` to `end`, whose value is already there."""
    value_at: cython.Py_ssize_t = at + (V1_OVERHEAD if magic == 1 else V0_OVERHEAD)
    put64(sink, at, last_offset)
    put32(sink, at + 8, end - at - LOG_OVERHEAD)
    sink[at + MAGIC_OFFSET] = magic
    sink[at + LEGACY_ATTRIBUTES_OFFSET] = attributes if magic else attributes & CODEC_MASK
    if magic == 1:
        put64(sink, at + V1_TIMESTAMP_OFFSET, timestamp)
    put32(sink, value_at - 8, -1)
    put32(sink, value_at - 4, end - value_at)
    put32(sink, at + LEGACY_CRC_OFFSET, crc32_over(sink, at + MAGIC_OFFSET, end))


def write_wrapper_head(
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    magic: cython.int,
    attributes: cython.int,
    last_offset: cython.longlong,
    timestamp: cython.longlong,
) -> None:
    """As `put_wrapper_head`, for a buffer of Python. Raises: ValueError for bounds that cannot be."""
    sink: Sink = sink_of(out)
    if at < 0 or end > len(out) or end < at + (V1_OVERHEAD if magic == 1 else V0_OVERHEAD):
        raise ValueError(f"a wrapper from {at} to {end} in {len(out)} bytes")
    with cython.nogil:
        put_wrapper_head(sink, at, end, magic, attributes, last_offset, timestamp)
