# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The records of a batch that is still being filled, encoded as they come: what a producer does for each record.

Compiled by Cython; uncompiled, the same file is the readable twin. `record.py` shows the record of a v2 batch. Sizes
follow Kafka 3.9, MemoryRecordsBuilder:

    estimate    61 + int(bytes of the records * factor)
    full        limit <= estimate
    has room    not full, and the first record or estimate + bytes of the new record <= limit
"""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING, PyByteArray_Resize
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING
else:
    from .kernel.numbers import Sink, Source, add64, copy, put_varint, varint_size
    from .layout import RECORD_BATCH_OVERHEAD

COMPILED: bool = cython.compiled

# Length, attributes, timestamp and offset delta: the most that they take.
RECORD_OVERHEAD = cython.declare(cython.Py_ssize_t, 21)
FIRST_BYTES = cython.declare(cython.Py_ssize_t, 16384)


class GrowingBatch:
    """A v2 batch that takes records until it is full; `factor` is what they are expected to compress to.

    The first 61 bytes are left for the batch's header. `full` may be set to close it. `largest_bytes` is the most that
    the largest record could take in a batch of its own.
    """

    def __init__(self, limit_bytes: cython.Py_ssize_t, factor: cython.double) -> None:
        self.limit_bytes = limit_bytes
        self._factor = factor
        self.count = self.size_bytes = self.largest_bytes = 0
        self.estimated_bytes = RECORD_BATCH_OVERHEAD
        self.base_timestamp = self.max_timestamp = -1
        self.full = False
        self._room = min(limit_bytes, FIRST_BYTES)
        self._data = bytearray(RECORD_BATCH_OVERHEAD + self._room)

    def append(
        self, timestamp: cython.longlong, key: bytes | None, value: bytes | None, headers: bytes
    ) -> cython.Py_ssize_t:
        """By how many bytes the estimate grew, at least 1, the overhead included for the first; 0: there is no room.

        `headers` are encoded, with their count in front.
        """
        before: cython.Py_ssize_t = self.estimated_bytes
        delta: cython.longlong = 0
        key_size: cython.Py_ssize_t = 0
        value_size: cython.Py_ssize_t = 0
        headers_size: cython.Py_ssize_t = len(headers)
        if self.full:
            return 0
        if self.count:
            delta = add64(timestamp, -self.base_timestamp)
        fixed: cython.Py_ssize_t = 1 + varint_size(delta) + varint_size(self.count)
        size: cython.Py_ssize_t = fixed + headers_size
        if key is None:
            size += 1
        else:
            key_size = len(key)
            size += varint_size(key_size) + key_size
        if value is None:
            size += 1
        else:
            value_size = len(value)
            size += varint_size(value_size) + value_size
        total: cython.Py_ssize_t = varint_size(size) + size
        if self.count == 0:
            before = 0
            self.base_timestamp = timestamp
            self.max_timestamp = timestamp
        elif self.limit_bytes < before + total:
            return 0
        if self._room < self.size_bytes + total:
            self._grow(total)

        at: cython.Py_ssize_t = RECORD_BATCH_OVERHEAD + self.size_bytes
        sink: Sink = _sink(self._data)
        at = put_varint(sink, at, size)
        sink[at] = 0
        at = put_varint(sink, at + 1, delta)
        at = put_varint(sink, at, self.count)
        if key is None:
            sink[at] = 1
            at += 1
        else:
            at = put_varint(sink, at, key_size)
            copy(sink, at, _source(key), 0, key_size)
            at += key_size
        if value is None:
            sink[at] = 1
            at += 1
        else:
            at = put_varint(sink, at, value_size)
            copy(sink, at, _source(value), 0, value_size)
            at += value_size
        copy(sink, at, _source(headers), 0, headers_size)

        self._count_in(timestamp, total, size - fixed)
        return max(self.estimated_bytes - before, 1)

    def _count_in(self, timestamp: cython.longlong, total: cython.Py_ssize_t, content: cython.Py_ssize_t) -> None:
        estimate: cython.Py_ssize_t
        self.count += 1
        self.size_bytes += total
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        if content + RECORD_BATCH_OVERHEAD + RECORD_OVERHEAD > self.largest_bytes:
            self.largest_bytes = content + RECORD_BATCH_OVERHEAD + RECORD_OVERHEAD
        if cython.compiled:
            estimate = cython.cast(cython.Py_ssize_t, self.size_bytes * self._factor)
        else:
            estimate = int(self.size_bytes * self._factor)
        self.estimated_bytes = RECORD_BATCH_OVERHEAD + estimate
        if self.limit_bytes <= self.estimated_bytes:
            self.full = True

    def _grow(self, total: cython.Py_ssize_t):
        """Makes room; compressed records may be many times the limit, and few need not fill it."""
        more: cython.Py_ssize_t = max(self._room, total)
        if cython.compiled:
            PyByteArray_Resize(self._data, RECORD_BATCH_OVERHEAD + self._room + more)
        else:
            self._data += bytes(more)
        self._room += more

    def close_without_header(self) -> memoryview:
        """A view of the encoded records; nothing can be appended any more."""
        return self.close_with_header_room()[RECORD_BATCH_OVERHEAD:]

    def close_with_header_room(self) -> memoryview:
        """A view of room for the header, and the records; nothing can be appended any more."""
        self.full = True
        return memoryview(self._data)[: RECORD_BATCH_OVERHEAD + self.size_bytes]

    def release(self) -> None:
        """Gives the memory back; the numbers stay. Nothing can be appended any more."""
        self.full = True
        self._data = bytearray()


@cython.cfunc
@cython.inline
def _sink(data: bytearray) -> Sink:
    if cython.compiled:
        return cython.cast(Sink, PyByteArray_AS_STRING(data))
    else:
        return data


@cython.cfunc
@cython.inline
def _source(data: bytes) -> Source:
    if cython.compiled:
        return cython.cast(Source, PyBytes_AS_STRING(data))
    else:
        return data
