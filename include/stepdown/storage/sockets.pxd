# How compiled modules give bytes to a socket that does not block.

from libc.errno cimport EAGAIN, EINTR, errno

from stepdown.protocol.records.kernel.numbers cimport Sink

cdef extern from "<sys/socket.h>" nogil:
    enum:
        MSG_NOSIGNAL
    ssize_t send(int socket, const void *data, size_t size, int flags)


cdef inline Py_ssize_t offer(int socket, Sink chunk, Py_ssize_t size) noexcept nogil:
    # Bytes taken, 0 when there is no room, less when the peer has gone.
    cdef Py_ssize_t taken = send(socket, chunk, size, MSG_NOSIGNAL)
    return 0 if taken < 0 and (errno == EAGAIN or errno == EINTR) else -errno if taken < 0 else taken
