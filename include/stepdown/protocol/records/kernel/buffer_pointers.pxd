# cython: boundscheck=False, wraparound=False, initializedcheck=False
# Buffers of Python as pointers. protocol/records/kernel/buffer_pointers.py is the readable twin.

from stepdown.protocol.records.kernel.numbers cimport Sink, Source, Words

cdef enum:
    RELEASE_BYTES = 4096


cdef inline Source source_of(const unsigned char[::1] data) noexcept:
    return &data[0]


cdef inline Sink sink_of(unsigned char[::1] data) noexcept:
    return &data[0]


cdef inline Words words_of(unsigned int[::1] data) noexcept:
    return &data[0]
