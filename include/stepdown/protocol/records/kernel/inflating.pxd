# What protocol/records/kernel/inflating.py takes from others, and its layout in C.

cimport cython

from stepdown.protocol.records.kernel.buffers cimport *
from stepdown.protocol.records.kernel.crc cimport *
from stepdown.protocol.records.kernel.deflate cimport *
from stepdown.protocol.records.kernel.numbers cimport *

# The largest loop's name in C is Cython's. tests/unit/records/test_clones.py sees when it has another.
cdef extern from *:
    """
    #include "clones.h"
    #ifdef __PYX_HAVE__stepdown__protocol__records__kernel__inflating
    struct __pyx_obj_8stepdown_8protocol_7records_6kernel_9inflating_Inflating;
    STEPDOWN_FOR_BMI2_TOO static int __pyx_f_8stepdown_8protocol_7records_6kernel_9inflating_9Inflating_read_block(
        struct __pyx_obj_8stepdown_8protocol_7records_6kernel_9inflating_Inflating *);
    #endif
    """

cdef extern from *:
    unsigned long long ONE "1ULL"

cdef enum:
    HAS_LENGTH = 0x400
    IS_ALONE = 0x800
    IS_LITERAL = 0x1000
    IS_SPECIAL = 0x2000
    IS_END = 0x4000
    IS_FURTHER = 0x8000
    CODE_BITS = 0x3F
    SHIFT_MASK = 0x3F
    LITERAL_BITS = 9
    LITERAL_MASK = 0x1FF
    LITERAL_SLOTS = 2048
    DISTANCE_BITS = 8
    DISTANCE_MASK = 0xFF
    DISTANCE_SLOTS = 1024
    LITERALS_AT = 512
    DISTANCES_AT = LITERALS_AT + LITERAL_SLOTS
    ALL_SLOTS = DISTANCES_AT + DISTANCE_SLOTS
    LENGTH_BITS = 7
    LENGTH_MASK = 0x7F
    LENGTH_SLOTS = 128
    LEAST_REPEAT = 5
    MOST_OPENED = 131072
    MOST_NOTED = 26216  # MOST_OPENED // LEAST_REPEAT + 2: there are no more, and nobody looks
    OVERSHOOT = 288
    REPEAT_LAST = 16
    REPEAT_ZERO = 17


@cython.final
cdef class Inflating:
    cdef object space
    cdef Words codes
    cdef Words literals
    cdef Words combined
    cdef Words distances
    cdef Words lengths
    cdef Words symbols
    cdef Words sorted
    cdef Words counts
    cdef Words starts
    cdef Words repeats
    cdef Py_ssize_t repeated
    cdef bint is_fixed
    cdef Sink code_lengths
    cdef Source order
    cdef Sink present
    cdef Source data
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef unsigned long long bits
    cdef Py_ssize_t count
    cdef Sink out
    cdef Py_ssize_t to
    cdef Py_ssize_t room
    cdef Py_ssize_t open(self, Source data, Py_ssize_t at, Py_ssize_t end, Sink out, Py_ssize_t room) noexcept nogil
    cdef bint fill(self) noexcept nogil
    cdef bint read_stored(self) noexcept nogil
    cdef bint read_codes(self, int kind) noexcept nogil
    cdef bint read_code_lengths(self, int codes) noexcept nogil
    cdef bint read_block(self) noexcept nogil
    cdef int read_length(self, int number, int codes) noexcept nogil
    cdef bint build(
        self, Words table, int bits, unsigned int slots, int first, int codes, int symbols_at, bint of_data
    ) noexcept nogil
    cdef void combine(self) noexcept nogil
    cdef int bits_further(self, int length, unsigned int here, int bits) noexcept nogil
    cdef void note(self, Py_ssize_t to, unsigned int repeat) noexcept nogil
