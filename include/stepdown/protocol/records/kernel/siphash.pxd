# SipHash-2-4 of 128 bits, inlined. protocol/records/kernel/siphash.py is the readable twin.

from stepdown.protocol.records.kernel.numbers cimport Source

ctypedef unsigned long long Word

cdef struct Words:
    Word a
    Word b
    Word c
    Word d


cdef inline Word rotated(Word value, int bits) noexcept nogil:
    return value << bits | value >> (64 - bits)


cdef inline void mix(Words *v, int rounds) noexcept nogil:
    while rounds > 0:
        rounds -= 1
        v.a += v.b
        v.b = rotated(v.b, 13) ^ v.a
        v.a = rotated(v.a, 32)
        v.c += v.d
        v.d = rotated(v.d, 16) ^ v.c
        v.a += v.d
        v.d = rotated(v.d, 21) ^ v.a
        v.c += v.b
        v.b = rotated(v.b, 17) ^ v.c
        v.c = rotated(v.c, 32)


cdef inline (Word, Word) sip_hash(Word key0, Word key1, Source data, Py_ssize_t at, Py_ssize_t size) noexcept nogil:
    cdef Words v
    cdef Word word
    cdef Word byte
    cdef Word low
    cdef int shift
    cdef Py_ssize_t end = at + size
    v.a = key0 ^ 0x736F6D6570736575ULL
    v.b = key1 ^ 0x646F72616E646F6DULL ^ 0xEE
    v.c = key0 ^ 0x6C7967656E657261ULL
    v.d = key1 ^ 0x7465646279746573ULL
    while at <= end:
        word = 0
        shift = 0
        while shift < 64 and at < end:
            byte = data[at]
            word |= byte << shift
            at += 1
            shift += 8
        if shift < 64:
            byte = size & 0xFF
            word |= byte << 56
            at = end + 1
        v.d ^= word
        mix(&v, 2)
        v.a ^= word
    v.c ^= 0xEE
    mix(&v, 4)
    low = v.a ^ v.b ^ v.c ^ v.d
    v.b ^= 0xDD
    mix(&v, 4)
    return low, v.a ^ v.b ^ v.c ^ v.d
