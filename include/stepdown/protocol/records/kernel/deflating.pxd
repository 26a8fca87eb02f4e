# What protocol/records/kernel/deflating.py takes from others, and its layout in C.

cimport cython

from stepdown.protocol.records.kernel.buffers cimport *
from stepdown.protocol.records.kernel.crc cimport *
from stepdown.protocol.records.kernel.deflate cimport *
from stepdown.protocol.records.kernel.numbers cimport *

# The largest loop's name in C is Cython's. tests/unit/records/test_clones.py sees when it has another.
cdef extern from *:
    """
    #include "clones.h"
    #ifdef __PYX_HAVE__stepdown__protocol__records__kernel__deflating
    struct __pyx_obj_8stepdown_8protocol_7records_6kernel_9deflating_Deflating;
    STEPDOWN_FOR_BMI2_TOO static int __pyx_f_8stepdown_8protocol_7records_6kernel_9deflating_9Deflating_write_data(
        struct __pyx_obj_8stepdown_8protocol_7records_6kernel_9deflating_Deflating *, Py_ssize_t);
    #endif
    """

cdef enum:
    LONGEST_LITERAL = 14
    LONGEST_LENGTH_CODE = 7
    BLOCK_BYTES = 65536
    CODES_WRITTEN = 320
    LITERAL_CODES = 286
    PIECE_BYTES = 32
    LEAST_SKIPPED = 20
    MOST_SKIPPED = 44
    REPEAT_LAST = 16
    REPEAT_ZERO = 17
    REPEAT_ZERO_LONG = 18
    SYMBOL_BITS = 9
    SYMBOL_MASK = 511
    FIRST_DISTANCE = 286
    FIRST_CODE_LENGTH = 316
    ALL_CODES = 335


@cython.final
cdef class Deflating:
    cdef object space
    cdef Words histogram
    cdef Words frequencies
    cdef Words codes
    cdef Words sorted
    cdef Words weights
    cdef Words counts
    cdef Words pieces
    cdef Words numbers
    cdef Words ranges
    cdef Sink lengths
    cdef Source order
    cdef Source data
    cdef Py_ssize_t at
    cdef Py_ssize_t size
    cdef Source present
    cdef Words repeats
    cdef Py_ssize_t repeated
    cdef Py_ssize_t next
    cdef Sink sink
    cdef Py_ssize_t to
    cdef Py_ssize_t limit
    cdef unsigned long long bits
    cdef Py_ssize_t count
    cdef Py_ssize_t close(
        self,
        Source data,
        Py_ssize_t size,
        Source present,
        Words repeats,
        Py_ssize_t repeated,
        Sink sink,
        Py_ssize_t to,
        Py_ssize_t room,
    ) noexcept nogil
    cdef bint close_block(self) noexcept nogil
    cdef Py_ssize_t survey(self, Py_ssize_t limit) noexcept nogil
    cdef void choose(self, int first, int codes, int longest) noexcept nogil
    cdef int sort(self, int first, int codes) noexcept nogil
    cdef void weigh(self, int symbols) noexcept nogil
    cdef void shorten(self, int symbols, int longest) noexcept nogil
    cdef void number(self, int first, int codes) noexcept nogil
    cdef int describe(self, int first, int codes, int pieces) noexcept nogil
    cdef int add_piece(self, int pieces, int symbol, int extra) noexcept nogil
    cdef bint write_codes(self, int lengths, int pieces) noexcept nogil
    cdef void put(self, unsigned int value, int bits) noexcept nogil
    cdef bint write_data(self, Py_ssize_t end) noexcept nogil
