# What producer/loop_clock.py takes from the operating system.

from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec


cdef inline long long monotonic_ms() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <long long>now.tv_sec * 1000 + now.tv_nsec // 1000000
