# The layout of producer/send_and_delivery.py in C.

cimport cython

from stepdown.protocol.records.record_buffer cimport RecordBuffer


@cython.final
cdef class LoopClock:
    cdef long long _start_ms


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
    cpdef lie_in(self, batch, Py_ssize_t index)
    cdef RecordMetadata _written(self, long long partition, long long base_offset, long long append_time)
    cdef RecordMetadata _not_written(self, long long partition)
    cdef _finish(self, RecordMetadata metadata, error)
    cdef _tell(self)
    cdef _wake(self)
    cdef _listen(self)
    cdef bint _has_ended(self) except -1
    cdef _outcome(self)
    cdef Py_ssize_t _partition(self) except? -2


@cython.final
@cython.freelist(256)
cdef class WaitingRecord:
    cdef readonly object topic
    cdef readonly object partition
    cdef readonly tuple entry
    cdef readonly long long deadline_ms
    cdef public long long short_of
    cdef public object chosen


@cython.final
cdef class StickyPartition:
    cdef readonly Py_ssize_t partition
    cdef public long long produced_bytes
    cdef readonly object batch
    cdef RecordBuffer _buffer


@cython.final
cdef class FastAppend:
    cdef object _view
    cdef object _topic
    cdef object _built_in
    cdef object _accumulator
    cdef object _memory
    cdef object _metadata
    cdef object _generation
    cdef object _line
    cdef object _wake
    cdef dict _queues
    cdef long long _partitions
    cdef bint _ignores_keys
    cdef long long _most_bytes
    cdef long long _most_record_bytes
    cdef long long _max_block_ms
    cdef long long _used_ms
    cpdef send(
        self, bytes key, bytes value, partition, long long timestamp, bytes headers, callback, long long now_ms
    )
    cdef bint _append(self, bytes key, bytes value, partition, bytes headers, Delivery delivery) except -1
    cdef bint _append_sticky(self, bytes key, bytes value, bytes headers, Delivery delivery) except -1
    cdef bint _wait(
        self, bytes key, bytes value, partition, bytes headers, Delivery delivery, long long now_ms
    ) except -1


cdef class FastSend:
    cdef public dict _fast_appends
    cdef public object _clock
    cdef public object _key_serializer
    cdef public object _value_serializer
    cdef public unsigned long _thread
