# What protocol/records/kernel/block_decompression.py takes from others, and its layout in C.

cimport cython

from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.numbers cimport *

cdef enum:
    LZ4 = 3
    LZ4_HEADER_BYTES = 7
    LZ4_BLOCK_BYTES = 65536
    LEAST_REPEAT = 4
    SNAPPY_HEADER_BYTES = 16
    STEP = 16
    MOST_OPENED = 131072
    MOST_NOTED = 32768
    LONGEST_NOTED = 65535

cdef extern from *:
    unsigned int LZ4_RAW_BLOCK "0x80000000u"


@cython.final
cdef class BlockDecompressor:
    cdef object space
    cdef Words repeats
    cdef Py_ssize_t repeats_count
    cdef Sink opened
    cdef Source headers
    cdef int codec
    cdef Source data
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef bint is_over
    cdef bint notes
    cdef bint begin_stream(self, int codec, Source data, Py_ssize_t at, Py_ssize_t end, bint notes) noexcept nogil
    cdef void keep_from(self, Py_ssize_t at, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t decompress_next(self, Sink out, Py_ssize_t to, Py_ssize_t room) noexcept nogil
    cdef Py_ssize_t decompress_lz4(
        self, Source data, Py_ssize_t at, Py_ssize_t end, Sink out, Py_ssize_t to, Py_ssize_t room
    ) noexcept nogil
    cdef Py_ssize_t decompress_snappy(
        self, Source data, Py_ssize_t at, Py_ssize_t end, Sink out, Py_ssize_t to, Py_ssize_t room
    ) noexcept nogil
    cdef void copy_repeat(self, Sink out, Py_ssize_t to, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void note_repeat(self, Py_ssize_t to, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
