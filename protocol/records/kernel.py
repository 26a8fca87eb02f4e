# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The loops over records, compiled by Cython; uncompiled, the same file is their readable twin, for tests.

What it does: checksums; whole plain batches converted down into a caller's buffer; opened streams of records and
messages converted down or up, or surveyed; both laid out in columns. `batch.py`, `message_set.py` and `record.py` show
the layouts.

No length is trusted: a position never passes the end of its record, message or batch. Work on more than a few kB drops
the GIL. Loops run longer here than elsewhere, and all of them lie in one file, because splitting them costs speed
(docs/decisions/compiled-kernel.md).

A position beyond its end is how a reader says "broken": each later read fails too, so one check at the end is enough.
Sums of 64-bit numbers wrap, as Java's do.
"""

from __future__ import annotations

import binascii

import cython

from ..errors import CorruptRecord, InvalidRecord

if cython.compiled:
    from cython.cimports.libc.string import memcpy
    from cython.cimports.protocol.records.crc import crc32_update, crc32c_update, crc_prepare

    crc_prepare()

COMPILED: bool = cython.compiled

# What the compiled loops read and write through; the twin has views.
Source = cython.typedef(cython.pointer[cython.const[cython.uchar]])
Sink = cython.typedef(cython.pointer[cython.uchar])

RELEASE_BYTES = cython.declare(cython.Py_ssize_t, 4096)

# How a run ends.
DONE = cython.declare(cython.int, 0)
NEEDS_CODEC = cython.declare(cython.int, 1)
NO_ROOM = cython.declare(cython.int, 2)
BAD_FRAME = cython.declare(cython.int, 3)
BAD_CHECKSUM = cython.declare(cython.int, 4)
BAD_RECORD = cython.declare(cython.int, 5)
BAD_TIMESTAMP = cython.declare(cython.int, 6)
BAD_ORDER = cython.declare(cython.int, 7)
BAD_MAGIC = cython.declare(cython.int, 8)
BAD_COUNT = cython.declare(cython.int, 9)
FULL = cython.declare(cython.int, 10)

_FAULTS = {
    3: "its frame is wrong",
    4: "its checksum does not match",
    5: "a record is broken",
    6: "a record has a negative timestamp",
    7: "its offsets do not increase, or by too much",
    8: "a message of another magic, or a compressed one, lies inside",
    9: "its records are not as many as it says",
}

# Numbers of `layout.py`, as C numbers.
LOG_OVERHEAD = cython.declare(cython.Py_ssize_t, 12)
MAGIC_OFFSET = cython.declare(cython.Py_ssize_t, 16)
BATCH_OVERHEAD = cython.declare(cython.Py_ssize_t, 61)
V0_OVERHEAD = cython.declare(cython.Py_ssize_t, 26)
V1_OVERHEAD = cython.declare(cython.Py_ssize_t, 34)
MIN_RECORD_BYTES = cython.declare(cython.Py_ssize_t, 7)
CODEC_MASK = cython.declare(cython.int, 0x07)
APPEND_TIME_BIT = cython.declare(cython.int, 0x08)
CONTROL_BIT = cython.declare(cython.int, 0x20)
MAX_INT32 = cython.declare(cython.longlong, 0x7FFFFFFF)
NO_TIMESTAMP = cython.declare(cython.longlong, -1)
MASK32 = cython.declare(cython.ulonglong, 0xFFFFFFFF)
MASK64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


# --- checksums --------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _crc32(data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t, crc: cython.uint) -> cython.uint:
    if cython.compiled:
        return crc32_update(crc, data + at, end - at)
    else:
        return binascii.crc32(data[at:end], crc)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _crc32c(data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t, crc: cython.uint) -> cython.uint:
    if cython.compiled:
        return crc32c_update(crc, data + at, end - at)
    else:
        crc ^= 0xFFFFFFFF
        for byte in data[at:end]:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        return crc ^ 0xFFFFFFFF


def crc32(data: cython.const[cython.uchar][::1], crc: cython.uint = 0) -> int:
    """Return the CRC-32 (IEEE) of the bytes, going on from `crc`."""
    size: cython.Py_ssize_t = len(data)
    source: Source = _source(data, size)
    if size < RELEASE_BYTES:
        return _crc32(source, 0, size, crc)
    with cython.nogil:
        crc = _crc32(source, 0, size, crc)
    return crc


def crc32c(data: cython.const[cython.uchar][::1], crc: cython.uint = 0) -> int:
    """Return the CRC-32C (Castagnoli) of the bytes, going on from `crc`."""
    size: cython.Py_ssize_t = len(data)
    source: Source = _source(data, size)
    if size < RELEASE_BYTES:
        return _crc32c(source, 0, size, crc)
    with cython.nogil:
        crc = _crc32c(source, 0, size, crc)
    return crc


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _rotated(value: cython.uint, bits: cython.int) -> cython.uint:
    return (value << bits | value >> (32 - bits)) & MASK32


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _word(data: Source, at: cython.Py_ssize_t) -> cython.uint:
    """The little-endian number at `at`."""
    high: cython.uint = data[at + 3]
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16 | high << 24


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
            a = _rotated((a + _word(data, at) * p2) & mask, 13) * p1 & mask
            b = _rotated((b + _word(data, at + 4) * p2) & mask, 13) * p1 & mask
            c = _rotated((c + _word(data, at + 8) * p2) & mask, 13) * p1 & mask
            d = _rotated((d + _word(data, at + 12) * p2) & mask, 13) * p1 & mask
            at += 16
        value = (_rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)) & mask
    value = (value + size) & mask
    while size - at >= 4:
        value = _rotated((value + _word(data, at) * p3) & mask, 17) * p4 & mask
        at += 4
    while at < size:
        value = _rotated((value + data[at] * p5) & mask, 11) * p1 & mask
        at += 1
    value = (value ^ value >> 15) * p2 & mask
    value = (value ^ value >> 13) * p3 & mask
    return value ^ value >> 16


def xxh32(data: cython.const[cython.uchar][::1]) -> int:
    """Return the XXH32 of the bytes, seed 0."""
    size: cython.Py_ssize_t = len(data)
    return _xxh32(_source(data, size), size)


# --- bytes ------------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.inline
def _source(data: cython.const[cython.uchar][::1], size: cython.Py_ssize_t) -> Source:
    if cython.compiled:
        return cython.address(data[0])
    else:
        return memoryview(data)


@cython.cfunc
@cython.inline
def _sink(data: cython.uchar[::1], size: cython.Py_ssize_t) -> Sink:
    if cython.compiled:
        return cython.address(data[0])
    else:
        return memoryview(data)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _copy(
    sink: Sink, to: cython.Py_ssize_t, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.void:
    if cython.compiled:
        memcpy(sink + to, data + at, size)
    else:
        sink[to : to + size] = data[at : at + size]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _sum(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    if cython.compiled:
        return a + b
    else:
        return (a + b + 2**63) % 2**64 - 2**63


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _get32(data: Source, at: cython.Py_ssize_t) -> cython.longlong:
    high: cython.uint = data[at]
    value: cython.uint = high << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
    if cython.compiled:
        return cython.cast(cython.int, value)
    else:
        return (value ^ 0x80000000) - 0x80000000


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _get64(data: Source, at: cython.Py_ssize_t) -> cython.longlong:
    return _get32(data, at) << 32 | (_get32(data, at + 4) & MASK32)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put32(sink: Sink, at: cython.Py_ssize_t, value: cython.longlong) -> cython.void:
    sink[at] = value >> 24 & 0xFF
    sink[at + 1] = value >> 16 & 0xFF
    sink[at + 2] = value >> 8 & 0xFF
    sink[at + 3] = value & 0xFF


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put64(sink: Sink, at: cython.Py_ssize_t, value: cython.longlong) -> cython.void:
    _put32(sink, at, value >> 32)
    _put32(sink, at + 4, value)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _varint(data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> tuple[cython.longlong, cython.Py_ssize_t]:
    """The signed 32-bit number at `at` and the position after it, or end + 1."""
    byte: cython.ulonglong
    value: cython.ulonglong = 0
    shift: cython.int = 0
    while at < end and shift < 35:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= MASK32
            return _unzigzag(value), at
        shift += 7
    return 0, end + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _varlong(data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> tuple[cython.longlong, cython.Py_ssize_t]:
    """The signed 64-bit number at `at` and the position after it, or end + 1."""
    byte: cython.ulonglong
    value: cython.ulonglong = 0
    shift: cython.int = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= MASK64
            return _unzigzag(value), at
        shift += 7
    return 0, end + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _unzigzag(value: cython.ulonglong) -> cython.longlong:
    half: cython.longlong = value >> 1
    sign: cython.longlong = value & 1
    return half ^ -sign


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _zigzag(value: cython.longlong) -> cython.ulonglong:
    return (value << 1) ^ (value >> 63)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _varint_bytes(value: cython.longlong) -> cython.Py_ssize_t:
    rest: cython.ulonglong = _zigzag(value) >> 7
    size: cython.Py_ssize_t = 1
    while rest:
        rest >>= 7
        size += 1
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_varint(sink: Sink, at: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """The position after the varint or varlong that it writes."""
    rest: cython.ulonglong = _zigzag(value)
    while rest > 0x7F:
        sink[at] = rest & 0x7F | 0x80
        rest >>= 7
        at += 1
    sink[at] = rest
    return at + 1


# --- one record or message --------------------------------------------------------------------------------------------


@cython.final
@cython.cclass
class _Item:
    """The record or message that was read last: where its parts lie; a null key or value has size -1."""

    offset: cython.longlong  # a record's is its delta
    timestamp: cython.longlong  # a record's is its delta
    magic: cython.int
    attributes: cython.int
    key_at: cython.Py_ssize_t
    key_size: cython.Py_ssize_t
    value_at: cython.Py_ssize_t
    value_size: cython.Py_ssize_t
    after_offset: cython.Py_ssize_t  # where a record goes on behind its offset delta
    headers_at: cython.Py_ssize_t
    header_count: cython.longlong


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _skip_headers(
    data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t, count: cython.longlong
) -> cython.Py_ssize_t:
    size: cython.longlong
    if count < 0 or count > end - at:
        return end + 1
    while count > 0 and at <= end:
        count -= 1
        size, at = _varint(data, at, end)
        if size < 0 or size > end - at:
            return end + 1
        size, at = _varint(data, at + size, end)
        if size > 0:
            if size > end - at:
                return end + 1
            at += size
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _read_record(item: _Item, data: Source, at: cython.Py_ssize_t, limit: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Read the v2 record at `at`, which must end by `limit`; the position after it, or -1 when it is broken."""
    size: cython.longlong
    size, at = _varint(data, at, limit)
    if size <= 0 or size > limit - at:
        return -1
    end: cython.Py_ssize_t = at + size
    item.timestamp, at = _varlong(data, at + 1, end)
    item.offset, at = _varint(data, at, end)
    item.after_offset = at
    size, at = _varint(data, at, end)
    item.key_at = at
    item.key_size = size if size >= 0 else -1
    if size > 0:
        if size > end - at:
            return -1
        at += size
    size, at = _varint(data, at, end)
    item.value_at = at
    item.value_size = size if size >= 0 else -1
    if size > 0:
        if size > end - at:
            return -1
        at += size
    size, at = _varint(data, at, end)
    item.headers_at = at
    item.header_count = size
    if size != 0:
        at = _skip_headers(data, at, end, size)
    return at if at == end else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _read_message(item: _Item, data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Read the v0 or v1 message that takes the bytes from `at` to `end`; False when it is broken."""
    item.offset = _get64(data, at)
    item.magic = data[at + MAGIC_OFFSET]
    item.attributes = data[at + MAGIC_OFFSET + 1]
    item.timestamp = NO_TIMESTAMP
    if item.magic > 1 or end - at < (V1_OVERHEAD if item.magic == 1 else V0_OVERHEAD):
        return False
    if item.magic == 1:
        item.timestamp = _get64(data, at + 18)
        at += 26
    else:
        at += 18
    size: cython.longlong = _get32(data, at)
    at += 4
    item.key_at = at
    item.key_size = size if size >= 0 else -1
    if size > 0:
        if size > end - at - 4:
            return False
        at += size
    size = _get32(data, at)
    at += 4
    item.value_at = at
    item.value_size = size if size >= 0 else -1
    return size <= end - at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_message(
    item: _Item,
    data: Source,
    sink: Sink,
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    magic: cython.int,
    attributes: cython.int,
    offset: cython.longlong,
    timestamp: cython.longlong,
) -> cython.void:
    """Write the key and value of `item` as a message of `size` bytes."""
    end: cython.Py_ssize_t = at + size
    start: cython.Py_ssize_t = at
    _put64(sink, at, offset)
    _put32(sink, at + 8, size - LOG_OVERHEAD)
    sink[at + 16] = magic
    sink[at + 17] = attributes
    at += 18
    if magic == 1:
        _put64(sink, at, timestamp)
        at += 8
    _put32(sink, at, item.key_size)
    at += 4
    if item.key_size > 0:
        _copy(sink, at, data, item.key_at, item.key_size)
        at += item.key_size
    _put32(sink, at, item.value_size)
    if item.value_size > 0:
        _copy(sink, at + 4, data, item.value_at, item.value_size)
    _put32(sink, start + 12, _crc32(sink, start + MAGIC_OFFSET, end, 0))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _message_bytes(item: _Item, magic: cython.int) -> cython.Py_ssize_t:
    """What the key and value of `item` take as a message."""
    size: cython.Py_ssize_t = V1_OVERHEAD if magic == 1 else V0_OVERHEAD
    if item.key_size > 0:
        size += item.key_size
    if item.value_size > 0:
        size += item.value_size
    return size


# --- whole plain batches, down ----------------------------------------------------------------------------------------


@cython.final
@cython.cclass
class _Run:
    """A chunk of whole batches on its way down."""

    data: Source
    sink: Sink
    at: cython.Py_ssize_t
    end: cython.Py_ssize_t
    written: cython.Py_ssize_t
    room: cython.Py_ssize_t
    target: cython.int
    first_offset: cython.longlong
    measure: cython.bint
    records: cython.longlong
    temporary: cython.longlong
    batches: cython.longlong
    trimmed: cython.longlong


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _convert_batch(run: _Run, item: _Item, end: cython.Py_ssize_t) -> cython.int:
    """Convert the plain v2 batch at `run.at`, less its records before the first offset asked for."""
    data: Source = run.data
    sink: Sink = run.sink
    start: cython.Py_ssize_t = run.at
    written: cython.Py_ssize_t = run.written
    room: cython.Py_ssize_t = run.room
    target: cython.int = run.target
    measure: cython.bint = run.measure
    first_offset: cython.longlong = run.first_offset
    at: cython.Py_ssize_t = start + BATCH_OVERHEAD
    base_offset: cython.longlong = _get64(data, start)
    attributes: cython.int = data[start + 22] & APPEND_TIME_BIT
    base_timestamp: cython.longlong = _get64(data, start + 27)
    max_timestamp: cython.longlong = _get64(data, start + 35)
    count: cython.longlong = _get32(data, start + 57)
    kept: cython.longlong = 0
    first: cython.longlong = 0
    last: cython.longlong = 0
    offset: cython.longlong
    timestamp: cython.longlong
    size: cython.Py_ssize_t
    if _crc32c(data, start + 21, end, 0) != _get32(data, start + 17) & MASK32:
        return BAD_CHECKSUM
    if count < 0:
        return BAD_COUNT
    while count > 0:
        count -= 1
        at = _read_record(item, data, at, end)
        if at < 0:
            return BAD_RECORD
        offset = _sum(base_offset, item.offset)
        if offset < first_offset:
            run.trimmed += 1
            continue
        timestamp = max_timestamp if attributes else _sum(base_timestamp, item.timestamp)
        if timestamp < NO_TIMESTAMP:
            return BAD_TIMESTAMP
        if kept == 0:
            first = offset
        elif offset <= last or _sum(offset, -first) > MAX_INT32:
            return BAD_ORDER
        last = offset
        kept += 1
        size = _message_bytes(item, target)
        if size > room - written:
            return NO_ROOM
        if not measure:
            _write_message(item, data, sink, written, size, target, attributes if target else 0, offset, timestamp)
        written += size
    if at != end:
        return BAD_COUNT
    if kept:
        run.records += kept
        run.temporary += end - start + written - run.written
        run.written = written
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _convert_message(run: _Run, item: _Item, end: cython.Py_ssize_t) -> cython.int:
    """Convert the plain v1 message at `run.at` to v0, unless it lies before the first offset asked for."""
    if _crc32(run.data, run.at + MAGIC_OFFSET, end, 0) != _get32(run.data, run.at + 12) & MASK32:
        return BAD_CHECKSUM
    if not _read_message(item, run.data, run.at, end):
        return BAD_RECORD
    if item.offset < run.first_offset:
        run.trimmed += 1
        return DONE
    if item.timestamp < NO_TIMESTAMP:
        return BAD_TIMESTAMP
    size: cython.Py_ssize_t = _message_bytes(item, 0)
    if size > run.room - run.written:
        return NO_ROOM
    if not run.measure:
        _write_message(item, run.data, run.sink, run.written, size, 0, 0, item.offset, NO_TIMESTAMP)
    run.records += 1
    run.temporary += end - run.at + size
    run.written += size
    return DONE


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _batch_end(data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The end of the batch at `at`; 0 when no whole one is there, -1 when its frame is wrong."""
    if end - at < LOG_OVERHEAD:
        return 0
    size: cython.Py_ssize_t = _get32(data, at + 8)
    if size < V0_OVERHEAD - LOG_OVERHEAD:
        return -1
    if end - at <= MAGIC_OFFSET:
        return 0
    magic: cython.int = data[at + MAGIC_OFFSET]
    if magic > 2:
        return -1
    if size > end - at - LOG_OVERHEAD:
        return 0
    size += LOG_OVERHEAD
    return -1 if size < (BATCH_OVERHEAD if magic == 2 else V1_OVERHEAD if magic == 1 else V0_OVERHEAD) else at + size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _convert_batches(run: _Run, item: _Item) -> cython.int:
    """Convert batch after batch from `run.at`; the position stays on the batch that ends the run."""
    end: cython.Py_ssize_t
    size: cython.Py_ssize_t
    status: cython.int
    magic: cython.int
    while True:
        end = _batch_end(run.data, run.at, run.end)
        if end <= 0:
            return BAD_FRAME if end < 0 else DONE
        magic = run.data[run.at + MAGIC_OFFSET]
        status = DONE
        if magic == 2 and run.data[run.at + 22] & CONTROL_BIT:
            pass
        elif magic <= run.target:
            size = end - run.at
            if size > run.room - run.written:
                return NO_ROOM
            if not run.measure:
                _copy(run.sink, run.written, run.data, run.at, size)
            run.temporary += size
            run.written += size
        elif run.data[run.at + (22 if magic == 2 else 17)] & CODEC_MASK:
            return NEEDS_CODEC
        elif magic == 2:
            status = _convert_batch(run, item, end)
        else:
            status = _convert_message(run, item, end)
        if status != DONE:
            return status
        run.at = end
        run.batches += 1


def convert_plain(
    source: cython.const[cython.uchar][::1],
    at: cython.Py_ssize_t,
    target: cython.int,
    first_offset: cython.longlong,
    out: cython.uchar[::1] | None,
    out_at: cython.Py_ssize_t = 0,
) -> tuple[int, int, int, int, int, int, bool]:
    """Convert whole batches from position `at` on, up to one that needs a codec or that `out` has no room for.

    Control batches vanish, batches of magic `target` or less are copied, and of plain newer ones the records from
    `first_offset` on are written as messages, their checksums checked first. Without `out` all is done but the
    writing.

    Returns: position reached, bytes in `out` up to, batches passed, records converted, records left out, temporary
    bytes (what Kafka counts so), whether a codec stopped it. At the end of the source, less than a whole batch is left.

    Raises: CorruptRecord, InvalidRecord naming the batch.
    """
    run: _Run = _Run()
    size: cython.Py_ssize_t = len(source)
    status: cython.int
    if at < 0 or out_at < 0:
        raise ValueError(f"positions {at} and {out_at}")
    run.data = _source(source, size)
    run.at, run.end = at, size
    run.measure = out is None
    run.room = MAX_INT32 << 16
    if out is not None:
        run.room = len(out)
        run.sink = _sink(out, run.room)
    run.written = out_at
    run.target, run.first_offset = target, first_offset
    run.records = run.temporary = run.batches = run.trimmed = 0
    item: _Item = _Item()
    if size - at < RELEASE_BYTES:
        status = _convert_batches(run, item)
    else:
        with cython.nogil:
            status = _convert_batches(run, item)
    if status >= BAD_FRAME:
        raise _fault(status, _get64(run.data, run.at))
    return run.at, run.written, run.batches, run.records, run.trimmed, run.temporary, status == NEEDS_CODEC


def plan(
    source: cython.const[cython.uchar][::1], target: cython.int, limit_bytes: cython.Py_ssize_t
) -> tuple[int, int, bool, int]:
    """Return what the next chunk is: the batches at the start that take `limit_bytes` at most, but always one.

    Returns: bytes, batches, whether a codec is needed to convert them, and how many bytes the others may become at
    most. The chunk ends before a wrong frame.

    Raises: CorruptRecord when the frame of the first batch is wrong.
    """
    size: cython.Py_ssize_t = len(source)
    data: Source = _source(source, size)
    at: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    batches: cython.Py_ssize_t = 0
    bound: cython.longlong = 0
    count: cython.longlong
    codec: cython.bint = False
    magic: cython.int
    while True:
        end = _batch_end(data, at, size)
        if end < 0 and batches == 0:
            raise _fault(BAD_FRAME, _get64(data, at))
        if end <= 0 or (batches and end > limit_bytes):
            return at, batches, codec, bound
        magic = data[at + MAGIC_OFFSET]
        if magic < 2 and (magic <= target or not data[at + 17] & CODEC_MASK):
            bound += end - at
        elif magic < 2 or (data[at + 22] & CODEC_MASK and not data[at + 22] & CONTROL_BIT):
            codec = True
        elif not data[at + 22] & CONTROL_BIT:
            count = _get32(data, at + 57)
            count = max(0, min(count, (end - at - BATCH_OVERHEAD) // MIN_RECORD_BYTES))
            bound += end - at - BATCH_OVERHEAD + count * (V1_OVERHEAD - MIN_RECORD_BYTES)
        at = end
        batches += 1


# --- opened streams ---------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _record_bytes(data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """What the record at `at` takes; 0 while its length is not there whole, -1 when that is wrong."""
    last: cython.Py_ssize_t = at
    while last < end and last - at < 5:
        if data[last] < 0x80:
            size: cython.longlong = _varint(data, at, last + 1)[0]
            return size + (last + 1 - at) if size > 0 else -1
        last += 1
    return -1 if last - at == 5 else 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _entry_bytes(data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """What the inner message at `at` takes; 0 while its frame is not there whole, -1 when its size is too small."""
    if end - at < LOG_OVERHEAD:
        return 0
    size: cython.longlong = _get32(data, at + 8)
    return -1 if size < V0_OVERHEAD - LOG_OVERHEAD else size + LOG_OVERHEAD


@cython.cclass
class _Stream:
    """Takes an opened stream in pieces. A piece may end anywhere; what is not used has to come again."""

    data: Source
    sink: Sink
    at: cython.Py_ssize_t
    end: cython.Py_ssize_t
    written: cython.Py_ssize_t
    room: cython.Py_ssize_t
    wanted: cython.longlong
    seen: cython.longlong
    first: cython.longlong
    last: cython.longlong
    newest: cython.longlong
    item: _Item

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step(self, item: _Item) -> cython.int:
        return DONE

    def feed(
        self, data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, out: cython.uchar[::1]
    ) -> tuple[int, int, int]:
        """Take what is whole from position `at` on, as far as `out` has room.

        Returns: position reached, bytes written to `out`, and what keeps it from going on: 0 for more bytes of unknown
        number, n for n bytes from the position on, -n for n bytes of room.

        Raises: CorruptRecord, InvalidRecord.
        """
        status: cython.int
        item: _Item = self.item
        if at < 0:
            raise ValueError(f"position {at}")
        self.end, self.room = len(data), len(out)
        self.data, self.sink = _source(data, self.end), _sink(out, self.room)
        self.at, self.written, self.wanted = at, 0, 0
        if self.end - at < RELEASE_BYTES:
            status = self.step(item)
        else:
            with cython.nogil:
                status = self.step(item)
        if status != DONE:
            raise _fault(status, self.last)
        return self.at, self.written, self.wanted


@cython.final
@cython.cclass
class RecordsDown(_Stream):
    """The opened records of a v2 batch as messages of magic 0 or 1.

    `relative`: offsets count from the first record, as inside a wrapper of magic 1. Records before `first_offset` are
    left out. `append_time` replaces the timestamps of a LogAppendTime batch.
    """

    target: cython.int
    attributes: cython.int
    relative: cython.bint
    count: cython.longlong
    kept: cython.longlong
    base_offset: cython.longlong
    base_timestamp: cython.longlong
    append_time: cython.longlong
    first_offset: cython.longlong

    def __init__(
        self,
        target: cython.int,
        count: cython.longlong,
        base_offset: cython.longlong,
        base_timestamp: cython.longlong,
        append_time: object,
        relative: cython.bint,
        first_offset: cython.longlong,
    ) -> None:
        self.target, self.count, self.relative = target, count, relative
        self.base_offset, self.base_timestamp, self.first_offset = base_offset, base_timestamp, first_offset
        self.attributes = 0 if append_time is None else APPEND_TIME_BIT
        self.append_time = NO_TIMESTAMP if append_time is None else append_time
        self.seen = self.kept = self.first = 0
        self.last = base_offset
        self.newest = NO_TIMESTAMP
        self.item = _Item()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def admit(self, delta: cython.longlong, timestamp: cython.longlong) -> cython.int:
        """Check the order and time of the next record; the last offset is then its own."""
        offset: cython.longlong = _sum(self.base_offset, delta)
        if timestamp < NO_TIMESTAMP:
            return BAD_TIMESTAMP
        if self.kept == 0:
            self.first = offset
        elif offset <= self.last or _sum(offset, -self.first) > MAX_INT32:
            return BAD_ORDER
        self.last = offset
        self.kept += 1
        if timestamp > self.newest:
            self.newest = timestamp
        return DONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step(self, item: _Item) -> cython.int:
        timestamp: cython.longlong
        takes: cython.longlong
        size: cython.Py_ssize_t
        status: cython.int
        while self.seen < self.count:
            takes = _record_bytes(self.data, self.at, self.end)
            if takes < 0:
                return BAD_RECORD
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if _read_record(item, self.data, self.at, self.end) < 0:
                return BAD_RECORD
            if _sum(self.base_offset, item.offset) >= self.first_offset:
                size = _message_bytes(item, self.target)
                if size > self.room - self.written:
                    self.wanted = -size
                    return DONE
                timestamp = self.append_time if self.attributes else _sum(self.base_timestamp, item.timestamp)
                status = self.admit(item.offset, timestamp)
                if status != DONE:
                    return status
                _write_message(
                    item,
                    self.data,
                    self.sink,
                    self.written,
                    size,
                    self.target,
                    self.attributes if self.target else 0,
                    _sum(self.last, -self.first) if self.relative else self.last,
                    timestamp,
                )
                self.written += size
            self.seen += 1
            self.at += takes
        return DONE if self.at == self.end else BAD_COUNT

    def skip(self, delta: cython.longlong, timestamp_delta: cython.longlong) -> tuple[int, int, int] | None:
        """Take note of a record that the caller writes itself; return the offset, timestamp and attributes to write.

        None when it lies before the first offset. Raises: InvalidRecord.
        """
        timestamp: cython.longlong = self.append_time if self.attributes else _sum(self.base_timestamp, timestamp_delta)
        status: cython.int
        self.seen += 1
        if _sum(self.base_offset, delta) < self.first_offset:
            return None
        status = self.admit(delta, timestamp)
        if status != DONE:
            raise _fault(status, self.last)
        offset: cython.longlong = _sum(self.last, -self.first) if self.relative else self.last
        return offset, timestamp, self.attributes if self.target else 0

    def finish(self) -> tuple[int, int, int]:
        """Return how many records were kept, the last one's offset, and the newest timestamp or the append time.

        Raises: InvalidRecord when records are missing.
        """
        if self.seen != self.count:
            raise _fault(BAD_COUNT, self.base_offset)
        return self.kept, self.last, self.append_time if self.attributes else self.newest


@cython.final
@cython.cclass
class MessagesDown(_Stream):
    """The messages of an opened wrapper as messages of magic 0; `base` is added to their offsets.

    Without `write` they are only walked over, to learn the last stored offset that `base` depends on.
    """

    base: cython.longlong
    write: cython.bint

    def __init__(self, base: cython.longlong, write: cython.bint) -> None:
        self.base, self.write = base, write
        self.seen = self.last = 0
        self.item = _Item()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step(self, item: _Item) -> cython.int:
        takes: cython.longlong
        size: cython.Py_ssize_t
        status: cython.int
        offset: cython.longlong
        while True:
            takes = _entry_bytes(self.data, self.at, self.end)
            if takes < 0:
                return BAD_FRAME
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if not _read_message(item, self.data, self.at, self.at + takes):
                return BAD_RECORD
            offset = _sum(self.base, item.offset)
            if self.write:
                size = _message_bytes(item, 0)
                if size > self.room - self.written:
                    self.wanted = -size
                    return DONE
                status = self.admit(offset, item.timestamp, item.attributes)
                if status != DONE:
                    return status
                _write_message(item, self.data, self.sink, self.written, size, 0, 0, offset, NO_TIMESTAMP)
                self.written += size
            self.last = offset
            self.seen += 1
            self.at += takes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def admit(self, offset: cython.longlong, timestamp: cython.longlong, attributes: cython.int) -> cython.int:
        """Check the order, time and codec of the next message."""
        if attributes & CODEC_MASK:
            return BAD_MAGIC
        if timestamp < NO_TIMESTAMP:
            return BAD_TIMESTAMP
        if self.seen == 0:
            self.first = offset
        elif offset <= self.last or _sum(offset, -self.first) > MAX_INT32:
            return BAD_ORDER
        return DONE

    def skip(self, offset: cython.longlong, timestamp: cython.longlong, attributes: cython.int) -> int:
        """Take note of a message that the caller writes itself; return the offset to write. Raises: InvalidRecord."""
        status: cython.int = DONE
        offset = _sum(self.base, offset)
        if self.write:
            status = self.admit(offset, timestamp, attributes)
        if status != DONE:
            raise _fault(status, self.last)
        self.last = offset
        self.seen += 1
        return offset

    def finish(self) -> tuple[int, int]:
        """Return how many messages there were and the last one's offset."""
        return self.seen, self.last


@cython.final
@cython.cclass
class MessagesUp(_Stream):
    """Messages of magic `magic`, plain or opened, as the records of a v2 batch, numbered from 0.

    `checked`: their checksums are looked at, as for messages from inside a wrapper. `append_time` stands for the
    timestamps inside a LogAppendTime wrapper. Deltas count from the first timestamp.
    """

    magic: cython.int
    checked: cython.bint
    stamped: cython.bint
    marked: cython.bint
    append_time: cython.longlong
    oldest: cython.longlong
    keyless: cython.bint
    base_timestamp: cython.longlong
    taken: cython.longlong
    given: cython.longlong

    def __init__(self, magic: cython.int, checked: cython.bint, append_time: object) -> None:
        self.magic, self.checked = magic, checked
        self.marked = append_time is not None
        self.append_time = NO_TIMESTAMP if append_time is None else append_time
        self.seen = self.taken = self.given = self.last = 0
        self.oldest = self.newest = self.base_timestamp = NO_TIMESTAMP
        self.keyless = self.stamped = False
        self.item = _Item()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step(self, item: _Item) -> cython.int:
        takes: cython.longlong
        while True:
            takes = _entry_bytes(self.data, self.at, self.end)
            if takes < 0:
                return BAD_FRAME
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if not _read_message(item, self.data, self.at, self.at + takes):
                return BAD_RECORD
            if item.magic != self.magic or item.attributes & CODEC_MASK:
                return BAD_MAGIC
            if (
                self.checked
                and _crc32(self.data, self.at + MAGIC_OFFSET, self.at + takes, 0)
                != _get32(self.data, self.at + 12) & MASK32
            ):
                return BAD_CHECKSUM
            if takes + 32 > self.room - self.written:
                self.wanted = -(takes + 32)
                return DONE
            if item.attributes & APPEND_TIME_BIT:
                self.stamped = True
            self.put_record(item)
            self.at += takes
            self.taken += takes
            self.last = item.offset

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_record(self, item: _Item) -> cython.void:
        """Write the record of the item. It takes at most what its message took and 32 bytes."""
        sink: Sink = self.sink
        delta: cython.longlong = self.note(item.timestamp, item.key_size < 0)
        size: cython.Py_ssize_t = 2 + _varint_bytes(delta) + _varint_bytes(self.seen)
        size += _varint_bytes(item.key_size) + max(0, item.key_size)
        size += _varint_bytes(item.value_size) + max(0, item.value_size)
        at: cython.Py_ssize_t = _put_varint(sink, self.written, size)
        sink[at] = 0
        at = _put_varint(sink, at + 1, delta)
        at = _put_varint(sink, at, self.seen)
        at = _put_varint(sink, at, item.key_size)
        if item.key_size > 0:
            _copy(sink, at, self.data, item.key_at, item.key_size)
            at += item.key_size
        at = _put_varint(sink, at, item.value_size)
        if item.value_size > 0:
            _copy(sink, at, self.data, item.value_at, item.value_size)
            at += item.value_size
        sink[at] = 0
        self.given += at + 1 - self.written
        self.written = at + 1
        self.seen += 1

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def note(self, timestamp: cython.longlong, keyless: cython.bint) -> cython.longlong:
        """Take note of a message; its timestamp delta."""
        if self.marked:
            timestamp = self.append_time
        if self.seen == 0:
            self.base_timestamp = timestamp
        if timestamp != NO_TIMESTAMP:
            self.newest = max(self.newest, timestamp)
            self.oldest = timestamp if self.oldest == NO_TIMESTAMP else min(self.oldest, timestamp)
        if keyless:
            self.keyless = True
        return _sum(timestamp, -self.base_timestamp)

    def skip(
        self, offset: cython.longlong, timestamp: cython.longlong, keyless: cython.bint, taken: cython.longlong
    ) -> tuple[int, int]:
        """Take note of a message of `taken` bytes whose record the caller writes; return its number and time delta."""
        delta: cython.longlong = self.note(timestamp, keyless)
        self.last = offset
        self.taken += taken
        self.seen += 1
        return self.seen - 1, delta

    def wrote(self, given: cython.longlong) -> None:
        """Take note of the bytes that the caller wrote for a message it took."""
        self.given += given

    def saw_append_time(self) -> bool:
        """Whether a message says LogAppendTime for itself."""
        return self.stamped

    def finish(self) -> tuple[int, int, int, int, int, bool, int, int]:
        """Return count, last stored offset, base, oldest and newest timestamp, whether one has no key, bytes in, out.

        Oldest and newest leave out messages without a timestamp, and are -1 if none has one.
        """
        return (
            self.seen,
            self.last,
            self.base_timestamp,
            self.oldest,
            self.newest,
            self.keyless,
            self.taken,
            self.given,
        )


@cython.final
@cython.cclass
class RecordSurvey(_Stream):
    """What the opened records of a v2 batch look like; nothing is written."""

    count: cython.longlong
    base_timestamp: cython.longlong
    append_time: cython.longlong
    marked: cython.bint
    oldest: cython.longlong
    keyless: cython.bint
    in_order: cython.bint
    taken: cython.longlong

    def __init__(self, count: cython.longlong, base_timestamp: cython.longlong, append_time: object) -> None:
        self.count, self.base_timestamp = count, base_timestamp
        self.marked = append_time is not None
        self.append_time = NO_TIMESTAMP if append_time is None else append_time
        self.seen = self.taken = self.last = 0
        self.oldest = self.newest = NO_TIMESTAMP
        self.keyless = False
        self.in_order = True
        self.item = _Item()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step(self, item: _Item) -> cython.int:
        takes: cython.longlong
        timestamp: cython.longlong
        while self.seen < self.count:
            takes = _record_bytes(self.data, self.at, self.end)
            if takes < 0:
                return BAD_RECORD
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if _read_record(item, self.data, self.at, self.end) < 0:
                return BAD_RECORD
            timestamp = self.append_time if self.marked else _sum(self.base_timestamp, item.timestamp)
            self.note(item.offset, timestamp, item.key_size < 0)
            self.at += takes
            self.taken += takes
        return DONE if self.at == self.end else BAD_COUNT

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def note(self, delta: cython.longlong, timestamp: cython.longlong, keyless: cython.bint) -> cython.void:
        if timestamp != NO_TIMESTAMP:
            self.newest = max(self.newest, timestamp)
            self.oldest = timestamp if self.oldest == NO_TIMESTAMP else min(self.oldest, timestamp)
        if keyless:
            self.keyless = True
        if delta != self.seen:
            self.in_order = False
        self.seen += 1

    def skip(self, delta: cython.longlong, timestamp_delta: cython.longlong, keyless: cython.bint) -> None:
        """Take note of a record that the caller has read itself."""
        self.note(delta, self.append_time if self.marked else _sum(self.base_timestamp, timestamp_delta), keyless)

    def finish(self) -> tuple[int, int, bool, bool, int]:
        """Return oldest and newest timestamp, whether one has no key, whether deltas are 0, 1, 2 ..., opened bytes.

        Raises: InvalidRecord when records are missing.
        """
        if self.seen != self.count:
            raise _fault(BAD_COUNT, self.last)
        return self.oldest, self.newest, self.keyless, self.in_order, self.taken


# --- columns ----------------------------------------------------------------------------------------------------------


@cython.final
@cython.cclass
class BinaryColumn:
    """Byte strings one after the other, as Arrow lays them out.

    `ends` has int32 0 and where each string ends in `data`; `valid` has a byte a string, 0 for null. `allocate` makes a
    writable buffer of so many bytes, whose contents do not matter.
    """

    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    used = cython.declare(cython.Py_ssize_t, visibility="readonly")
    nulls = cython.declare(cython.Py_ssize_t, visibility="readonly")
    ends_buffer = cython.declare(object, visibility="readonly")
    valid_buffer = cython.declare(object, visibility="readonly")
    data_buffer = cython.declare(object, visibility="readonly")
    allocate: object
    ends: cython.int[::1]
    valid: cython.uchar[::1]
    sink: Sink
    room: cython.Py_ssize_t
    rows: cython.Py_ssize_t

    def __init__(self, allocate: object, rows: cython.Py_ssize_t, room: cython.Py_ssize_t) -> None:
        self.allocate = allocate
        self.count = self.used = self.nulls = self.rows = self.room = 0
        self._make_rows(rows)
        self.ends[0] = 0
        self._make_room(max(room, 1))

    def _make_rows(self, rows: cython.Py_ssize_t) -> None:
        ends = self.allocate(4 * (rows + 1))
        valid = self.allocate(rows + 1)
        if self.count:
            memoryview(ends)[: 4 * (self.count + 1)] = memoryview(self.ends_buffer)[: 4 * (self.count + 1)]
            memoryview(valid)[: self.count] = memoryview(self.valid_buffer)[: self.count]
        self.ends_buffer, self.valid_buffer = ends, valid
        self.ends = memoryview(ends).cast("i")
        self.valid = memoryview(valid)
        self.rows = rows

    def _make_room(self, room: cython.Py_ssize_t) -> None:
        data = self.allocate(room)
        if self.used:
            memoryview(data)[: self.used] = memoryview(self.data_buffer)[: self.used]
        self.data_buffer = data
        self.sink = _sink(data, room)
        self.room = room

    def grow(self, count: cython.Py_ssize_t, size: cython.Py_ssize_t) -> None:
        """Make room for `count` more strings of `size` bytes together."""
        if count > self.rows - self.count:
            self._make_rows(max(2 * self.rows, self.count + count))
        if size > self.room - self.used:
            if self.used + size > MAX_INT32:
                raise InvalidRecord(f"{self.used + size} bytes in one column, {MAX_INT32} at most")
            self._make_room(min(MAX_INT32, max(2 * self.room, self.used + size)))

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def lacks(self, count: cython.longlong, size: cython.Py_ssize_t) -> cython.bint:
        return count > self.rows - self.count or size > self.room - self.used

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def put(self, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.void:
        """Append a string, null for a negative size. There must be room."""
        self.valid[self.count] = size >= 0
        if size > 0:
            _copy(self.sink, self.used, data, at, size)
            self.used += size
        elif size < 0:
            self.nulls += 1
        self.count += 1
        self.ends[self.count] = self.used


@cython.final
@cython.cclass
class RecordColumns:
    """Records and messages of any magic in columns, one row each, up to `rows` of them or `limit_bytes` of payload.

    Rows are those of offsets from `first_offset` to `end_offset` (open); control batches have none. `offsets` and
    `timestamps` (ms) are int64, `types` int32 as `TimestampType`; `key` and `value` are None unless asked for. With
    headers `header_ends` has int32 0 and, for each row, how many headers there are up to its end. `checked`: checksums
    are looked at. Plain v2 batches whose max timestamp is below `min_timestamp` are passed by. `position` is that of
    the batch that was looked at last.

    Whole plain batches go through `take_batches`. One that needs a codec is begun with `begin_records` or
    `begin_messages`, and its opened stream fed to `take`.
    """

    rows = cython.declare(cython.Py_ssize_t, visibility="readonly")
    position = cython.declare(cython.Py_ssize_t, visibility="readonly")
    control_batches = cython.declare(cython.longlong, visibility="readonly")
    offsets_buffer = cython.declare(object, visibility="readonly")
    timestamps_buffer = cython.declare(object, visibility="readonly")
    types_buffer = cython.declare(object, visibility="readonly")
    header_ends_buffer = cython.declare(object, visibility="readonly")
    key = cython.declare(BinaryColumn, visibility="readonly")
    value = cython.declare(BinaryColumn, visibility="readonly")
    header_key = cython.declare(BinaryColumn, visibility="readonly")
    header_value = cython.declare(BinaryColumn, visibility="readonly")
    allocate: object
    offsets: cython.longlong[::1]
    timestamps: cython.longlong[::1]
    types: cython.int[::1]
    header_ends: cython.int[::1]
    room: cython.Py_ssize_t
    limit: cython.Py_ssize_t
    first_offset: cython.longlong
    end_offset: cython.longlong
    min_timestamp: cython.longlong
    checked: cython.bint
    has_key: cython.bint
    has_value: cython.bint
    has_headers: cython.bint
    item: _Item
    # The batch or stream that is being taken.
    inside: cython.bint
    streamed: cython.bint
    magic: cython.int
    at: cython.Py_ssize_t
    left: cython.longlong
    base_offset: cython.longlong
    base_timestamp: cython.longlong
    append_time: cython.longlong
    marked: cython.bint
    wanted: cython.longlong
    header_bytes: cython.Py_ssize_t

    def __init__(
        self,
        allocate: object,
        rows: cython.Py_ssize_t,
        limit_bytes: cython.Py_ssize_t,
        first_offset: cython.longlong,
        end_offset: cython.longlong,
        min_timestamp: cython.longlong,
        checked: cython.bint,
        with_key: cython.bint,
        with_value: cython.bint,
        with_headers: cython.bint,
    ) -> None:
        self.allocate = allocate
        self.room, self.limit = max(rows, 1), max(limit_bytes, 1)
        self.first_offset, self.end_offset, self.min_timestamp = first_offset, end_offset, min_timestamp
        self.checked = checked
        self.has_key, self.has_value, self.has_headers = with_key, with_value, with_headers
        self.inside = self.streamed = self.marked = False
        self.position = self.at = self.header_bytes = 0
        self.control_batches = 0
        self.magic = 2
        self.item = _Item()
        self.clear()

    def clear(self) -> None:
        """Begin anew with buffers of its own, so that those that were filled can be kept."""
        self.rows = 0
        self.offsets_buffer = self.allocate(8 * self.room)
        self.timestamps_buffer = self.allocate(8 * self.room)
        self.types_buffer = self.allocate(4 * self.room)
        self.offsets = memoryview(self.offsets_buffer).cast("q")
        self.timestamps = memoryview(self.timestamps_buffer).cast("q")
        self.types = memoryview(self.types_buffer).cast("i")
        spare: cython.Py_ssize_t = self.limit // 64
        if self.has_key:
            self.key = BinaryColumn(self.allocate, self.room, spare)
        if self.has_value:
            self.value = BinaryColumn(self.allocate, self.room, self.limit + spare)
        if self.has_headers:
            self.header_key = BinaryColumn(self.allocate, 64, 1024)
            self.header_value = BinaryColumn(self.allocate, 64, 1024)
            self.header_ends_buffer = self.allocate(4 * (self.room + 1))
            self.header_ends = memoryview(self.header_ends_buffer).cast("i")
            self.header_ends[0] = 0

    def take_batches(self, data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> tuple[int, bool, bool]:
        """Take whole batches from position `at` on, up to one that needs a codec or until the columns are full.

        Returns: position of the batch it stopped at, whether that needs a codec, whether the columns are full. When
        they are, it has to go on at that position in the same bytes. At the end, less than a whole batch is left.

        Raises: CorruptRecord, InvalidRecord; `position` is then that of the batch.
        """
        if at < 0:
            raise ValueError(f"position {at}")
        size: cython.Py_ssize_t = len(data)
        source: Source = _source(data, size)
        item: _Item = self.item
        status: cython.int
        self.position = at
        while True:
            with cython.nogil:
                status = self._take_batches(item, source, size)
            if status != NO_ROOM:
                break
            self._grow(item)
        if status != DONE and status != NEEDS_CODEC and status != FULL:
            self.inside = False
            raise _fault(status, _get64(source, self.position))
        return self.position, status == NEEDS_CODEC, status == FULL

    def begin_records(
        self, count: cython.longlong, base_offset: cython.longlong, base_timestamp: cython.longlong, append_time: object
    ) -> None:
        """Make ready for the opened records of a v2 batch."""
        self.magic = 2
        self.left, self.base_offset, self.base_timestamp = count, base_offset, base_timestamp
        self._mark(append_time)

    def begin_messages(self, base: cython.longlong, append_time: object) -> None:
        """Make ready for the opened messages of a wrapper; `base` is added to their offsets."""
        self.magic = 0
        self.base_offset = base
        self._mark(append_time)

    def _mark(self, append_time: object) -> None:
        self.marked = append_time is not None
        self.append_time = NO_TIMESTAMP if append_time is None else append_time

    def take(self, data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> tuple[int, int, bool]:
        """Take what is whole of an opened stream from position `at` on.

        Returns: position reached; how many bytes it wants from there to go on, 0 for an unknown number; whether the
        columns are full.

        Raises: CorruptRecord, InvalidRecord.
        """
        if at < 0:
            raise ValueError(f"position {at}")
        size: cython.Py_ssize_t = len(data)
        source: Source = _source(data, size)
        item: _Item = self.item
        status: cython.int
        self.at, self.wanted, self.streamed = at, 0, True
        while True:
            with cython.nogil:
                if self.magic == 2:
                    status = self._take_records(item, source, size)
                else:
                    status = self._take_messages(item, source, size)
            if status != NO_ROOM:
                break
            self._grow(item)
        self.streamed = False
        if status == DONE and self.magic == 2 and self.left == 0 and self.at < size:
            status = BAD_COUNT
        if status != DONE and status != FULL:
            raise _fault(status, self.base_offset)
        return self.at, self.wanted, status == FULL

    def finish(self) -> None:
        """End an opened stream. Raises: InvalidRecord when records are missing."""
        if self.magic == 2 and self.left:
            raise _fault(BAD_COUNT, self.base_offset)

    def _grow(self, item: _Item) -> None:
        if self.has_key:
            self.key.grow(1, max(0, item.key_size))
        if self.has_value:
            self.value.grow(1, max(0, item.value_size))
        if self.has_headers:
            self.header_key.grow(item.header_count, self.header_bytes)
            self.header_value.grow(item.header_count, self.header_bytes)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_full(self) -> cython.bint:
        payload: cython.Py_ssize_t = 0
        if self.has_key:
            payload += self.key.used
        if self.has_value:
            payload += self.value.used
        return self.rows == self.room or payload >= self.limit

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _put(
        self,
        item: _Item,
        data: Source,
        end: cython.Py_ssize_t,
        offset: cython.longlong,
        timestamp: cython.longlong,
        kind: cython.int,
    ) -> cython.int:
        """Append the item, whose headers reach to `end`, as a row; nothing if there is NO_ROOM."""
        if self.has_key and self.key.lacks(1, item.key_size):
            return NO_ROOM
        if self.has_value and self.value.lacks(1, item.value_size):
            return NO_ROOM
        if self.has_headers:
            self.header_bytes = end - item.headers_at
            if not self._put_headers(data, item.headers_at, end, item.header_count):
                return NO_ROOM
        if self.has_key:
            self.key.put(data, item.key_at, item.key_size)
        if self.has_value:
            self.value.put(data, item.value_at, item.value_size)
        self.offsets[self.rows] = offset
        self.timestamps[self.rows] = timestamp
        self.types[self.rows] = kind
        self.rows += 1
        return DONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _put_headers(
        self, data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t, count: cython.longlong
    ) -> cython.bint:
        """Append the headers of the next row, whose lengths are known to be right; False when there is no room."""
        size: cython.longlong
        if self.header_key.lacks(count, end - at) or self.header_value.lacks(count, end - at):
            return False
        while count > 0:
            count -= 1
            size, at = _varint(data, at, end)
            self.header_key.put(data, at, size)
            size, at = _varint(data, at + size, end)
            self.header_value.put(data, at, size)
            if size > 0:
                at += size
        self.header_ends[self.rows + 1] = self.header_key.count
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_records(self, item: _Item, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Take the records from `at` on, `left` of them; a stream may end anywhere."""
        takes: cython.longlong
        next_at: cython.Py_ssize_t
        offset: cython.longlong
        timestamp: cython.longlong
        status: cython.int
        while self.left > 0:
            if self.streamed:
                takes = _record_bytes(data, self.at, end)
                if takes < 0:
                    return BAD_RECORD
                if takes == 0 or takes > end - self.at:
                    self.wanted = takes
                    return DONE
            next_at = _read_record(item, data, self.at, end)
            if next_at < 0:
                return BAD_RECORD
            offset = _sum(self.base_offset, item.offset)
            if self.first_offset <= offset < self.end_offset:
                if self._is_full():
                    return FULL
                timestamp = self.append_time if self.marked else _sum(self.base_timestamp, item.timestamp)
                status = self._put(item, data, next_at, offset, timestamp, self.marked)
                if status != DONE:
                    return status
            self.at = next_at
            self.left -= 1
        return DONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_messages(self, item: _Item, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Take the inner messages from `at` on; a stream may end anywhere."""
        takes: cython.longlong
        offset: cython.longlong
        status: cython.int
        while True:
            takes = _entry_bytes(data, self.at, end)
            if takes < 0:
                return BAD_FRAME
            if takes == 0 or takes > end - self.at:
                self.wanted = takes
                return DONE
            if not _read_message(item, data, self.at, self.at + takes):
                return BAD_RECORD
            if item.attributes & CODEC_MASK:
                return BAD_MAGIC
            item.headers_at = self.at + takes
            item.header_count = 0
            offset = _sum(self.base_offset, item.offset)
            if self.first_offset <= offset < self.end_offset:
                if self._is_full():
                    return FULL
                status = self._put(
                    item,
                    data,
                    self.at + takes,
                    offset,
                    self.append_time if self.marked and item.magic == 1 else item.timestamp,
                    -1 if item.magic == 0 else self.marked,
                )
                if status != DONE:
                    return status
            self.at += takes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_message(self, item: _Item, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Take the plain message of magic 0 or 1 at `position`."""
        at: cython.Py_ssize_t = self.position
        if self.checked and _crc32(data, at + MAGIC_OFFSET, end, 0) != _get32(data, at + 12) & MASK32:
            return BAD_CHECKSUM
        if not _read_message(item, data, at, end):
            return BAD_RECORD
        item.headers_at = end
        item.header_count = 0
        if not self.first_offset <= item.offset < self.end_offset:
            return DONE
        if self._is_full():
            return FULL
        kind: cython.int = -1 if item.magic == 0 else (item.attributes & APPEND_TIME_BIT) != 0
        return self._put(item, data, end, item.offset, item.timestamp, kind)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _enter(self, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Begin the plain v2 batch at `position`."""
        start: cython.Py_ssize_t = self.position
        self.left = _get32(data, start + 57)
        if self.left < 0:
            return BAD_COUNT
        self.base_offset = _get64(data, start)
        self.marked = (data[start + 22] & APPEND_TIME_BIT) != 0
        self.base_timestamp = _get64(data, start + 27)
        self.append_time = _get64(data, start + 35)
        self.at = start + BATCH_OVERHEAD
        self.inside = True
        return DONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_batches(self, item: _Item, data: Source, size: cython.Py_ssize_t) -> cython.int:
        end: cython.Py_ssize_t
        status: cython.int
        while True:
            end = _batch_end(data, self.position, size)
            if end <= 0:
                return BAD_FRAME if end < 0 else DONE
            if data[self.position + MAGIC_OFFSET] < 2:
                if data[self.position + 17] & CODEC_MASK:
                    return NEEDS_CODEC
                status = self._take_message(item, data, end)
            else:
                status = self._take_batch(item, data, end)
            if status != DONE:
                return status
            self.inside = False
            self.position = end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_outside(self, data: Source, start: cython.Py_ssize_t) -> cython.bint:
        """Whether the header of a v2 batch tells that no record of it is wanted."""
        offset: cython.longlong = _get64(data, start)
        if offset >= self.end_offset or _sum(offset, _get32(data, start + 23)) < self.first_offset:
            return True
        return _get64(data, start + 35) < self.min_timestamp

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take_batch(self, item: _Item, data: Source, end: cython.Py_ssize_t) -> cython.int:
        """Take the v2 batch at `position`, or what is left of it, unless a codec has to open it."""
        start: cython.Py_ssize_t = self.position
        status: cython.int
        if not self.inside:
            if self._is_outside(data, start):
                return DONE
            if data[start + 22] & CODEC_MASK and not data[start + 22] & CONTROL_BIT:
                return NEEDS_CODEC
            if self.checked and _crc32c(data, start + 21, end, 0) != _get32(data, start + 17) & MASK32:
                return BAD_CHECKSUM
            if data[start + 22] & CONTROL_BIT:
                self.control_batches += 1
                return DONE
            status = self._enter(data, end)
            if status != DONE:
                return status
        status = self._take_records(item, data, end)
        return BAD_COUNT if status == DONE and self.at != end else status


@cython.cfunc
def _fault(status: cython.int, offset: cython.longlong) -> object:
    text = f"the batch at offset {offset} is refused: {_FAULTS[status]}"
    return CorruptRecord(text) if status <= BAD_CHECKSUM else InvalidRecord(text)
