# cython: language_level=3
"""The partition of a key: murmur2, 32 bits, with the seed that every Kafka client uses.

The sign bit is masked away; that is not the absolute value, which some descriptions use and which gives other
partitions. Products of 32-bit numbers fit 64 bits, so masking is enough. Source: Kafka 3.9, Utils.murmur2 and
BuiltInPartitioner.partitionForKey. Compiled by Cython; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING
    from cython.cimports.stepdown.protocol.records.kernel.numbers import Source, little32
else:
    from ...protocol.records.kernel.numbers import Source, little32

COMPILED: bool = cython.compiled

_SEED = cython.declare(cython.ulonglong, 0x9747B28C)
_M = cython.declare(cython.ulonglong, 0x5BD1E995)
_MASK = cython.declare(cython.ulonglong, 0xFFFFFFFF)


def partition_for_key(key: bytes, partitions: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The partition of a key among `partitions`, those without a leader included."""
    return cython.cast(cython.Py_ssize_t, murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(key: bytes) -> cython.ulonglong:
    """The hash of the bytes as an unsigned 32-bit number."""
    size: cython.Py_ssize_t = len(key)
    data: Source = _bytes_of(key)
    at: cython.Py_ssize_t = 0
    whole: cython.Py_ssize_t = size & ~3
    h: cython.ulonglong = (_SEED ^ size) & _MASK
    k: cython.ulonglong
    while at < whole:
        k = little32(data, at)
        k = k * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
        at += 4
    if at < size:
        k = data[at]
        if at + 1 < size:
            k |= data[at + 1] << 8
        if at + 2 < size:
            k |= data[at + 2] << 16
        h = (h ^ k) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


@cython.cfunc
@cython.inline
def _bytes_of(data: bytes) -> Source:
    if cython.compiled:
        return cython.cast(Source, PyBytes_AS_STRING(data))
    return data
