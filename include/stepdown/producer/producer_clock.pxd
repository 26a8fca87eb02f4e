# The layout of producer/producer_clock.py in C.

cimport cython


@cython.final
cdef class ProducerClock:
    cdef long long _start_ms
    cpdef long long now_ms(self) noexcept
