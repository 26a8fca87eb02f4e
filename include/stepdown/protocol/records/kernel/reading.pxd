# Records, messages and batches in a buffer, inlined into every loop. protocol/records/kernel/reading.py is the readable twin, and
# says what each does.

from stepdown.protocol.records.kernel.item cimport Item
from stepdown.protocol.records.kernel.numbers cimport Source, get32, get64, varint, varlong
from stepdown.protocol.records.layout cimport *


cdef inline Py_ssize_t skip_headers(Source data, Py_ssize_t at, Py_ssize_t end, long long count) noexcept nogil:
    cdef long long size
    if count < 0 or count > end - at:
        return end + 1
    while count > 0 and at <= end:
        count -= 1
        size, at = varint(data, at, end)
        if size < 0 or size > end - at:
            return end + 1
        size, at = varint(data, at + size, end)
        if size > 0:
            if size > end - at:
                return end + 1
            at += size
    return at


cdef inline Py_ssize_t read_record(Item item, Source data, Py_ssize_t at, Py_ssize_t limit) noexcept nogil:
    cdef long long size
    cdef Py_ssize_t end
    size, at = varint(data, at, limit)
    if size <= 0 or size > limit - at:
        return -1
    end = at + size
    item.timestamp, at = varlong(data, at + 1, end)
    item.offset, at = varint(data, at, end)
    size, at = varint(data, at, end)
    item.key_at = at
    item.key_size = size if size >= 0 else -1
    if size > 0:
        if size > end - at:
            return -1
        at += size
    size, at = varint(data, at, end)
    item.value_at = at
    item.value_size = size if size >= 0 else -1
    if size > 0:
        if size > end - at:
            return -1
        at += size
    if end - at == 1 and data[at] == 0:
        item.headers_at = end
        item.header_count = 0
        return end
    size, at = varint(data, at, end)
    item.headers_at = at
    item.header_count = size
    if size != 0:
        at = skip_headers(data, at, end, size)
    return at if at == end else -1


cdef inline bint read_message(Item item, Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    cdef long long size
    item.offset = get64(data, at)
    item.magic = data[at + MAGIC_OFFSET]
    item.attributes = data[at + LEGACY_ATTRIBUTES_OFFSET]
    item.timestamp = NO_TIMESTAMP
    if item.magic > 1 or end - at < (V1_OVERHEAD if item.magic == 1 else V0_OVERHEAD):
        return False
    if item.magic == 1:
        item.timestamp = get64(data, at + V1_TIMESTAMP_OFFSET)
        at += V1_OVERHEAD - 8
    else:
        at += V0_OVERHEAD - 8
    size = get32(data, at)
    at += 4
    item.key_at = at
    item.key_size = size if size >= 0 else -1
    if size > 0:
        if size > end - at - 4:
            return False
        at += size
    size = get32(data, at)
    at += 4
    item.value_at = at
    item.value_size = size if size >= 0 else -1
    return size <= end - at


cdef inline long long record_size_at(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t last = at
    cdef long long size
    while last < end and last - at < 5:
        if data[last] < 0x80:
            size = varint(data, at, last + 1)[0]
            return size + (last + 1 - at) if size > 0 else -1
        last += 1
    return -1 if last - at == 5 else 0


cdef inline long long message_size_at(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    cdef long long size
    if end - at < LOG_OVERHEAD:
        return 0
    size = get32(data, at + 8)
    return -1 if size < V0_OVERHEAD - LOG_OVERHEAD else size + LOG_OVERHEAD


cdef inline Py_ssize_t batch_end(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t size
    cdef int magic
    if end - at < LOG_OVERHEAD:
        return 0
    size = get32(data, at + 8)
    if size < V0_OVERHEAD - LOG_OVERHEAD:
        return -1
    if end - at <= MAGIC_OFFSET:
        return 0
    magic = data[at + MAGIC_OFFSET]
    if magic > 2:
        return -1
    if size > end - at - LOG_OVERHEAD:
        return 0
    size += LOG_OVERHEAD
    if size < (RECORD_BATCH_OVERHEAD if magic == 2 else V1_OVERHEAD if magic == 1 else V0_OVERHEAD):
        return -1
    return at + size
