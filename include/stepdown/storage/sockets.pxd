# How compiled modules give bytes to a socket that does not block.

from libc.errno cimport EAGAIN, EINTR, errno
from libc.string cimport memset

from stepdown.protocol.records.kernel.numbers cimport Sink

cdef extern from "<sys/socket.h>" nogil:
    struct iovec:
        void *iov_base
        size_t iov_len
    struct msghdr:
        iovec *msg_iov
        size_t msg_iovlen
    enum:
        MSG_NOSIGNAL
    ssize_t send(int socket, const void *data, size_t size, int flags)
    ssize_t sendmsg(int socket, const msghdr *message, int flags)


cdef inline Py_ssize_t offer(int socket, Sink chunk, Py_ssize_t size) noexcept nogil:
    # Bytes taken, 0 when there is no room, less when the peer has gone.
    return taken_of(send(socket, chunk, size, MSG_NOSIGNAL))


cdef inline Py_ssize_t offer_both(int socket, Sink head, Py_ssize_t head_size, Sink chunk, Py_ssize_t size) noexcept nogil:
    # As `offer`, of what lies in two places.
    cdef iovec places[2]
    cdef msghdr message
    memset(&message, 0, sizeof(message))
    places[0].iov_base, places[0].iov_len = head, head_size
    places[1].iov_base, places[1].iov_len = chunk, size
    message.msg_iov, message.msg_iovlen = places, 2
    return taken_of(sendmsg(socket, &message, MSG_NOSIGNAL))


cdef inline Py_ssize_t taken_of(Py_ssize_t taken) noexcept nogil:
    return 0 if taken < 0 and (errno == EAGAIN or errno == EINTR) else -errno if taken < 0 else taken
