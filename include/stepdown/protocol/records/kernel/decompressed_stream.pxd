# The layout of protocol/records/kernel/decompressed_stream.py in C.

from stepdown.protocol.records.kernel.item cimport Item
from stepdown.protocol.records.kernel.numbers cimport Sink, Source


cdef class Stream:
    cdef Source data
    cdef Sink sink
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef Py_ssize_t written
    cdef Py_ssize_t room
    cdef long long wanted
    cdef long long seen
    cdef long long first
    cdef long long last
    cdef long long newest
    cdef Item item
    cdef int take_whole_items(self, Item item) noexcept nogil
