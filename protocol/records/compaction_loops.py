# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The highest offset of each key, and the records that it leaves: the loops of log compaction, compiled by Cython.

Uncompiled, the same file is the readable twin. A slot has 24 bytes, in one table that never grows:

    hash of the key, 2 × uint64 (SipHash-2-4 of 128 bits) | offset + 1, uint64; 0: the slot is free

Kafka's cleaner (SkimpyOffsetMap) uses MD5 as the hash. Of two keys with the same hash one loses its record; each table
has its own secret, so nobody can make such keys on purpose.

`note_batches` fills the table from whole batches. `copy_retained_batches` copies the records that stay (Kafka 3.9,
Cleaner.shouldRetainRecord):

    offset above the last one noted      stays
    no key                               removed
    a higher offset is noted for the key removed
    null value (tombstone)               removed after its batch's delete horizon; a batch without one gets it now
    else                                 stays

Both handle plain v2 batches of data and stop at all others: compressed, transactional, control, of an older magic,
broken. No length is trusted. They also stop at a wrong checksum, so a damaged batch never gets a valid one.
"""

from __future__ import annotations

import cython

if not cython.compiled:  # compaction_loops.pxd has them else
    from .kernel.buffer_pointers import sink_of, source_of
    from .kernel.crc import crc32c_over, crc_at, crc_prepare
    from .kernel.numbers import (
        Sink,
        Source,
        copy,
        get32,
        get64,
        put32,
        put64,
        put_varint,
        varint,
        varint_size,
        varlong,
    )
    from .kernel.siphash import sip_hash
    from .layout import (
        ATTRIBUTES_OFFSET,
        BASE_TIMESTAMP_OFFSET,
        CODEC_MASK,
        CONTROL_BIT,
        CRC_OFFSET,
        DELETE_HORIZON_BIT,
        LAST_OFFSET_DELTA_OFFSET,
        LOG_OVERHEAD,
        MAGIC_OFFSET,
        MAX_TIMESTAMP_OFFSET,
        MIN_RECORD_BYTES,
        RECORD_BATCH_OVERHEAD,
        RECORD_COUNT_OFFSET,
        TIMESTAMP_TYPE_BIT,
        TRANSACTIONAL_BIT,
    )

crc_prepare()

COMPILED: bool = cython.compiled

SLOT_BYTES = 24
SECRET_BYTES = 16
WORDS_A_SLOT = cython.declare(cython.Py_ssize_t, 3)

# How a run ends.
DONE = 0
OTHER = 1
FULL = 2
NO_ROOM = 3
BROKEN = 4
_DONE = cython.declare(cython.int, 0)
_OTHER = cython.declare(cython.int, 1)
_FULL = cython.declare(cython.int, 2)
_NO_ROOM = cython.declare(cython.int, 3)
_BROKEN = cython.declare(cython.int, 4)

NOT_PLAIN_BITS = cython.declare(cython.int, CODEC_MASK | TRANSACTIONAL_BIT | CONTROL_BIT)
# How much longer a record may become when its timestamp delta changes.
GROWTH_BYTES = cython.declare(cython.Py_ssize_t, 12)


@cython.final
@cython.cclass
class OffsetMap:
    """A table with `slots` slots for at most `most` keys. `latest_offset` is the last offset noted, -1 at first.

    `copy_retained_batches` and `mark_retained_records` add to `records_read` and `records_kept`. `has_tombstones`,
    `first_timestamp` and `max_timestamp` describe the records kept of the last batch.
    """

    slots = cython.declare(cython.Py_ssize_t, visibility="readonly")
    most = cython.declare(cython.Py_ssize_t, visibility="readonly")
    used = cython.declare(cython.Py_ssize_t, visibility="readonly")
    latest_offset = cython.declare(cython.longlong, visibility="public")
    records_read = cython.declare(cython.longlong, visibility="readonly")
    records_kept = cython.declare(cython.longlong, visibility="readonly")
    has_tombstones = cython.declare(cython.bint, visibility="readonly")
    first_timestamp = cython.declare(cython.longlong, visibility="readonly")
    max_timestamp = cython.declare(cython.longlong, visibility="readonly")
    # Of the batches that `copy_retained_batches` has written since `forget_written_batches`.
    written_last_offset = cython.declare(cython.longlong, visibility="readonly")
    written_max_timestamp = cython.declare(cython.longlong, visibility="readonly")
    written_max_timestamp_offset = cython.declare(cython.longlong, visibility="readonly")
    _words = cython.declare(cython.ulonglong[::1])
    _keep = cython.declare(cython.uchar[::1])
    _keep_size = cython.declare(cython.Py_ssize_t)
    _k0 = cython.declare(cython.ulonglong)
    _k1 = cython.declare(cython.ulonglong)
    _h0 = cython.declare(cython.ulonglong)
    _h1 = cython.declare(cython.ulonglong)

    def __init__(self, slots: int, most: int, secret: bytes) -> None:
        if not 0 < most < slots or len(secret) != SECRET_BYTES:
            raise ValueError(f"{most} keys in {slots} slots with a secret of {len(secret)} bytes")
        self.slots = slots
        self.most = most
        self.used = 0
        self.latest_offset = -1
        self.records_read = self.records_kept = 0
        self._words = memoryview(bytearray(slots * SLOT_BYTES)).cast("Q")
        self._keep_size = 0
        self._k0 = int.from_bytes(secret[:8], "little")
        self._k1 = int.from_bytes(secret[8:], "little")
        self.forget_written_batches()

    def forget_written_batches(self) -> None:
        """Resets the `written_…` values."""
        self.written_last_offset = self.written_max_timestamp = self.written_max_timestamp_offset = -1

    # Keys

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _hash(self, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.void:
        self._h0, self._h1 = sip_hash(self._k0, self._k1, data, at, size)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _find(self) -> cython.Py_ssize_t:
        """Returns the first word of the slot with the current hash, or of the free slot for it."""
        slots: cython.ulonglong = self.slots
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self._h0 % slots) * WORDS_A_SLOT
        end: cython.Py_ssize_t = self.slots * WORDS_A_SLOT
        while self._words[at + 2] != 0 and (self._words[at] != self._h0 or self._words[at + 1] != self._h1):
            at += WORDS_A_SLOT
            if at == end:
                at = 0
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _put(
        self, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t, offset: cython.longlong
    ) -> cython.bint:
        if self.used >= self.most:
            return False
        self._hash(data, at, size)
        slot: cython.Py_ssize_t = self._find()
        if self._words[slot + 2] == 0:
            self.used += 1
            self._words[slot] = self._h0
            self._words[slot + 1] = self._h1
        self._words[slot + 2] = cython.cast(cython.ulonglong, offset + 1)
        return True

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _get(self, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.longlong:
        self._hash(data, at, size)
        return cython.cast(cython.longlong, self._words[self._find() + 2]) - 1

    def put(self, key: cython.const[cython.uchar][::1], offset: cython.longlong) -> bool:
        """Notes the offset of a key, which is above the ones noted for it before; returns False if there is no room."""
        size: cython.Py_ssize_t = len(key)
        return self._put(source_of(key), 0, size, offset)

    def get(self, key: cython.const[cython.uchar][::1]) -> int:
        """The offset noted for a key, -1 for none."""
        size: cython.Py_ssize_t = len(key)
        return self._get(source_of(key), 0, size)

    # Batches

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _plain_end(self, data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Returns where the plain data batch at `at` ends; 0 if it is not one or not whole, -1 for a wrong checksum."""
        if end - at < RECORD_BATCH_OVERHEAD or data[at + MAGIC_OFFSET] != 2:
            return 0
        size: cython.longlong = get32(data, at + 8)
        if size < RECORD_BATCH_OVERHEAD - LOG_OVERHEAD or size > end - at - LOG_OVERHEAD:
            return 0
        if data[at + ATTRIBUTES_OFFSET + 1] & NOT_PLAIN_BITS:
            return 0
        batch_end: cython.Py_ssize_t = at + LOG_OVERHEAD + cython.cast(cython.Py_ssize_t, size)
        if crc32c_over(data, at + ATTRIBUTES_OFFSET, batch_end) != crc_at(data, at + CRC_OFFSET):
            return -1
        return batch_end

    def note_batches(
        self, data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, start_offset: cython.longlong
    ) -> tuple[int, int]:
        """Notes the keys of the records from `start_offset` on; returns a status and the position reached.

        DONE: at the end of `data`. OTHER: before a batch that is not plain or not whole. FULL: before a batch whose
        keys do not fit. BROKEN: before a damaged batch.
        """
        size: cython.Py_ssize_t = len(data)
        source: Source = source_of(data)
        status: cython.int = _DONE
        batch_end: cython.Py_ssize_t
        last_offset: cython.longlong
        with cython.nogil:
            while at < size:
                batch_end = self._plain_end(source, at, size)
                if batch_end <= 0:
                    status = _OTHER if batch_end == 0 else _BROKEN
                    break
                status = self._note_records(
                    source,
                    at + RECORD_BATCH_OVERHEAD,
                    batch_end,
                    get32(source, at + RECORD_COUNT_OFFSET),
                    get64(source, at),
                    start_offset,
                )
                if status != _DONE:
                    break
                last_offset = get64(source, at) + get32(source, at + LAST_OFFSET_DELTA_OFFSET)
                if last_offset >= start_offset and last_offset > self.latest_offset:
                    self.latest_offset = last_offset
                at = batch_end
        return status, at

    def note_records(
        self,
        records: cython.const[cython.uchar][::1],
        count: cython.longlong,
        base_offset: cython.longlong,
        start_offset: cython.longlong,
    ) -> int:
        """Notes the keys of one batch, of which `records` are the decompressed ones; returns DONE, FULL or BROKEN."""
        size: cython.Py_ssize_t = len(records)
        source: Source = source_of(records)
        status: cython.int
        with cython.nogil:
            status = self._note_records(source, 0, size, count, base_offset, start_offset)
        return status

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _note_records(
        self,
        data: Source,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        count: cython.longlong,
        base_offset: cython.longlong,
        start_offset: cython.longlong,
    ) -> cython.int:
        size: cython.longlong
        delta: cython.longlong
        key_size: cython.longlong
        is_noted: cython.bint
        record_end: cython.Py_ssize_t
        while count > 0:
            count -= 1
            size, at = varint(data, at, end)
            if at > end or size < 1 or size > end - at:
                return _BROKEN
            record_end = at + cython.cast(cython.Py_ssize_t, size)
            _, at = varlong(data, at + 1, record_end)
            delta, at = varint(data, at, record_end)
            key_size, at = varint(data, at, record_end)
            if at > record_end or key_size > record_end - at:
                return _BROKEN
            is_noted = key_size >= 0 and base_offset + delta >= start_offset
            if is_noted and not self._put(data, at, cython.cast(cython.Py_ssize_t, key_size), base_offset + delta):
                return _FULL
            at = record_end
        return _DONE if at == end else _BROKEN

    # What stays

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _judge(
        self,
        data: Source,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        count: cython.longlong,
        base_offset: cython.longlong,
        base_timestamp: cython.longlong,
        tombstones_stay: cython.bint,
    ) -> cython.Py_ssize_t:
        """Sets a byte in `_keep` for each record; returns how many records stay, -1 if one is broken."""
        size: cython.longlong
        timestamp: cython.longlong
        delta: cython.longlong
        key_size: cython.longlong
        value_size: cython.longlong
        offset: cython.longlong
        record_end: cython.Py_ssize_t
        number: cython.Py_ssize_t = 0
        kept: cython.Py_ssize_t = 0
        stays: cython.bint
        self.has_tombstones = False
        self.first_timestamp = self.max_timestamp = -1
        while number < count:
            size, at = varint(data, at, end)
            if at > end or size < 1 or size > end - at:
                return -1
            record_end = at + cython.cast(cython.Py_ssize_t, size)
            timestamp, at = varlong(data, at + 1, record_end)
            delta, at = varint(data, at, record_end)
            key_size, at = varint(data, at, record_end)
            if at > record_end or key_size > record_end - at:
                return -1
            offset = base_offset + delta
            value_size, _ = varint(
                data, at + cython.cast(cython.Py_ssize_t, key_size if key_size > 0 else 0), record_end
            )
            if offset > self.latest_offset:
                stays = True
            elif key_size < 0 or (value_size < 0 and not tombstones_stay):
                stays = False
            else:
                stays = offset >= self._get(data, at, cython.cast(cython.Py_ssize_t, key_size))
            if stays:
                timestamp += base_timestamp
                if kept == 0:
                    self.first_timestamp = timestamp
                if timestamp > self.max_timestamp:
                    self.max_timestamp = timestamp
                if value_size < 0:
                    self.has_tombstones = True
                kept += 1
            self._keep[number] = stays
            number += 1
            at = record_end
        if at != end:
            return -1
        self.records_read += number
        self.records_kept += kept
        return kept

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _write(
        self,
        sink: Sink,
        to: cython.Py_ssize_t,
        data: Source,
        at: cython.Py_ssize_t,
        count: cython.longlong,
        end: cython.Py_ssize_t,
        shift: cython.longlong,
        same: cython.bint,
    ) -> cython.Py_ssize_t:
        """Writes the records that stay, with `shift` added to their timestamp deltas, or in place of them if `same`.

        Returns where they end in `sink`.
        """
        size: cython.longlong
        timestamp: cython.longlong
        start: cython.Py_ssize_t
        record_end: cython.Py_ssize_t
        number: cython.Py_ssize_t = 0
        while number < count:
            start = at
            size, at = varint(data, at, end)
            record_end = at + cython.cast(cython.Py_ssize_t, size)
            if self._keep[number]:
                if shift == 0 and not same:
                    copy(sink, to, data, start, record_end - start)
                    to += record_end - start
                else:
                    start = at
                    timestamp, at = varlong(data, at + 1, record_end)
                    timestamp = shift if same else timestamp + shift
                    to = put_varint(sink, to, 1 + varint_size(timestamp) + record_end - at)
                    sink[to] = data[start]
                    to = put_varint(sink, to + 1, timestamp)
                    copy(sink, to, data, at, record_end - at)
                    to += record_end - at
            number += 1
            at = record_end
        return to

    @cython.cfunc
    def _grow_keep_flags(self, count: cython.longlong) -> cython.void:
        if count > self._keep_size:
            self._keep_size = count
            self._keep = bytearray(count)

    def copy_retained_batches(
        self,
        data: cython.const[cython.uchar][::1],
        at: cython.Py_ssize_t,
        out: cython.uchar[::1],
        out_at: cython.Py_ssize_t,
        before_offset: cython.longlong,
        now_ms: cython.longlong,
        horizon_ms: cython.longlong,
    ) -> tuple[int, int, int]:
        """Copies batches with the records that stay; returns a status and the positions in `data` and `out`.

        `horizon_ms` is the delete horizon for batches that need one. DONE at the end of `data`; OTHER at a batch that
        is not plain or reaches `before_offset`; NO_ROOM, BROKEN. `out` needs room for a batch and 12 bytes a record.
        """
        size: cython.Py_ssize_t = len(data)
        out_size: cython.Py_ssize_t = len(out)
        source: Source = source_of(data)
        sink: Sink = sink_of(out)
        status: cython.int = _DONE
        batch_end: cython.Py_ssize_t
        written: cython.Py_ssize_t
        self._grow_keep_flags(size // MIN_RECORD_BYTES + 1)
        with cython.nogil:
            while at < size:
                batch_end = self._plain_end(source, at, size)
                if batch_end <= 0:
                    status = _OTHER if batch_end == 0 else _BROKEN
                    break
                if get64(source, at) + get32(source, at + LAST_OFFSET_DELTA_OFFSET) >= before_offset:
                    status = _OTHER
                    break
                written = self._sift_batch(source, at, batch_end, sink, out_at, out_size, now_ms, horizon_ms)
                if written < 0:
                    status = _NO_ROOM if written == -1 else _BROKEN
                    break
                out_at = written
                at = batch_end
        return status, at, out_at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sift_batch(
        self,
        data: Source,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        sink: Sink,
        to: cython.Py_ssize_t,
        to_end: cython.Py_ssize_t,
        now_ms: cython.longlong,
        horizon_ms: cython.longlong,
    ) -> cython.Py_ssize_t:
        """Copies one batch; returns where it ends in `sink`, -1 if there is no room, -2 if it is broken."""
        count: cython.longlong = get32(data, at + RECORD_COUNT_OFFSET)
        if count < 0 or count > (end - at - RECORD_BATCH_OVERHEAD) // MIN_RECORD_BYTES:
            return -2
        if to_end - to < end - at + GROWTH_BYTES * count:
            return -1
        attributes: cython.int = data[at + ATTRIBUTES_OFFSET + 1]
        base_timestamp: cython.longlong = get64(data, at + BASE_TIMESTAMP_OFFSET)
        has_horizon: cython.bint = attributes & DELETE_HORIZON_BIT != 0
        kept: cython.Py_ssize_t = self._judge(
            data,
            at + RECORD_BATCH_OVERHEAD,
            end,
            count,
            get64(data, at),
            base_timestamp,
            not has_horizon or now_ms < base_timestamp,
        )
        if kept <= 0:
            return to if kept == 0 else -2
        needs_horizon: cython.bint = self.has_tombstones and not has_horizon
        if kept == count and not needs_horizon:
            copy(sink, to, data, at, end - at)
            self.max_timestamp = get64(data, at + MAX_TIMESTAMP_OFFSET)
            self._note_written_batch(data, at)
            return to + end - at
        is_append_time: cython.bint = attributes & TIMESTAMP_TYPE_BIT != 0
        if is_append_time:
            self.first_timestamp = self.max_timestamp = get64(data, at + MAX_TIMESTAMP_OFFSET)
        new_base: cython.longlong = self.first_timestamp
        if needs_horizon:
            new_base = horizon_ms
        elif has_horizon:
            new_base = base_timestamp
        shift: cython.longlong = self.max_timestamp - new_base if is_append_time else base_timestamp - new_base
        written: cython.Py_ssize_t = self._write(
            sink, to + RECORD_BATCH_OVERHEAD, data, at + RECORD_BATCH_OVERHEAD, count, end, shift, is_append_time
        )
        copy(sink, to, data, at, RECORD_BATCH_OVERHEAD)
        put32(sink, to + 8, written - to - LOG_OVERHEAD)
        if needs_horizon:
            sink[to + ATTRIBUTES_OFFSET + 1] = attributes | DELETE_HORIZON_BIT
        put64(sink, to + BASE_TIMESTAMP_OFFSET, new_base)
        put64(sink, to + MAX_TIMESTAMP_OFFSET, self.max_timestamp)
        put32(sink, to + RECORD_COUNT_OFFSET, kept)
        put32(sink, to + CRC_OFFSET, crc32c_over(sink, to + ATTRIBUTES_OFFSET, written))
        self._note_written_batch(data, at)
        return written

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _note_written_batch(self, data: Source, at: cython.Py_ssize_t) -> cython.void:
        self.written_last_offset = get64(data, at) + get32(data, at + LAST_OFFSET_DELTA_OFFSET)
        if self.max_timestamp > self.written_max_timestamp:
            self.written_max_timestamp = self.max_timestamp
            self.written_max_timestamp_offset = self.written_last_offset

    def mark_retained_records(
        self,
        records: cython.const[cython.uchar][::1],
        count: cython.longlong,
        base_offset: cython.longlong,
        base_timestamp: cython.longlong,
        tombstones_stay: cython.bint,
    ) -> int:
        """Returns how many records of one batch stay, -1 when one is broken.

        `records` are its decompressed records. `has_tombstones`, `first_timestamp` and `max_timestamp` then describe
        those that stay, and `copy_marked_records` returns them.
        """
        size: cython.Py_ssize_t = len(records)
        source: Source = source_of(records)
        if count < 0 or count > size // MIN_RECORD_BYTES:
            return -1
        self._grow_keep_flags(count)
        kept: cython.Py_ssize_t
        with cython.nogil:
            kept = self._judge(source, 0, size, count, base_offset, base_timestamp, tombstones_stay)
        return kept

    def copy_marked_records(
        self,
        records: cython.const[cython.uchar][::1],
        count: cython.longlong,
        timestamp_shift: cython.longlong,
        one_timestamp: cython.bint,
    ) -> bytes:
        """Returns the records that the last `mark_retained_records` marked.

        `timestamp_shift` is added to each timestamp delta; with `one_timestamp` it replaces each.
        """
        size: cython.Py_ssize_t = len(records)
        source: Source = source_of(records)
        room = bytearray(size + GROWTH_BYTES * count + 1)
        sink: Sink = sink_of(room)
        written: cython.Py_ssize_t
        with cython.nogil:
            written = self._write(sink, 0, source, 0, count, size, timestamp_shift, one_timestamp)
        return bytes(room[:written])
