# The layout of protocol/records/kernel/uncompressed_down.py in C, and what it takes from others.

cimport cython

from stepdown.protocol.records.layout cimport *
from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.crc cimport *
from stepdown.protocol.records.kernel.run_status cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.reading cimport *
from stepdown.protocol.records.kernel.writing cimport *


@cython.final
cdef class UncompressedDown:
    cdef Source data
    cdef Sink sink
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef Py_ssize_t written
    cdef Py_ssize_t room
    cdef int target
    cdef long long first_offset
    cdef bint measure
    cdef long long records
    cdef long long temporary
    cdef long long batches
    cdef long long trimmed


cdef int convert_batches(UncompressedDown run, Item item) noexcept nogil
