# cython: boundscheck=False, wraparound=False, initializedcheck=False
# gzip streams by the functions of the library, inlined. protocol/records/kernel/gzip_streams.py is the readable twin, and says what
# each does.

from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memset

from stepdown.protocol.records.kernel.crc cimport crc32_update
from stepdown.protocol.records.kernel.numbers cimport Sink, Source, little32

cdef enum:
    GZIP_HEADER_BYTES = 10
    GZIP_TRAILER_BYTES = 8
    GZIP_LEVEL = 1
    GZIP_STATE_BYTES = 128 * 1024
    GZIP_LEVEL_BYTES = 282624

# Up to their internal parts, the same in all releases of ISA-L that gzip_functions.py takes.
cdef struct Deflate:
    const unsigned char *next_in
    uint32_t avail_in
    uint32_t total_in
    unsigned char *next_out
    uint32_t avail_out
    uint32_t total_out
    void *hufftables
    uint32_t level
    uint32_t level_buf_size
    unsigned char *level_buf
    uint16_t end_of_stream
    uint16_t flush
    uint16_t gzip_flag
    uint16_t hist_bits

cdef struct Inflate:
    unsigned char *next_out
    uint32_t avail_out
    uint32_t total_out
    const unsigned char *next_in
    uint64_t read_in
    uint32_t avail_in
    int32_t read_in_length

ctypedef void (*Makes)(void *state) noexcept nogil
ctypedef int (*Works)(void *state) noexcept nogil

cdef struct GzipStreams:
    bint at_hand
    Makes make_open
    Works open
    Makes make_close
    Works close
    Py_ssize_t state_bytes


cdef inline GzipStreams gzip_streams(object functions):
    cdef GzipStreams streams
    memset(&streams, 0, sizeof(streams))
    streams.at_hand = functions is not None
    if functions is not None:
        streams.make_open = <Makes><uintptr_t>functions[0]
        streams.open = <Works><uintptr_t>functions[1]
        streams.make_close = <Makes><uintptr_t>functions[2]
        streams.close = <Works><uintptr_t>functions[3]
        streams.state_bytes = GZIP_STATE_BYTES + GZIP_LEVEL_BYTES
    return streams


cdef inline Py_ssize_t open_stream(
    GzipStreams streams, Sink state, Source data, Py_ssize_t at, Py_ssize_t size, Sink opened, Py_ssize_t room
) noexcept nogil:
    cdef Inflate *inflate = <Inflate *>state
    cdef Py_ssize_t end = at + size
    if size < GZIP_HEADER_BYTES + GZIP_TRAILER_BYTES or little32(data, at) != 0x00088B1F:
        return -1
    streams.make_open(state)
    inflate.next_in = data + at + GZIP_HEADER_BYTES
    inflate.avail_in = <uint32_t>(size - GZIP_HEADER_BYTES - GZIP_TRAILER_BYTES)
    inflate.next_out = opened
    inflate.avail_out = <uint32_t>room
    if streams.open(state) != 0 or inflate.avail_in or little32(data, end - 4) != inflate.total_out:
        return -1
    if little32(data, end - 8) != crc32_update(0, opened, inflate.total_out):
        return -1
    return inflate.total_out


cdef inline Py_ssize_t close_stream(
    GzipStreams streams, Sink state, Source data, Py_ssize_t size, Sink sink, Py_ssize_t to, Py_ssize_t room
) noexcept nogil:
    cdef Deflate *deflate = <Deflate *>state
    streams.make_close(state)
    deflate.level = GZIP_LEVEL
    deflate.level_buf_size = GZIP_LEVEL_BYTES
    deflate.level_buf = state + GZIP_STATE_BYTES
    deflate.end_of_stream = 1
    deflate.gzip_flag = 1
    deflate.next_in = data
    deflate.avail_in = <uint32_t>size
    deflate.next_out = sink + to
    deflate.avail_out = <uint32_t>room
    if streams.close(state) != 0 or deflate.avail_in or not deflate.avail_out:
        return 0
    return deflate.total_out
