# The layout of producer/partitioners/sticky_partition.py in C. `buffer` is that of the batch.

cimport cython

from stepdown.protocol.records.record_buffer cimport RecordBuffer


@cython.final
cdef class StickyPartition:
    cdef readonly Py_ssize_t partition
    cdef public long long produced_bytes
    cdef readonly object batch
    cdef RecordBuffer buffer
