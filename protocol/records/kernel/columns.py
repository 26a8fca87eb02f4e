# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Decodes records and messages into columns."""

from __future__ import annotations

import cython

from ...errors import InvalidRecord
from .run_status import fault

if not cython.compiled:  # columns.pxd has them else
    from ..layout import (
        CODEC_MASK,
        CONTROL_BIT,
        MAGIC_OFFSET,
        MAX_INT32,
        NO_TIMESTAMP,
        RECORD_BATCH_OVERHEAD,
        TIMESTAMP_TYPE_BIT,
    )
    from .buffer_pointers import sink_of, source_of
    from .crc import crc32_over, crc32c_over, crc_at, crc_prepare
    from .item import Item
    from .numbers import Sink, Source, add64, copy, get32, get64, varint
    from .reading import batch_end, message_size_at, read_message, read_record, record_size_at
    from .run_status import BAD_CHECKSUM, BAD_COUNT, BAD_FRAME, BAD_MAGIC, BAD_RECORD, DONE, FULL, NEEDS_CODEC, NO_ROOM

crc_prepare()

COMPILED: bool = cython.compiled


@cython.final
@cython.cclass
class BinaryColumn:
    """Byte strings one after the other, as Arrow lays them out.

    `ends` has int32 0, then where each string ends in `data`; `valid` has one byte for each string, 0 for null.
    `allocate` returns a writable buffer of the given size with any contents.
    """

    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    used = cython.declare(cython.Py_ssize_t, visibility="readonly")
    nulls = cython.declare(cython.Py_ssize_t, visibility="readonly")
    ends_buffer = cython.declare(object, visibility="readonly")
    valid_buffer = cython.declare(object, visibility="readonly")
    data_buffer = cython.declare(object, visibility="readonly")
    allocate: object
    ends: cython.int[::1]
    valid: cython.uchar[::1]
    sink: Sink
    room: cython.Py_ssize_t
    rows: cython.Py_ssize_t

    def __init__(self, allocate: object, rows: cython.Py_ssize_t, room: cython.Py_ssize_t) -> None:
        self.allocate = allocate
        self.count = self.used = self.nulls = self.rows = self.room = 0
        self._make_rows(rows)
        self.ends[0] = 0
        self._make_room(max(room, 1))

    def _make_rows(self, rows: cython.Py_ssize_t) -> None:
        ends = self.allocate(4 * (rows + 1))
        valid = self.allocate(rows + 1)
        if self.count:
            memoryview(ends)[: 4 * (self.count + 1)] = memoryview(self.ends_buffer)[: 4 * (self.count + 1)]
            memoryview(valid)[: self.count] = memoryview(self.valid_buffer)[: self.count]
        self.ends_buffer, self.valid_buffer = ends, valid
        self.ends = memoryview(ends).cast("i")
        self.valid = memoryview(valid)
        self.rows = rows

    def _make_room(self, room: cython.Py_ssize_t) -> None:
        data = self.allocate(room)
        if self.used:
            memoryview(data)[: self.used] = memoryview(self.data_buffer)[: self.used]
        self.data_buffer = data
        self.sink = sink_of(data)
        self.room = room

    def grow(self, count: cython.Py_ssize_t, size: cython.Py_ssize_t) -> None:
        """Make room for `count` more strings of `size` bytes together."""
        if count > self.rows - self.count:
            self._make_rows(max(2 * self.rows, self.count + count))
        if size > self.room - self.used:
            if self.used + size > MAX_INT32:
                raise InvalidRecord(f"{self.used + size} bytes in one column, {MAX_INT32} at most")
            self._make_room(min(MAX_INT32, max(2 * self.room, self.used + size)))

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def lacks_room(self, count: cython.longlong, size: cython.Py_ssize_t) -> cython.bint:
        return count > self.rows - self.count or size > self.room - self.used

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def put(self, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.void:
        """Append a string, null for a negative size. There must be room."""
        self.valid[self.count] = size >= 0
        if size > 0:
            copy(self.sink, self.used, data, at, size)
            self.used += size
        elif size < 0:
            self.nulls += 1
        self.count += 1
        self.ends[self.count] = self.used


@cython.final
@cython.cclass
class RecordColumns:
    """Records and messages of any magic in columns, one row each, up to `rows` of them or `limit_bytes` of payload.

    Rows are those of offsets from `first_offset` to `end_offset` (open); control batches have none. `offsets` and
    `timestamps` (ms) are int64, `types` are int32 as in `TimestampType`; `key` and `value` are None unless asked for.
    With headers, `header_ends` has int32 0, then for each row the number of headers up to its end. `checked`: whether
    checksums are verified. Plain v2 batches whose max timestamp is below `min_timestamp` are skipped. `position` is
    that of the last batch that was read.

    `take_batches` reads whole plain batches. For a batch that needs a codec, call `begin_records` or `begin_messages`,
    then pass its decompressed stream to `take`.
    """

    rows = cython.declare(cython.Py_ssize_t, visibility="readonly")
    position = cython.declare(cython.Py_ssize_t, visibility="readonly")
    control_batches = cython.declare(cython.longlong, visibility="readonly")
    offsets_buffer = cython.declare(object, visibility="readonly")
    timestamps_buffer = cython.declare(object, visibility="readonly")
    types_buffer = cython.declare(object, visibility="readonly")
    header_ends_buffer = cython.declare(object, visibility="readonly")
    key = cython.declare(BinaryColumn, visibility="readonly")
    value = cython.declare(BinaryColumn, visibility="readonly")
    header_key = cython.declare(BinaryColumn, visibility="readonly")
    header_value = cython.declare(BinaryColumn, visibility="readonly")
    allocate: object
    offsets: cython.longlong[::1]
    timestamps: cython.longlong[::1]
    types: cython.int[::1]
    header_ends: cython.int[::1]
    room: cython.Py_ssize_t
    limit: cython.Py_ssize_t
    first_offset: cython.longlong
    end_offset: cython.longlong
    min_timestamp: cython.longlong
    checked: cython.bint
    has_key: cython.bint
    has_value: cython.bint
    has_headers: cython.bint
    item: Item
    # The batch or stream that is being taken.
    inside: cython.bint
    streamed: cython.bint
    magic: cython.int
    at: cython.Py_ssize_t
    left: cython.longlong
    base_offset: cython.longlong
    base_timestamp: cython.longlong
    append_time: cython.longlong
    has_append_time: cython.bint
    wanted: cython.longlong
    header_bytes: cython.Py_ssize_t

    def __init__(
        self,
        allocate: object,
        rows: cython.Py_ssize_t,
        limit_bytes: cython.Py_ssize_t,
        first_offset: cython.longlong,
        end_offset: cython.longlong,
        min_timestamp: cython.longlong,
        checked: cython.bint,
        with_key: cython.bint,
        with_value: cython.bint,
        with_headers: cython.bint,
    ) -> None:
        self.allocate = allocate
        self.room, self.limit = max(rows, 1), max(limit_bytes, 1)
        self.first_offset, self.end_offset, self.min_timestamp = first_offset, end_offset, min_timestamp
        self.checked = checked
        self.has_key, self.has_value, self.has_headers = with_key, with_value, with_headers
        self.inside = self.streamed = self.has_append_time = False
        self.position = self.at = self.header_bytes = 0
        self.control_batches = 0
        self.magic = 2
        self.item = Item()
        self.clear()

    def clear(self) -> None:
        """Begin with new buffers, so that the caller can keep the filled ones."""
        self.rows = 0
        self.offsets_buffer = self.allocate(8 * self.room)
        self.timestamps_buffer = self.allocate(8 * self.room)
        self.types_buffer = self.allocate(4 * self.room)
        self.offsets = memoryview(self.offsets_buffer).cast("q")
        self.timestamps = memoryview(self.timestamps_buffer).cast("q")
        self.types = memoryview(self.types_buffer).cast("i")
        spare: cython.Py_ssize_t = self.limit // 64
        if self.has_key:
            self.key = BinaryColumn(self.allocate, self.room, spare)
        if self.has_value:
            self.value = BinaryColumn(self.allocate, self.room, self.limit + spare)
        if self.has_headers:
            self.header_key = BinaryColumn(self.allocate, 64, 1024)
            self.header_value = BinaryColumn(self.allocate, 64, 1024)
            self.header_ends_buffer = self.allocate(4 * (self.room + 1))
            self.header_ends = memoryview(self.header_ends_buffer).cast("i")
            self.header_ends[0] = 0

    def take_batches(self, data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> tuple[int, bool, bool]:
        """Take whole batches from position `at` on, up to one that needs a codec or until the columns are full.

        Returns: position of the batch it stopped at, whether that needs a codec, whether the columns are full. If they
        are full, the next call has to continue at that position in the same bytes. At the end, less than a whole batch
        is left.

        Raises: CorruptRecord, InvalidRecord; `position` is then that of the batch.
        """
        if at < 0:
            raise ValueError(f"position {at}")
        size: cython.Py_ssize_t = len(data)
        source: Source = source_of(data)
        item: Item = self.item
        status: cython.int
        self.position = at
        while True:
            with cython.nogil:
                status = self._take_batches(item, source, size)
            if status != NO_ROOM:
                break
            self._grow(item)
        if status != DONE and status != NEEDS_CODEC and status != FULL:
            self.inside = False
            raise fault(status, get64(source, self.position))
        return self.position, status == NEEDS_CODEC, status == FULL

    def begin_records(
        self, count: cython.longlong, base_offset: cython.longlong, base_timestamp: cython.longlong, append_time: object
    ) -> None:
        """Prepares for the decompressed records of a v2 batch."""
        self.magic = 2
        self.left, self.base_offset, self.base_timestamp = count, base_offset, base_timestamp
        self._set_append_time(append_time)

    def begin_messages(self, base: cython.longlong, append_time: object) -> None:
        """Prepares for the decompressed messages of a wrapper; `base` is added to their offsets."""
        self.magic = 0
        self.base_offset = base
        self._set_append_time(append_time)

    def _set_append_time(self, append_time: object) -> None:
        self.has_append_time = append_time is not None
        self.append_time = NO_TIMESTAMP if append_time is None else append_time

    def take(self, data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> tuple[int, int, bool]:
        """Takes the whole records or messages of a decompressed stream from position `at` on.

        Returns: position reached; how many bytes it wants from there to go on, 0 for an unknown number; whether the
        columns are full.

        Raises: CorruptRecord, InvalidRecord.
        """
        if at < 0:
            raise ValueError(f"position {at}")
        size: cython.Py_ssize_t = len(data)
        source: Source = source_of(data)
        item: Item = self.item
        status: cython.int
        self.at, self.wanted, self.streamed = at, 0, True
        while True:
            with cython.nogil:
                if self.magic == 2:
                    status = self._take_records(item, source, size)
                else:
                    status = self._take_messages(item, source, size)
            if status != NO_ROOM:
                break
            self._grow(item)
        self.streamed = False
        if status == DONE and self.magic == 2 and self.left == 0 and self.at < size:
            status = BAD_COUNT
        if status != DONE and status != FULL:
            raise fault(status, self.base_offset)
        return self.at, self.wanted, status == FULL

    def check_count(self) -> None:
        """Raises: InvalidRecord when records of the stream are missing."""
        if self.magic == 2 and self.left:
            raise fault(BAD_COUNT, self.base_offset)

    def _grow(self, item: Item) -> None:
        if self.has_key:
            self.key.grow(1, max(0, item.key_size))
        if self.has_value:
            self.value.grow(1, max(0, item.value_size))
        if self.has_headers:
            self.header_key.grow(item.header_count, self.header_bytes)
            self.header_value.grow(item.header_count, self.header_bytes)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_full(self) -> cython.bint:
        payload: cython.Py_ssize_t = 0
        if self.has_key:
            payload += self.key.used
        if self.has_value:
            payload += self.value.used
        return self.rows == self.room or payload >= self.limit

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _put(
        self,
        item: Item,
        data: Source,
        end: cython.Py_ssize_t,
        offset: cython.longlong,
        timestamp: cython.longlong,
        kind: cython.int,
    ) -> cython.int:
        """Appends the item, whose headers end at `end`, as a row; returns NO_ROOM if it does not fit, else DONE."""
        if self.has_key and self.key.lacks_room(1, item.key_size):
            return NO_ROOM
        if self.has_value and self.value.lacks_room(1, item.value_size):
            return NO_ROOM
        if self.has_headers:
            self.header_bytes = end - item.headers_at
            if not self._put_headers(data, item.headers_at, end, item.header_count):
                return NO_ROOM
        if self.has_key:
            self.key.put(data, item.key_at, item.key_size)
        if self.has_value:
            self.value.put(data, item.value_at, item.value_size)
        self.offsets[self.rows] = offset
        self.timestamps[self.rows] = timestamp
        self.types[self.rows] = kind
        self.rows += 1
        return DONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _put_headers(
        self, data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t, count: cython.longlong
    ) -> cython.bint:
        """Append the headers of the next row, whose lengths are known to be right; False when there is no room."""
        size: cython.longlong
        if self.header_key.lacks_room(count, end - at) or self.header_value.lacks_room(count, end - at):
            return False
        while count > 0:
            count -= 1
            size, at = varint(data, at, end)
            self.header_key.put(data, at, size)
            size, at = varint(data, at + size, end)
            self.header_value.put(data, at, size)
            if size > 0:
                at += size
        self.header_ends[self.rows + 1] = self.header_key.count
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_records(self, item: Item, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Take the records from `at` on, `left` of them; a stream may end anywhere."""
        takes: cython.longlong
        next_at: cython.Py_ssize_t
        offset: cython.longlong
        timestamp: cython.longlong
        status: cython.int
        while self.left > 0:
            if self.streamed:
                takes = record_size_at(data, self.at, end)
                if takes < 0:
                    return BAD_RECORD
                if takes == 0 or takes > end - self.at:
                    self.wanted = takes
                    return DONE
            next_at = read_record(item, data, self.at, end)
            if next_at < 0:
                return BAD_RECORD
            offset = add64(self.base_offset, item.offset)
            if self.first_offset <= offset < self.end_offset:
                if self._is_full():
                    return FULL
                timestamp = self.append_time if self.has_append_time else add64(self.base_timestamp, item.timestamp)
                status = self._put(item, data, next_at, offset, timestamp, self.has_append_time)
                if status != DONE:
                    return status
            self.at = next_at
            self.left -= 1
        return DONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_messages(self, item: Item, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Take the inner messages from `at` on; a stream may end anywhere."""
        takes: cython.longlong
        offset: cython.longlong
        status: cython.int
        while True:
            takes = message_size_at(data, self.at, end)
            if takes < 0:
                return BAD_FRAME
            if takes == 0 or takes > end - self.at:
                self.wanted = takes
                return DONE
            if not read_message(item, data, self.at, self.at + takes):
                return BAD_RECORD
            if item.attributes & CODEC_MASK:
                return BAD_MAGIC
            item.headers_at = self.at + takes
            item.header_count = 0
            offset = add64(self.base_offset, item.offset)
            if self.first_offset <= offset < self.end_offset:
                if self._is_full():
                    return FULL
                status = self._put(
                    item,
                    data,
                    self.at + takes,
                    offset,
                    self.append_time if self.has_append_time and item.magic == 1 else item.timestamp,
                    -1 if item.magic == 0 else self.has_append_time,
                )
                if status != DONE:
                    return status
            self.at += takes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_message(self, item: Item, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Take the plain message of magic 0 or 1 at `position`."""
        at: cython.Py_ssize_t = self.position
        if self.checked and crc32_over(data, at + MAGIC_OFFSET, end) != crc_at(data, at + 12):
            return BAD_CHECKSUM
        if not read_message(item, data, at, end):
            return BAD_RECORD
        item.headers_at = end
        item.header_count = 0
        if not self.first_offset <= item.offset < self.end_offset:
            return DONE
        if self._is_full():
            return FULL
        kind: cython.int = -1 if item.magic == 0 else (item.attributes & TIMESTAMP_TYPE_BIT) != 0
        return self._put(item, data, end, item.offset, item.timestamp, kind)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _begin_batch(self, data: Source) -> cython.int:
        """Begin the plain v2 batch at `position`."""
        start: cython.Py_ssize_t = self.position
        self.left = get32(data, start + 57)
        if self.left < 0:
            return BAD_COUNT
        self.base_offset = get64(data, start)
        self.has_append_time = (data[start + 22] & TIMESTAMP_TYPE_BIT) != 0
        self.base_timestamp = get64(data, start + 27)
        self.append_time = get64(data, start + 35)
        self.at = start + RECORD_BATCH_OVERHEAD
        self.inside = True
        return DONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_batches(self, item: Item, data: Source, size: cython.Py_ssize_t) -> cython.int:
        end: cython.Py_ssize_t
        status: cython.int
        while True:
            end = batch_end(data, self.position, size)
            if end <= 0:
                return BAD_FRAME if end < 0 else DONE
            if data[self.position + MAGIC_OFFSET] < 2:
                if data[self.position + 17] & CODEC_MASK:
                    return NEEDS_CODEC
                status = self._take_message(item, data, end)
            else:
                status = self._take_batch(item, data, end)
            if status != DONE:
                return status
            self.inside = False
            self.position = end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_batch_unwanted(self, data: Source, start: cython.Py_ssize_t) -> cython.bint:
        """Whether the header of a v2 batch tells that no record of it is wanted."""
        offset: cython.longlong = get64(data, start)
        if offset >= self.end_offset or add64(offset, get32(data, start + 23)) < self.first_offset:
            return True
        return get64(data, start + 35) < self.min_timestamp

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_batch(self, item: Item, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Take the v2 batch at `position`, or what is left of it, unless a codec has to open it."""
        start: cython.Py_ssize_t = self.position
        status: cython.int
        if not self.inside:
            if self._is_batch_unwanted(data, start):
                return DONE
            if data[start + 22] & CODEC_MASK and not data[start + 22] & CONTROL_BIT:
                return NEEDS_CODEC
            if self.checked and crc32c_over(data, start + 21, end) != crc_at(data, start + 17):
                return BAD_CHECKSUM
            if data[start + 22] & CONTROL_BIT:
                self.control_batches += 1
                return DONE
            status = self._begin_batch(data)
            if status != DONE:
                return status
        status = self._take_records(item, data, end)
        return BAD_COUNT if status == DONE and self.at != end else status
