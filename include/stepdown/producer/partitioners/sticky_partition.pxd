# The layout of producer/partitioners/sticky_partition.py in C.

cimport cython

from stepdown.protocol.records.growing_batch cimport GrowingBatch


@cython.final
cdef class StickyPartition:
    cdef readonly Py_ssize_t partition
    cdef public long long produced_bytes
    cdef readonly object batch
    cdef readonly GrowingBatch buffer
