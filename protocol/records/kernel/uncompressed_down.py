# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Converts whole uncompressed batches down into a buffer of the caller, and plans chunks of batches.

In names here, plain means uncompressed.
"""

from __future__ import annotations

import cython

from .results import UncompressedDownResult
from .run_status import fault

if not cython.compiled:  # uncompressed_down.pxd has them else
    from ..layout import (
        CODEC_MASK,
        CONTROL_BIT,
        MAGIC_OFFSET,
        MAX_INT32,
        MIN_RECORD_BYTES,
        NO_TIMESTAMP,
        RECORD_BATCH_OVERHEAD,
        TIMESTAMP_TYPE_BIT,
        V1_OVERHEAD,
    )
    from .buffer_pointers import RELEASE_BYTES, sink_of, source_of
    from .crc import crc32_over, crc32c_over, crc_at, crc_prepare
    from .item import Item
    from .numbers import Source, add64, copy, get32, get64
    from .reading import batch_end, read_message, read_record
    from .run_status import (
        BAD_CHECKSUM,
        BAD_COUNT,
        BAD_FRAME,
        BAD_ORDER,
        BAD_RECORD,
        BAD_TIMESTAMP,
        DONE,
        NEEDS_CODEC,
        NO_ROOM,
    )
    from .writing import put_checksums, size_as_message, write_message

crc_prepare()

COMPILED: bool = cython.compiled

ROOM_ENOUGH = cython.declare(cython.Py_ssize_t, 1 << 46)


class UncompressedDown:
    """A chunk of whole batches that is being converted down.

    data, at, end                the stored batches, the position that conversion has reached, where they end
    sink, written, room          the output buffer, how much of it is filled, its size
    target, first_offset         see `convert_plain`
    measure                      whether nothing is written
    records, temporary,          counted so far
    batches, trimmed
    """


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _convert_batch(run: UncompressedDown, item: Item, end: cython.Py_ssize_t) -> cython.int:
    """Converts the plain v2 batch at `run.at` without its records before the first offset."""
    data: Source = run.data
    start: cython.Py_ssize_t = run.at
    written: cython.Py_ssize_t = run.written
    room: cython.Py_ssize_t = run.room
    target: cython.int = run.target
    measure: cython.bint = run.measure
    first_offset: cython.longlong = run.first_offset
    at: cython.Py_ssize_t = start + RECORD_BATCH_OVERHEAD
    base_offset: cython.longlong = get64(data, start)
    attributes: cython.int = data[start + 22] & TIMESTAMP_TYPE_BIT
    base_timestamp: cython.longlong = get64(data, start + 27)
    max_timestamp: cython.longlong = get64(data, start + 35)
    count: cython.longlong = get32(data, start + 57)
    kept: cython.longlong = 0
    first: cython.longlong = 0
    last: cython.longlong = 0
    offset: cython.longlong
    timestamp: cython.longlong
    size: cython.Py_ssize_t
    if crc32c_over(data, start + 21, end) != crc_at(data, start + 17):
        return BAD_CHECKSUM
    if count < 0:
        return BAD_COUNT
    while count > 0:
        count -= 1
        at = read_record(item, data, at, end)
        if at < 0:
            return BAD_RECORD
        offset = add64(base_offset, item.offset)
        if offset < first_offset:
            run.trimmed += 1
            continue
        timestamp = max_timestamp if attributes else add64(base_timestamp, item.timestamp)
        if timestamp < NO_TIMESTAMP:
            return BAD_TIMESTAMP
        if kept == 0:
            first = offset
        elif offset <= last or add64(offset, -first) > MAX_INT32:
            return BAD_ORDER
        last = offset
        kept += 1
        size = size_as_message(item, target)
        if size > room - written:
            return NO_ROOM
        if not measure:
            write_message(item, data, run.sink, written, size, target, attributes if target else 0, offset, timestamp)
        written += size
    if at != end:
        return BAD_COUNT
    if kept:
        if not measure:
            put_checksums(run.sink, run.written, written)
        run.records += kept
        run.temporary += end - start + written - run.written
        run.written = written
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _convert_message(run: UncompressedDown, item: Item, end: cython.Py_ssize_t) -> cython.int:
    """Convert the plain v1 message at `run.at` to v0, unless it lies before the first offset asked for."""
    if crc32_over(run.data, run.at + MAGIC_OFFSET, end) != crc_at(run.data, run.at + 12):
        return BAD_CHECKSUM
    if not read_message(item, run.data, run.at, end):
        return BAD_RECORD
    if item.offset < run.first_offset:
        run.trimmed += 1
        return DONE
    if item.timestamp < NO_TIMESTAMP:
        return BAD_TIMESTAMP
    size: cython.Py_ssize_t = size_as_message(item, 0)
    if size > run.room - run.written:
        return NO_ROOM
    if not run.measure:
        write_message(item, run.data, run.sink, run.written, size, 0, 0, item.offset, NO_TIMESTAMP)
        put_checksums(run.sink, run.written, run.written + size)
    run.records += 1
    run.temporary += end - run.at + size
    run.written += size
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def convert_batches(run: UncompressedDown, item: Item) -> cython.int:
    """Converts the batches from `run.at` on; if it stops early, `run.at` is the position of the batch there."""
    end: cython.Py_ssize_t
    size: cython.Py_ssize_t
    status: cython.int
    magic: cython.int
    while True:
        end = batch_end(run.data, run.at, run.end)
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
                copy(run.sink, run.written, run.data, run.at, size)
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
) -> UncompressedDownResult:
    """Converts whole batches from position `at` on, up to one that needs a codec or that `out` has no room for.

    Control batches are dropped and batches of magic `target` or less copied. Plain newer ones become messages, one for
    each record from `first_offset` on, after their checksum was verified. Without `out` nothing is written.

    At the end of the source, less than a whole batch is left.

    Raises: CorruptRecord, InvalidRecord naming the batch.
    """
    run: UncompressedDown = UncompressedDown()
    size: cython.Py_ssize_t = len(source)
    status: cython.int
    if at < 0 or out_at < 0:
        raise ValueError(f"positions {at} and {out_at}")
    run.data = source_of(source)
    run.at, run.end = at, size
    run.measure = out is None
    run.room = ROOM_ENOUGH
    if out is not None:
        run.room = len(out)
        run.sink = sink_of(out)
    run.written = out_at
    run.target, run.first_offset = target, first_offset
    run.records = run.temporary = run.batches = run.trimmed = 0
    item: Item = Item()
    if size - at < RELEASE_BYTES:
        status = convert_batches(run, item)
    else:
        with cython.nogil:
            status = convert_batches(run, item)
    if status >= BAD_FRAME:
        raise fault(status, get64(run.data, run.at))
    return UncompressedDownResult(
        run.at, run.written, run.batches, run.records, run.trimmed, run.temporary, status == NEEDS_CODEC
    )


def plan_chunk(
    source: cython.const[cython.uchar][::1], target: cython.int, limit_bytes: cython.Py_ssize_t
) -> tuple[int, int, bool, int]:
    """Plans the next chunk: the batches at the start that take `limit_bytes` at most, but at least one.

    Returns: its bytes, its batches, whether some need a codec, and how many bytes the others become at most. The chunk
    ends before a wrong frame.

    Raises: CorruptRecord when the frame of the first batch is wrong.
    """
    size: cython.Py_ssize_t = len(source)
    data: Source = source_of(source)
    at: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    batches: cython.Py_ssize_t = 0
    bound: cython.longlong = 0
    count: cython.longlong
    codec: cython.bint = False
    magic: cython.int
    while True:
        end = batch_end(data, at, size)
        if end < 0 and batches == 0:
            raise fault(BAD_FRAME, get64(data, at))
        if end <= 0 or (batches and end > limit_bytes):
            return at, batches, codec, bound
        magic = data[at + MAGIC_OFFSET]
        if magic < 2 and (magic <= target or not data[at + 17] & CODEC_MASK):
            bound += end - at
        elif magic < 2 or (data[at + 22] & CODEC_MASK and not data[at + 22] & CONTROL_BIT):
            codec = True
        elif not data[at + 22] & CONTROL_BIT:
            count = get32(data, at + 57)
            count = max(0, min(count, (end - at - RECORD_BATCH_OVERHEAD) // MIN_RECORD_BYTES))
            bound += end - at - RECORD_BATCH_OVERHEAD + count * (V1_OVERHEAD - MIN_RECORD_BYTES)
        at = end
        batches += 1
