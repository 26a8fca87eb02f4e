# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the first batch of a slice becomes, where that takes no codec: read, checked and measured by one call.

`ConvertedSlice` does the same step by step for whatever is not plain sailing, tells what is wrong with it, and is what
tests hold this against. An answer has a slice for each partition, so steps of Python count.
"""

from __future__ import annotations

import cython

COMPILED: bool = cython.compiled

# As in plain.py: nothing is written, so there is room for anything.
ROOM_ENOUGH = cython.declare(cython.Py_ssize_t, 1 << 46)

# A producer's batch.size, and its header.
MOSTLY_BYTES = cython.declare(cython.Py_ssize_t, 18 * 1024)


def plain_first(
    file: cython.int,
    position: cython.longlong,
    size: cython.Py_ssize_t,
    target: cython.int,
    first_offset: cython.longlong,
    window: object,
) -> tuple[int, int, bool, int] | None:
    """Of the batch at `position`, in a slice of `size` bytes: its magic, its attributes, whether it begins before
    `first_offset`, and how many bytes it becomes.

    None if it becomes nothing, needs a codec, is damaged, or does not fit into the slice or the `window`.
    """
    looked: cython.uchar[::1] = window
    data: Sink = sink_of(looked)
    got: cython.Py_ssize_t
    batch_bytes: cython.Py_ssize_t
    run: PlainDown
    size = min(size, len(looked))
    got = read_into(file, data, 0, min(size, MOSTLY_BYTES), position)
    if got < LOG_OVERHEAD:
        return None
    batch_bytes = get32(data, 8) + LOG_OVERHEAD
    if batch_bytes > size:
        return None
    if batch_bytes > got:
        got += read_into(file, data, got, batch_bytes - got, position + got)
    if batch_end(data, 0, got) <= 0:
        return None
    run = PlainDown()
    run.data, run.at, run.end = data, 0, batch_bytes
    run.measure, run.room, run.target, run.first_offset = True, ROOM_ENOUGH, target, first_offset
    run.written = run.records = run.temporary = run.batches = run.trimmed = 0
    if convert_batches(run, Item()) != DONE or run.written == 0:
        return None
    attributes: cython.int = data[22] if data[MAGIC_OFFSET] == 2 else data[17]
    return data[MAGIC_OFFSET], attributes, get64(data, 0) < first_offset, run.written
