# cython: language_level=3
"""The headers of a record as bytes, and the most that a record takes; `growing_batch.py` writes the rest of it.

Compiled by Cython; uncompiled, the same file is the readable twin. Source: Kafka 3.9, DefaultRecord.
"""

from __future__ import annotations

import cython

from ..protocol.records.layout import RECORD_BATCH_OVERHEAD

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
    from cython.cimports.stepdown.protocol.records.kernel.numbers import Sink, Source, copy, put_varint, varint_size
else:
    from ..protocol.records.kernel.numbers import Sink, Source, copy, put_varint, varint_size

COMPILED: bool = cython.compiled

NO_HEADERS = b"\x00"
MAX_RECORD_OVERHEAD = 21
"""The most that a record's own fields take beside key, value and headers, which have their lengths in front."""

_BOUND = cython.declare(cython.Py_ssize_t, RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD)


def most_bytes(
    key_size: cython.Py_ssize_t, value_size: cython.Py_ssize_t, headers_size: cython.Py_ssize_t
) -> cython.longlong:
    """The most that a batch of this record alone takes; sizes are -1 for null."""
    size: cython.longlong = _BOUND + varint_size(key_size) + varint_size(value_size) + headers_size
    return size + max(key_size, 0) + max(value_size, 0)


def encode_headers(headers) -> bytes:
    """The count and the headers as they stand at the end of a record: length, name, length or -1, value.

    Raises: TypeError for a name that is no str or a value that is neither bytes nor None, UnicodeEncodeError.
    """
    pairs: list = []
    size: cython.Py_ssize_t = 0
    for name, value in headers:
        if type(name) is not str:
            if not isinstance(name, str):
                raise TypeError(f"the name of a header is a str, found {type(name).__name__}")
            name = str.__str__(name)
        if value is not None and type(value) is not bytes:
            if not isinstance(value, (bytes, bytearray, memoryview)):
                raise TypeError(f"the value of header {name} is bytes or None, found {type(value).__name__}")
            value = bytes(value)
        encoded: bytes = name.encode()
        size += varint_size(len(encoded)) + len(encoded)
        size += 1 if value is None else varint_size(len(value)) + len(value)
        pairs.append((encoded, value))
    if not pairs:
        return NO_HEADERS
    size += varint_size(len(pairs))
    if cython.compiled:
        made: bytes = PyBytes_FromStringAndSize(cython.NULL, size)
        _write_headers(cython.cast(Sink, PyBytes_AS_STRING(made)), pairs)
        return made
    sink = bytearray(size)
    _write_headers(sink, pairs)
    return bytes(sink)


@cython.cfunc
def _write_headers(sink: Sink, pairs: list) -> cython.Py_ssize_t:
    at: cython.Py_ssize_t = put_varint(sink, 0, len(pairs))
    name: bytes
    for name, value in pairs:
        at = _write_bytes(sink, at, name)
        at = put_varint(sink, at, -1) if value is None else _write_bytes(sink, at, value)
    return at


@cython.cfunc
def _write_bytes(sink: Sink, at: cython.Py_ssize_t, data: bytes) -> cython.Py_ssize_t:
    at = put_varint(sink, at, len(data))
    copy(sink, at, _bytes_of(data), 0, len(data))
    return at + len(data)


@cython.cfunc
@cython.inline
def _bytes_of(data: bytes) -> Source:
    if cython.compiled:
        return cython.cast(Source, PyBytes_AS_STRING(data))
    return data
