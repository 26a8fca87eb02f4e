# What storage/downconversion/helping.py takes from others, and its layout in C.

cimport cython
from cpython.pythread cimport (
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_release_lock,
    PyThread_type_lock,
    WAIT_LOCK,
)

from stepdown.protocol.records.kernel.buffers cimport *
from stepdown.protocol.records.kernel.down cimport *
from stepdown.protocol.records.kernel.faults cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.reading cimport *
from stepdown.protocol.records.layout cimport *
from stepdown.protocol.records.conversion.compressed_batch cimport SinglesDown

cdef extern from *:
    """
    #define STEPDOWN_TAKEN(number) __atomic_fetch_add(number, 1, __ATOMIC_RELAXED)
    #define STEPDOWN_SET(number, value) __atomic_store_n(number, value, __ATOMIC_RELAXED)
    """
    Py_ssize_t taken_of "STEPDOWN_TAKEN" (Py_ssize_t *number) nogil
    void set_to "STEPDOWN_SET" (Py_ssize_t *number, Py_ssize_t value) nogil

cdef enum:
    MOST_SHARED = 256

cdef struct Part:
    bint is_made
    Py_ssize_t at
    Py_ssize_t size
    Py_ssize_t wanted
    long long records
    long long temporary_bytes


@cython.final
cdef class Helper:
    cdef SinglesDown singles
    cdef object buffer
    cdef Sink scratch
    cdef Py_ssize_t room
    cdef PyThread_type_lock work
    cdef PyThread_type_lock over
    cdef Source source
    cdef Py_ssize_t size
    cdef int target
    cdef Py_ssize_t starts[MOST_SHARED + 1]
    cdef Part parts[MOST_SHARED]
    cdef Py_ssize_t count
    cdef Py_ssize_t taken
    cdef Py_ssize_t scan(self, Source source, Py_ssize_t at, Py_ssize_t size) noexcept nogil
    cdef void work_off(self, SinglesDown singles, RecordsDown down, Item item) noexcept nogil
    cdef int make(
        self, SinglesDown singles, Part *part, Py_ssize_t at, RecordsDown down, Item item
    ) noexcept nogil
    cdef void share_with(self, SinglesDown singles, object source, int target, object out) except *
    cdef void share(
        self,
        SinglesDown singles,
        RecordsDown down,
        Item item,
        Source source,
        Py_ssize_t size,
        int target,
        Sink sink,
        Py_ssize_t room,
    ) noexcept nogil
    cdef bint put_behind(self, SinglesDown singles, Part *part, Py_ssize_t behind) noexcept nogil


@cython.final
cdef class Help:
    cdef public int most_converting
    cdef readonly int converting
    cdef readonly bint is_busy
    cdef readonly Helper helper
    cdef Helper take(self)
    cdef void hire(self) except *


cpdef object convert_with_help(SinglesDown singles, object source, int target, object out)
