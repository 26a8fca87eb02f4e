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
    CELL_BITS = 6
    LAST_LITERALS = 5
    LAST_REPEAT = 12
    FARTHEST = 65535
    SHORT_KEY = 16
    LONGEST_COPY = 64
    SHORT_COPY = 12
    NEAR = 2048
    SHORT_LITERALS = 60


@cython.final
cdef class MatchReuse:
    cdef object space
    cdef Words parts
    cdef Words cells
    cdef Source headers
    cdef Words repeats
    cdef Py_ssize_t repeated
    cdef Py_ssize_t next
    cdef Py_ssize_t parts_count
    cdef Py_ssize_t cells_count
    cdef Py_ssize_t found_at
    cdef Py_ssize_t found_size
    cdef Py_ssize_t distance
    cdef bint in_head
    cdef Source messages
    cdef int codec
    cdef Py_ssize_t size
    cdef Py_ssize_t begin
    cdef Py_ssize_t stop
    cdef Py_ssize_t done
    cdef Py_ssize_t last_begin
    cdef Py_ssize_t last_end
    cdef Sink sink
    cdef Py_ssize_t block_at
    cdef Py_ssize_t to
    cdef void begin_stream(self, int codec, int target, Sink sink, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t end_stream(self) noexcept nogil
    cdef void carry(
        self,
        Item item,
        Source opened,
        Py_ssize_t size,
        Words repeats,
        Py_ssize_t repeated,
        Sink messages,
        Py_ssize_t written,
        int target,
    ) noexcept nogil
    cdef void carry_runs(self, Sink messages, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void carry_part(self, unsigned int at, unsigned int to, unsigned int size, bint notes) noexcept nogil
    cdef void carry_pieces(self, unsigned int to, unsigned int size, unsigned int source, Py_ssize_t part) noexcept nogil
    cdef void found(self, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance, bint in_head) noexcept nogil
    cdef bint repeats_from(self, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void put_repeat(self, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void put_pieces(self, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef void put_sequence(self, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef Py_ssize_t put_literals(
        self, Sink sink, Py_ssize_t to, Source data, Py_ssize_t at, Py_ssize_t size
    ) noexcept nogil
    cdef Py_ssize_t put_length(self, Sink sink, Py_ssize_t to, Py_ssize_t rest) noexcept nogil
    cdef void put_copies(self, Py_ssize_t at, Py_ssize_t size, Py_ssize_t distance) noexcept nogil
    cdef Py_ssize_t put_element(
        self, Sink sink, Py_ssize_t to, Source data, Py_ssize_t at, Py_ssize_t size
    ) noexcept nogil
    cdef void begin_blocks(self, Source messages, Py_ssize_t size) noexcept nogil
    cdef void end_blocks(self) noexcept nogil
    cdef void begin_block(self, Py_ssize_t begin) noexcept nogil
    cdef void end_block(self) noexcept nogil
