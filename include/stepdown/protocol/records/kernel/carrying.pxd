# What protocol/records/kernel/carrying.py takes from others, and its layout in C.

cimport cython

from stepdown.protocol.records.kernel.buffers cimport *
from stepdown.protocol.records.kernel.deflate cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.reading cimport *
from stepdown.protocol.records.layout cimport *

cdef enum:
    MOST_PARTS = 4096
    MOST_OPENED = 131072
    MOST_REPEATS = 16384
    CELL_BITS = 6
    LEAST_CARRIED = 4
    SAMPLES = 512
    MOST_MARKED = 64
    LEAST_OF_HEAD = 6
    REPEAT_BITS = 160
    LONGEST_OF_BYTES = 65535
    SHORT_KEY = 16


@cython.final
cdef class Carrying:
    cdef object space
    cdef Words logarithms
    cdef Words frequencies
    cdef Words least
    cdef Py_ssize_t window
    cdef unsigned int longest
    cdef bint is_weighed
    cdef Words parts
    cdef Words cells
    cdef Sink present
    cdef Words carried
    cdef Py_ssize_t carried_count
    cdef Py_ssize_t carried_end
    cdef Py_ssize_t written
    cdef Words repeats
    cdef Py_ssize_t repeated
    cdef Py_ssize_t next
    cdef Py_ssize_t parts_count
    cdef Py_ssize_t cells_count
    cdef void carry(
        self,
        Item item,
        Source opened,
        Py_ssize_t size,
        Source present,
        Words repeats,
        Py_ssize_t repeated,
        Sink messages,
        Py_ssize_t written,
        int target,
    ) noexcept nogil
    cdef void take_bytes(self, Py_ssize_t window) noexcept nogil
    cdef void weigh(self, Source opened, Py_ssize_t size) noexcept nogil
    cdef void carry_head(self, Sink messages, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void carry_runs(self, Sink messages, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void carry_same(self, Sink messages, Py_ssize_t at, Py_ssize_t most, Py_ssize_t distance) noexcept nogil
    cdef void mark(self, Sink messages, Py_ssize_t at, Py_ssize_t size) noexcept nogil
    cdef void carry_part(self, unsigned int at, unsigned int to, unsigned int size, bint notes) noexcept nogil
    cdef void carry_repeat(self, unsigned int at, unsigned int to, unsigned int size, unsigned int distance) noexcept nogil
    cdef void note(self, unsigned int at, unsigned int size, unsigned int distance) noexcept nogil
