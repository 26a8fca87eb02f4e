# What kernel.py takes from crc.h when it is compiled.

cdef extern from "crc.h" nogil:
    void crc_prepare()
    unsigned int crc32_update(unsigned int crc, const unsigned char *data, size_t size)
    unsigned int crc32c_update(unsigned int crc, const unsigned char *data, size_t size)
