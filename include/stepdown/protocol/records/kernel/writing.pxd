# Messages into a buffer, inlined. protocol/records/kernel/writing.py is the readable twin, and says what each does.

from stepdown.protocol.records.kernel.crc cimport crc32_seal
from stepdown.protocol.records.kernel.item cimport Item
from stepdown.protocol.records.kernel.numbers cimport Sink, Source, copy, get32, put32, put64
from stepdown.protocol.records.layout cimport *


cdef inline Py_ssize_t size_as_message(Item item, int magic) noexcept nogil:
    cdef Py_ssize_t size = V1_OVERHEAD if magic == 1 else V0_OVERHEAD
    if item.key_size > 0:
        size += item.key_size
    if item.value_size > 0:
        size += item.value_size
    return size


cdef inline void write_message(
    Item item,
    Source data,
    Sink sink,
    Py_ssize_t at,
    Py_ssize_t size,
    int magic,
    int attributes,
    long long offset,
    long long timestamp,
) noexcept nogil:
    put64(sink, at, offset)
    put32(sink, at + 8, size - LOG_OVERHEAD)
    sink[at + MAGIC_OFFSET] = magic
    sink[at + LEGACY_ATTRIBUTES_OFFSET] = attributes
    at += V1_TIMESTAMP_OFFSET
    if magic == 1:
        put64(sink, at, timestamp)
        at += 8
    put32(sink, at, item.key_size)
    at += 4
    if item.key_size > 0:
        copy(sink, at, data, item.key_at, item.key_size)
        at += item.key_size
    put32(sink, at, item.value_size)
    if item.value_size > 0:
        copy(sink, at + 4, data, item.value_at, item.value_size)


cdef inline void put_checksums(Sink sink, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    crc32_seal(sink + at, end - at)
