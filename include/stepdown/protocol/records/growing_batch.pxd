# The layout of protocol/records/growing_batch.py in C, and what it takes from others.

cimport cython

from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.layout cimport RECORD_BATCH_OVERHEAD


@cython.final
cdef class GrowingBatch:
    cdef readonly Py_ssize_t limit_bytes
    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t size_bytes
    cdef readonly Py_ssize_t estimated_bytes
    cdef readonly Py_ssize_t largest_bytes
    cdef readonly long long base_timestamp
    cdef readonly long long max_timestamp
    cdef public bint full
    cdef double _factor
    cdef bytearray _data
    cdef Py_ssize_t _room
    cpdef Py_ssize_t append(self, long long timestamp, bytes key, bytes value, bytes headers) except -1
    cdef void _count_in(self, long long timestamp, Py_ssize_t total, Py_ssize_t content) noexcept
    cdef int _grow(self, Py_ssize_t total) except -1
