# The layout of producer/fast_send.py in C.

cimport cython

from stepdown.producer.delivery cimport Delivery


@cython.final
cdef class FastAppend:
    cdef object _view
    cdef object _topic
    cdef object _built_in
    cdef object _accumulator
    cdef object _memory
    cdef object _metadata
    cdef object _generation
    cdef object _queue
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
    cdef bint _try_queue_for_memory(
        self, bytes key, bytes value, partition, bytes headers, Delivery delivery, long long now_ms
    ) except -1


cdef class FastSend:
    cdef public dict _fast_appends
    cdef public object _clock
    cdef public object _key_serializer
    cdef public object _value_serializer
    cdef public unsigned long _thread
