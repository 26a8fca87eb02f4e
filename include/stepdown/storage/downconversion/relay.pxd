# What storage/downconversion/relay.py takes from the operating system and from the kernel.

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.string cimport memmove, memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from stepdown.protocol.records.kernel.buffers cimport *
from stepdown.protocol.records.kernel.faults cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.plain cimport *
from stepdown.protocol.records.kernel.reading cimport batch_end
from stepdown.protocol.records.conversion.compressed_batch cimport SinglesDown
from stepdown.storage.downconversion.helping cimport convert_with_help
from stepdown.storage.positioned cimport read_into
from stepdown.storage.sockets cimport offer, offer_both

cdef enum:
    MOST_CHUNKS = 5

cdef struct Chunk:
    Py_ssize_t stored
    Py_ssize_t at
    Py_ssize_t size
    Py_ssize_t written
    Py_ssize_t padding
    long long records
    long long temporary
    double seconds


cdef inline double now_s() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec + now.tv_nsec * 1e-9


cdef inline void move_to_front(Sink window, Py_ssize_t at, Py_ssize_t size) noexcept nogil:
    memmove(window, window + at, size)


cdef inline void clear(Sink out, Py_ssize_t at, Py_ssize_t size) noexcept nogil:
    memset(out + at, 0, size)
