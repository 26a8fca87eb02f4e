# Numbers of protocol/records/kernel/deflate.py that the compiled loops know as constants of C.

from stepdown.protocol.records.kernel.numbers cimport Sink, Source, Words, little64, put_little64

cdef enum:
    CODE_LENGTHS = 19
    LITERALS = 256
    END_OF_BLOCK = 256
    FIRST_LENGTH = 257
    LENGTHS = 29
    MOST_LITERAL_CODES = 288
    MOST_DISTANCE_CODES = 32
    DISTANCES = 30
    LONGEST_CODE = 15
    LONGEST_REPEAT = 258
    WINDOW_BYTES = 32768
    STORED = 0
    FIXED = 1
    DYNAMIC = 2
    GZIP_HEADER_BYTES = 10
    GZIP_TRAILER_BYTES = 8
    GZIP_MAGIC = 0x00088B1F
    CODE_AT = 8
    CODE_LENGTH_MASK = 0x3F

cdef extern from *:
    int __builtin_clz(unsigned int value) nogil
    int __builtin_ctzll(unsigned long long value) nogil


cdef inline (unsigned long long, Py_ssize_t, Py_ssize_t) filled(
    unsigned long long bits, Py_ssize_t count, Source data, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    if at > end:
        return bits, count, at
    return bits | little64(data, at) << count, count | 56, at + 7 - (count >> 3)


cdef inline (unsigned long long, Py_ssize_t, Py_ssize_t) flushed(
    unsigned long long bits, Py_ssize_t count, Sink sink, Py_ssize_t to
) noexcept nogil:
    put_little64(sink, to, bits)
    return bits >> (count & 56), count & 7, to + (count >> 3)


cdef inline int bit_length(unsigned int value) noexcept nogil:
    return 32 - __builtin_clz(value) if value else 0


cdef inline int trailing_zeros(unsigned long long value) noexcept nogil:
    return __builtin_ctzll(value)


cdef inline int distance_number(unsigned int distance) noexcept nogil:
    cdef int bits
    if distance < 5:
        return distance - 1
    bits = bit_length(distance - 1) - 2
    return 2 * bits + 2 + (distance - 1 >> bits & 1)


cdef inline unsigned int reversed_bits(unsigned int value, int bits) noexcept nogil:
    value = (value & 0x5555) << 1 | value >> 1 & 0x5555
    value = (value & 0x3333) << 2 | value >> 2 & 0x3333
    value = (value & 0x0F0F) << 4 | value >> 4 & 0x0F0F
    value = (value & 0x00FF) << 8 | value >> 8
    return value >> 16 - bits


cdef inline (unsigned long long, Py_ssize_t) four_codes(Words codes, Source data, Py_ssize_t at) noexcept nogil:
    cdef unsigned int a = codes[data[at]]
    cdef unsigned int b = codes[data[at + 1]]
    cdef unsigned int c = codes[data[at + 2]]
    cdef unsigned int d = codes[data[at + 3]]
    cdef unsigned long long two = b >> CODE_AT
    cdef unsigned long long four = d >> CODE_AT
    two = a >> CODE_AT | two << (a & CODE_LENGTH_MASK)
    four = c >> CODE_AT | four << (c & CODE_LENGTH_MASK)
    return two | four << (a + b & CODE_LENGTH_MASK), a + b + c + d & CODE_LENGTH_MASK
