# Bytes and numbers, inlined into every loop. protocol/records/kernel/numbers.py is the readable twin, and says what each does.

from libc.stdint cimport uint16_t
from libc.string cimport memcpy, memmove

# Not endian.h, which macOS has not.
cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define STEPDOWN_LITTLE16(value) __builtin_bswap16(value)
    #else
    #define STEPDOWN_LITTLE16(value) (value)
    #endif
    """
    uint16_t little16_or_back "STEPDOWN_LITTLE16" (uint16_t value) nogil

ctypedef const unsigned char *Source
ctypedef unsigned char *Sink
ctypedef unsigned int *Words


cdef inline void copy(Sink sink, Py_ssize_t to, Source data, Py_ssize_t at, Py_ssize_t size) noexcept nogil:
    memcpy(sink + to, data + at, size)


cdef inline void move(Sink sink, Py_ssize_t to, Py_ssize_t at, Py_ssize_t size) noexcept nogil:
    memmove(sink + to, sink + at, size)


cdef inline long long add64(long long a, long long b) noexcept nogil:
    return a + b


cdef inline long long get32(Source data, Py_ssize_t at) noexcept nogil:
    return <int>(
        <unsigned int>data[at] << 24
        | <unsigned int>data[at + 1] << 16
        | <unsigned int>data[at + 2] << 8
        | <unsigned int>data[at + 3]
    )


cdef inline long long get64(Source data, Py_ssize_t at) noexcept nogil:
    return get32(data, at) << 32 | <unsigned int>get32(data, at + 4)


cdef inline void put32(Sink sink, Py_ssize_t at, long long value) noexcept nogil:
    sink[at] = value >> 24 & 0xFF
    sink[at + 1] = value >> 16 & 0xFF
    sink[at + 2] = value >> 8 & 0xFF
    sink[at + 3] = value & 0xFF


cdef inline void put64(Sink sink, Py_ssize_t at, long long value) noexcept nogil:
    put32(sink, at, value >> 32)
    put32(sink, at + 4, value)


cdef inline unsigned int little32(Source data, Py_ssize_t at) noexcept nogil:
    cdef unsigned int high = data[at + 3]
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16 | high << 24


cdef inline void put_little32(Sink sink, Py_ssize_t at, unsigned int value) noexcept nogil:
    sink[at] = value & 0xFF
    sink[at + 1] = value >> 8 & 0xFF
    sink[at + 2] = value >> 16 & 0xFF
    sink[at + 3] = value >> 24


cdef inline void put_little16(Sink sink, Py_ssize_t at, unsigned int value) noexcept nogil:
    cdef uint16_t turned = little16_or_back(<uint16_t>value)
    memcpy(sink + at, &turned, 2)


cdef inline long long unzigzag(unsigned long long value) noexcept nogil:
    cdef long long half = value >> 1
    cdef long long sign = value & 1
    return half ^ -sign


cdef inline (long long, Py_ssize_t) long_varint(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    cdef unsigned long long byte
    cdef unsigned long long value = 0
    cdef int shift = 0
    while at < end and shift < 35:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return unzigzag(<unsigned int>value), at
        shift += 7
    return 0, end + 1


cdef inline (long long, Py_ssize_t) varint(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    if at < end and data[at] < 0x80:
        return unzigzag(data[at]), at + 1
    if end - at > 1 and data[at + 1] < 0x80:
        return unzigzag(data[at] & 0x7F | <unsigned int>data[at + 1] << 7), at + 2
    return long_varint(data, at, end)


cdef inline (long long, Py_ssize_t) long_varlong(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    cdef unsigned long long byte
    cdef unsigned long long value = 0
    cdef int shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return unzigzag(value), at
        shift += 7
    return 0, end + 1


cdef inline (long long, Py_ssize_t) varlong(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    if at < end and data[at] < 0x80:
        return unzigzag(data[at]), at + 1
    if end - at > 1 and data[at + 1] < 0x80:
        return unzigzag(data[at] & 0x7F | <unsigned int>data[at + 1] << 7), at + 2
    return long_varlong(data, at, end)


cdef inline unsigned long long zigzag(long long value) noexcept nogil:
    return (value << 1) ^ (value >> 63)


cdef inline Py_ssize_t varint_size(long long value) noexcept nogil:
    cdef unsigned long long rest = zigzag(value) >> 7
    cdef Py_ssize_t size = 1
    while rest:
        rest >>= 7
        size += 1
    return size


cdef inline Py_ssize_t put_varint(Sink sink, Py_ssize_t at, long long value) noexcept nogil:
    cdef unsigned long long rest = zigzag(value)
    while rest > 0x7F:
        sink[at] = rest & 0x7F | 0x80
        rest >>= 7
        at += 1
    sink[at] = <unsigned char>rest
    return at + 1
