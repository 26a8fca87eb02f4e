# Checksums of bytes in place: what every loop takes from crc.h, inlined. protocol/records/kernel/crc.py is the readable twin.

from stepdown.protocol.records.kernel.numbers cimport Source, get32

cdef extern from "crc.h" nogil:
    void crc_prepare()
    unsigned int crc32_update(unsigned int crc, const unsigned char *data, size_t size)
    unsigned int crc32c_update(unsigned int crc, const unsigned char *data, size_t size)
    void crc32_seal(unsigned char *message, size_t size)


cdef inline unsigned int crc32_over(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    return crc32_update(0, data + at, end - at)


cdef inline unsigned int crc32c_over(Source data, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    return crc32c_update(0, data + at, end - at)


cdef inline unsigned int crc_at(Source data, Py_ssize_t at) noexcept nogil:
    return <unsigned int>get32(data, at)
