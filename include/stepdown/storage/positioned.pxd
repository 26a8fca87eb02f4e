# How compiled modules read a file at a position.

from posix.unistd cimport pread

from stepdown.protocol.records.kernel.numbers cimport Sink


cdef inline Py_ssize_t read_into(int file, Sink window, Py_ssize_t at, Py_ssize_t size, long long position) noexcept nogil:
    return pread(file, window + at, size, position)
