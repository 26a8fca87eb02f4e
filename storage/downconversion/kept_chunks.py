# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Chunks that are kept for several readers, and how they go into a reader's socket, with little of the interpreter in
between: after 128 KiB were copied the processor's caches hold nothing of it any more.
"""

from __future__ import annotations

import os

import cython

COMPILED: bool = cython.compiled

WHOLE = -1
"""Stands for the first offset where nothing lies before it."""


@cython.final
@cython.cclass
class KeptChunk:
    """What the batches up to `end` of the file became, `size_bytes` in `memory` from `at` on; what that took, and
    whether the batch behind them needs a codec. `reader` is who had it last."""

    end = cython.declare(cython.longlong, visibility="readonly")
    size_bytes = cython.declare(cython.Py_ssize_t, visibility="readonly")
    records = cython.declare(cython.longlong, visibility="readonly")
    temporary_bytes = cython.declare(cython.longlong, visibility="readonly")
    needs_worker = cython.declare(cython.bint, visibility="readonly")
    reader = cython.declare(cython.longlong, visibility="public")
    memory: object
    at: cython.Py_ssize_t

    def __init__(
        self,
        end: cython.longlong,
        size_bytes: cython.Py_ssize_t,
        records: cython.longlong,
        temporary_bytes: cython.longlong,
        needs_worker: cython.bint,
        memory: object,
        at: cython.Py_ssize_t,
    ) -> None:
        if at < 0 or size_bytes < 0 or size_bytes > len(memory) - at:
            raise ValueError(f"{size_bytes} bytes at {at} of {len(memory)}")
        self.end, self.size_bytes, self.records = end, size_bytes, records
        self.temporary_bytes, self.needs_worker = temporary_bytes, needs_worker
        self.memory, self.at = memory, at
        self.reader = 0


@cython.final
@cython.cclass
class KeptRun:
    """Kept chunks that went to one reader, one behind the other.

    `end` is the position in the file behind those that are sent, and `skip` what was sent of the chunk that begins
    there. `sent_bytes` went, of the `written_bytes` that the chunks have before the last was cut; `records` and
    `temporary_bytes` tell what making them took, `found_bytes` how much of them somebody else had last.
    `needs_worker`: the batch that follows needs a codec. `is_full`: the socket would not take all.
    """

    end = cython.declare(cython.longlong, visibility="readonly")
    skip = cython.declare(cython.longlong, visibility="readonly")
    sent_bytes = cython.declare(cython.longlong, visibility="readonly")
    written_bytes = cython.declare(cython.longlong, visibility="readonly")
    records = cython.declare(cython.longlong, visibility="readonly")
    temporary_bytes = cython.declare(cython.longlong, visibility="readonly")
    found_bytes = cython.declare(cython.longlong, visibility="readonly")
    needs_worker = cython.declare(cython.bint, visibility="readonly")
    is_full = cython.declare(cython.bint, visibility="readonly")

    def __init__(self, position: cython.longlong, skip: cython.longlong) -> None:
        """At `position` of the file, where `skip` bytes of what is there are sent already."""
        if position < 0 or skip < 0:
            raise ValueError(f"{skip} bytes sent of what is at {position}")
        self.end, self.skip = position, skip
        self.sent_bytes = self.written_bytes = self.records = self.temporary_bytes = self.found_bytes = 0
        self.needs_worker = self.is_full = False

    def go(
        self,
        chunks: dict,
        first_offset: cython.longlong,
        end: cython.longlong,
        reader: cython.longlong,
        socket: cython.int,
        most_bytes: cython.longlong,
        turn_bytes: cython.longlong,
    ) -> None:
        """Sends those of `chunks`, by position and first offset, that lie one behind the other from here on.

        Up to one that is not there, or goes further than `end`; to one that ends behind `turn_bytes`, or that is cut at
        `most_bytes`; to one that the socket does not take whole; to a batch that needs a codec.

        Raises: OSError when the peer has gone; what went before is counted.
        """
        chunk: KeptChunk
        turn_bytes = min(turn_bytes, most_bytes)
        while self.sent_bytes < turn_bytes and not self.needs_worker:
            found = chunks.get((self.end, first_offset))
            if found is None:
                break
            chunk = found
            if chunk.end > end:
                break
            if chunk.reader != reader:
                chunk.reader = reader
                self.found_bytes += chunk.size_bytes
            self.send(chunk, socket, most_bytes - self.sent_bytes)
            if self.is_full:
                break
            self.written_bytes += chunk.size_bytes
            self.records += chunk.records
            self.temporary_bytes += chunk.temporary_bytes
            self.end, self.needs_worker, first_offset = chunk.end, chunk.needs_worker, WHOLE

    @cython.cfunc
    def send(self, chunk: KeptChunk, socket: cython.int, most_bytes: cython.longlong) -> cython.void:
        """Offers what was not sent of `chunk`, cut at `most_bytes`, and counts."""
        memory: cython.uchar[::1] = chunk.memory
        data: Sink = sink_of(memory)
        size: cython.Py_ssize_t = min(chunk.size_bytes - self.skip, most_bytes)
        taken: cython.Py_ssize_t = 0
        if size > 0:
            with cython.nogil:
                taken = offer(socket, data + chunk.at + self.skip, size)
            if taken < 0:
                raise OSError(-taken, os.strerror(-taken))
            self.sent_bytes += taken
            if taken < size:
                self.skip += taken
                self.is_full = True
                return
        self.skip = max(0, self.skip + taken - chunk.size_bytes)
