# The layout of protocol/records/kernel/item.py in C.

cimport cython


@cython.final
cdef class Item:
    cdef long long offset
    cdef long long timestamp
    cdef int magic
    cdef int attributes
    cdef Py_ssize_t key_at
    cdef Py_ssize_t key_size
    cdef Py_ssize_t value_at
    cdef Py_ssize_t value_size
    cdef Py_ssize_t headers_at
    cdef long long header_count
