# The layout of producer/accumulator/waiting_record.py in C.

cimport cython


@cython.final
@cython.freelist(256)
cdef class WaitingRecord:
    cdef readonly object topic
    cdef readonly object partition
    cdef readonly tuple entry
    cdef readonly long long deadline_ms
    cdef public long long short_of
    cdef public object chosen
