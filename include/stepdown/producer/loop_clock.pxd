# The layout of producer/loop_clock.py in C.

cimport cython


@cython.final
cdef class LoopClock:
    cdef long long _start_ms
    cpdef long long now_ms(self) noexcept
