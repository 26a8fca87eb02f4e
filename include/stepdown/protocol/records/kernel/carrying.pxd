# What protocol/records/kernel/carrying.py takes from others, and its layout in C.

cimport cython

from stepdown.protocol.records.kernel.buffers cimport *
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
    LONGEST_CARRIED = 65535
    SHORT_KEY = 16


@cython.final
cdef class Carrying:
    cdef object space
    cdef Words parts
    cdef Words cells
    cdef Words carried
    cdef Py_ssize_t carried_count
    cdef Py_ssize_t carried_end
    cdef unsigned int window
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
        Words repeats,
        Py_ssize_t repeated,
        unsigned int window,
        Sink messages,
        Py_ssize_t written,
        int target,
    ) noexcept nogil
    cdef void carry_runs(self, Sink messages, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void carry_part(self, unsigned int at, unsigned int to, unsigned int size, bint notes) noexcept nogil
    cdef void carry_repeat(self, unsigned int at, unsigned int to, unsigned int size, unsigned int distance) noexcept nogil
    cdef void note(self, unsigned int at, unsigned int size, unsigned int distance) noexcept nogil
