# The layout of producer/delivery.py in C.

cimport cython


@cython.final
@cython.freelist(64)
cdef class RecordMetadata:
    cdef readonly str topic
    cdef readonly long long partition
    cdef readonly long long offset
    cdef readonly long long timestamp
    cdef readonly long long serialized_key_size
    cdef readonly long long serialized_value_size


@cython.final
@cython.freelist(256)
cdef class Delivery:
    cdef readonly str topic
    cdef readonly long long timestamp
    cdef readonly Py_ssize_t key_size
    cdef readonly Py_ssize_t value_size
    cdef readonly object callback
    cdef readonly object batch
    cdef readonly Py_ssize_t index
    cdef readonly list waiters
    cdef public bint _asyncio_future_blocking
    cdef tuple _refusal
    cdef list _done_callbacks
    cdef bint _listens
    cdef bint _cancelled
    cdef void _begin(self) noexcept
    cpdef enter_batch(self, batch, Py_ssize_t index)
    cdef RecordMetadata _make_metadata(self, long long partition, long long base_offset, long long append_time)
    cdef RecordMetadata _make_metadata_without_offset(self, long long partition)
    cdef _finish(self, RecordMetadata metadata, error)
    cdef _wake_and_call_back(self)
    cdef _wake(self)
    cdef _listen_to_batch(self)
    cdef bint _has_ended(self) except -1
    cdef _outcome(self)
    cdef Py_ssize_t _partition(self) except? -2
