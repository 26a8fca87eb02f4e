# What protocol/records/kernel/match_reuse.py takes from others, and its layout in C.

cimport cython

from stepdown.protocol.records.kernel.block_decompression cimport *
from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.reading cimport *
from stepdown.protocol.records.layout cimport *

cdef enum:
    MOST_PARTS = 8192
    LAST_MATCH = 196605
    CELL_BITS = 6
    LAST_LITERALS = 5
    LAST_REPEAT = 12
    FARTHEST = 65535
    SHORT_KEY = 16
    LONGEST_COPY = 64
    SHORT_COPY = 12
    NEAR = 2048
    SHORT_LITERALS = 60


cdef Py_ssize_t put_length(Sink sink, Py_ssize_t to, Py_ssize_t rest) noexcept nogil
cdef Py_ssize_t put_lz4_literals(
    Sink sink, Py_ssize_t to, Source data, Py_ssize_t at, Py_ssize_t size, Py_ssize_t match_rest
) noexcept nogil
cdef Py_ssize_t put_lz4_sequence(
    Sink sink, Py_ssize_t to, Source data, Py_ssize_t done, Py_ssize_t at, Py_ssize_t size, unsigned int distance
) noexcept nogil
cdef Py_ssize_t put_element(Sink sink, Py_ssize_t to, Source data, Py_ssize_t at, Py_ssize_t size) noexcept nogil
cdef inline Py_ssize_t put_copies(
    Sink sink, Py_ssize_t to, Source data, Py_ssize_t done, Py_ssize_t at, Py_ssize_t size, unsigned int distance
) noexcept nogil


@cython.final
cdef class MatchReuse:
    cdef object space
    cdef Words parts
    cdef Words cells
    cdef Words matches
    cdef Source headers
    cdef Words repeats
    cdef Py_ssize_t repeats_count
    cdef Py_ssize_t next
    cdef Py_ssize_t parts_count
    cdef Py_ssize_t cells_count
    cdef Py_ssize_t last
    cdef Py_ssize_t head
    cdef Source messages
    cdef int codec
    cdef Sink sink
    cdef Py_ssize_t to
    cdef void begin_stream(self, int codec, int magic, Sink sink, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t end_stream(self) noexcept nogil
    cdef void compress(
        self,
        Item item,
        Source opened,
        Py_ssize_t size,
        Words repeats,
        Py_ssize_t repeats_count,
        Sink messages,
        Py_ssize_t messages_size,
        int magic,
    ) noexcept nogil
    cdef void add_matches_of_head(self, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void add_matches_of_part(self, unsigned int at, unsigned int to, unsigned int size, bint notes) noexcept nogil
    cdef void add_match_cut_at_parts(
        self, unsigned int at, unsigned int size, unsigned int source, Py_ssize_t part
    ) noexcept nogil
    cdef void add(self, unsigned int at, unsigned int size, unsigned int distance, bint in_head) noexcept nogil
    cdef bint extend(self, unsigned int at, unsigned int size, unsigned int distance, bint in_head) noexcept nogil
    cdef bint repeats_from(self, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void write_blocks(self, Source messages, Py_ssize_t size) noexcept nogil
    cdef Py_ssize_t begin_block(self, Py_ssize_t to, Py_ssize_t size) noexcept nogil
    cdef Py_ssize_t end_block(
        self, Py_ssize_t block, Py_ssize_t to, Source messages, Py_ssize_t begin, Py_ssize_t done, Py_ssize_t stop
    ) noexcept nogil
