# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Checksums of whole buffers."""

from __future__ import annotations

import cython

if not cython.compiled:  # buffer_checksums.pxd has them else
    from .buffer_pointers import RELEASE_BYTES, source_of
    from .crc import crc32_update, crc32c_update, crc_prepare
    from .numbers import Source, little32

crc_prepare()

COMPILED: bool = cython.compiled

MASK32 = cython.declare(cython.ulonglong, 0xFFFFFFFF)


def crc32(data: cython.const[cython.uchar][::1], crc: cython.uint = 0) -> int:
    """Return the CRC-32 (IEEE) of the bytes, going on from `crc`."""
    size: cython.Py_ssize_t = len(data)
    source: Source = source_of(data)
    if size < RELEASE_BYTES:
        return crc32_update(crc, source, size)
    with cython.nogil:
        crc = crc32_update(crc, source, size)
    return crc


def crc32c(data: cython.const[cython.uchar][::1], crc: cython.uint = 0) -> int:
    """Return the CRC-32C (Castagnoli) of the bytes, going on from `crc`."""
    size: cython.Py_ssize_t = len(data)
    source: Source = source_of(data)
    if size < RELEASE_BYTES:
        return crc32c_update(crc, source, size)
    with cython.nogil:
        crc = crc32c_update(crc, source, size)
    return crc


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _rotate(value: cython.uint, bits: cython.int) -> cython.uint:
    return (value << bits | value >> (32 - bits)) & MASK32


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _xxh32(data: Source, size: cython.Py_ssize_t) -> cython.uint:
    """XXH32 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md)."""
    p1: cython.uint = 2654435761
    p2: cython.uint = 2246822519
    p3: cython.uint = 3266489917
    p4: cython.uint = 668265263
    p5: cython.uint = 374761393
    mask: cython.ulonglong = MASK32
    at: cython.Py_ssize_t = 0
    value: cython.uint = p5
    if size >= 16:
        a: cython.uint = (p1 + p2) & mask
        b: cython.uint = p2
        c: cython.uint = 0
        d: cython.uint = (0 - p1) & mask
        while size - at >= 16:
            a = _rotate((a + little32(data, at) * p2) & mask, 13) * p1 & mask
            b = _rotate((b + little32(data, at + 4) * p2) & mask, 13) * p1 & mask
            c = _rotate((c + little32(data, at + 8) * p2) & mask, 13) * p1 & mask
            d = _rotate((d + little32(data, at + 12) * p2) & mask, 13) * p1 & mask
            at += 16
        value = (_rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)) & mask
    value = (value + size) & mask
    while size - at >= 4:
        value = _rotate((value + little32(data, at) * p3) & mask, 17) * p4 & mask
        at += 4
    while at < size:
        value = _rotate((value + data[at] * p5) & mask, 11) * p1 & mask
        at += 1
    value = (value ^ value >> 15) * p2 & mask
    value = (value ^ value >> 13) * p3 & mask
    return value ^ value >> 16


def xxh32(data: cython.const[cython.uchar][::1]) -> int:
    """Return the XXH32 of the bytes, seed 0."""
    size: cython.Py_ssize_t = len(data)
    return _xxh32(source_of(data), size)
