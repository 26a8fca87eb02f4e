# The layout of producer/pending_record.py in C.

cimport cython

from stepdown.producer.delivery cimport Delivery


@cython.final
@cython.freelist(256)
cdef class PendingRecord:
    cdef readonly object topic
    cdef readonly object partition
    cdef readonly bytes key
    cdef readonly bytes value
    cdef readonly bytes headers
    cdef readonly long long bound_bytes
    cdef readonly Delivery delivery
    cdef public long long deadline_ms
    cdef public long long short_of
    cdef public object chosen
