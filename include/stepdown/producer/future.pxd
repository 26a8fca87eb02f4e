# The layout of producer/future.py in C.

cimport cython


@cython.final
@cython.freelist(256)
cdef class Delivery:
    cdef readonly object topic
    cdef readonly long long timestamp
    cdef readonly Py_ssize_t key_size
    cdef readonly Py_ssize_t value_size
    cdef readonly object callback
    cdef readonly object batch
    cdef readonly Py_ssize_t index
    cdef readonly list waiters
    cdef object refusal
    cpdef lie_in(self, batch, Py_ssize_t index)
