# What protocol/records/conversion/compressed_batch.py takes from others, and its layout in C.

cimport cython

from stepdown.protocol.records.kernel.block_decompression cimport *
from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.match_reuse cimport MatchReuse, MOST_PARTS
from stepdown.protocol.records.kernel.crc cimport crc_prepare
from stepdown.protocol.records.kernel.down cimport *
from stepdown.protocol.records.kernel.run_status cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.reading cimport *
from stepdown.protocol.records.layout cimport *


@cython.final
cdef class CompressedBatchLoop:
    cdef RecordsDown down
    cdef Item item
    cdef object buffer
    cdef Sink messages
    cdef BlockDecompressor blocks
    cdef MatchReuse match_reuse
    cdef Source source
    cdef Sink sink
    cdef Py_ssize_t size
    cdef Py_ssize_t room
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef int target
    cdef Py_ssize_t overhead
    cdef int attributes
    cdef Py_ssize_t behind
    cdef Py_ssize_t wanted
    cdef Py_ssize_t opened
    cdef long long records
    cdef long long temporary_bytes
    cdef Py_ssize_t opened_left
    cdef object convert(
        self, object source, Py_ssize_t at, int target, object out, Py_ssize_t end, Py_ssize_t most_opened
    )
    cdef void prepare(
        self, Source source, Py_ssize_t size, Py_ssize_t at, int target, Sink sink, Py_ssize_t room, Py_ssize_t end
    ) noexcept nogil
    cdef int convert_batches(self, RecordsDown down, Item item) noexcept nogil
    cdef int convert_batch(self, RecordsDown down, Item item) noexcept nogil
    cdef int convert_records(self, RecordsDown down, Item item, Source opened, Py_ssize_t size) noexcept nogil
    cdef void finish_wrapper(self, RecordsDown down, Py_ssize_t stop) noexcept nogil
    cdef int convert_with_library(self, object source, object out) except -1
    cdef int convert_decompressed(self, object opened) except -1
    cdef int convert_by_blocks(self, RecordsDown down, Item item, int codec) noexcept nogil
