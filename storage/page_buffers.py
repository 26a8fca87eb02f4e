"""Buffers that begin on a page of memory.

A large `bytearray` begins 16 bytes behind one, since malloc keeps its notes there. Some processors copy to such an
address, which no cache line begins at, at two thirds of the speed: an AMD EPYC 9004 reads 128 KiB from the page cache
in 10.5 µs instead of 16 (docs/performance.md).
"""

import mmap


def page_buffer(size_bytes: int) -> memoryview:
    """`size_bytes` zero bytes, at least one, writable, on pages of their own; given back with the last view of them."""
    return memoryview(mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
