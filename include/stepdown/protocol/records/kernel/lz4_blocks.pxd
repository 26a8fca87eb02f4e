# cython: boundscheck=False, wraparound=False, initializedcheck=False
# LZ4 blocks by the functions of the library, inlined. protocol/records/kernel/lz4_blocks.py is the readable twin, and says what each
# does.

from libc.stdint cimport uintptr_t
from libc.string cimport memset

from stepdown.protocol.records.kernel.numbers cimport Sink, Source

ctypedef int (*Opens)(const char *source, char *sink, int size, int room) noexcept nogil
ctypedef void *(*Clears)(void *state, size_t size) noexcept nogil
ctypedef int (*Closes)(void *state, const char *source, char *sink, int size, int room, int acceleration) noexcept nogil

cdef struct Lz4Blocks:
    bint at_hand
    Opens opens
    Clears clears
    Closes closes
    Py_ssize_t state_bytes


cdef inline Lz4Blocks lz4_blocks(object functions):
    cdef Lz4Blocks blocks
    memset(&blocks, 0, sizeof(blocks))
    blocks.at_hand = functions is not None
    if functions is not None:
        blocks.opens = <Opens><uintptr_t>functions[0]
        blocks.clears = <Clears><uintptr_t>functions[1]
        blocks.closes = <Closes><uintptr_t>functions[2]
        blocks.state_bytes = functions[3]
    return blocks


cdef inline Py_ssize_t open_block(
    Lz4Blocks blocks, Source data, Py_ssize_t at, Py_ssize_t size, Sink opened, Py_ssize_t room
) noexcept nogil:
    return blocks.opens(<const char *>data + at, <char *>opened, <int>size, <int>room)


cdef inline Py_ssize_t close_block(
    Lz4Blocks blocks, Sink state, Source data, Py_ssize_t at, Py_ssize_t size, Sink sink, Py_ssize_t to, Py_ssize_t room
) noexcept nogil:
    if blocks.clears(state, blocks.state_bytes) == NULL:
        return 0
    return blocks.closes(state, <const char *>data + at, <char *>sink + to, <int>size, <int>room, 1)
