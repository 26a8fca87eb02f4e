# What protocol/records/kernel/down.py takes from others, and its layout in C as far as others use it.

cimport cython

from stepdown.protocol.records.layout cimport *
from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.crc cimport *
from stepdown.protocol.records.kernel.run_status cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.reading cimport *
from stepdown.protocol.records.kernel.decompressed_stream cimport *
from stepdown.protocol.records.kernel.writing cimport *


cdef class MessageStream(Stream):
    cdef int take_whole_items(self, Item item) noexcept nogil
    cdef int write_without_checksums(self, Item item) noexcept nogil


@cython.final
cdef class RecordsDown(MessageStream):
    cdef int target
    cdef int attributes
    cdef bint relative
    cdef long long count
    cdef long long kept
    cdef long long base_offset
    cdef long long base_timestamp
    cdef long long append_time
    cdef long long first_offset
    cdef int begin(self, Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil
    cdef int admit(self, long long delta, long long timestamp) noexcept nogil


cdef void put_wrapper_head(
    Sink sink, Py_ssize_t at, Py_ssize_t end, int magic, int attributes, long long last_offset, long long timestamp
) noexcept nogil
