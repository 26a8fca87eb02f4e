# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Decompresses LZ4 and snappy streams as Kafka's clients write them, block by block, and notes the matches in them.

    LZ4       header of 7 bytes (independent blocks of up to 64 KiB, no checksums) | blocks | 4 zeros
    block     int32 little-endian size, top bit set when stored raw | data
    data      token: literals << 4 | length - 4, each of 15 or more goes on in bytes | literals | int16 distance

    snappy    header of 16 bytes | chunks, each of up to 32 KiB
    chunk     int32 big-endian size | varint opened size | elements
    element   literals: size - 1 << 2, from 60 on in bytes behind | a copy of up to 64 bytes: distance of 1, 2, 4 bytes

An unusual or damaged stream is refused here, and then read or refused by the library
(`compression/lz4_frame.py`, `compression/xerial.py`, which show the whole formats). No length is trusted.
"""

from __future__ import annotations

import cython

if not cython.compiled:  # block_decompression.pxd has them else
    from .buffer_pointers import sink_of, source_of, words_of
    from .numbers import Sink, Source, copy, get32, little32, move

    LZ4 = 3
    LZ4_HEADER_BYTES = 7
    LZ4_BLOCK_BYTES = 65536
    LZ4_RAW_BLOCK = 0x80000000
    LEAST_REPEAT = 4
    SNAPPY_HEADER_BYTES = 16
    STEP = 16
    MOST_OPENED = 131072
    MOST_NOTED = 32768
    LONGEST_NOTED = 65535

COMPILED: bool = cython.compiled

LZ4_HEADER: bytes = b"\x04\x22\x4d\x18\x60\x40\x82"
LZ4_BROKEN_HEADER: bytes = LZ4_HEADER[:6] + b"\x1a"
"""The frame header in messages of magic 0 (`compression/lz4_frame.py`)."""
SNAPPY_HEADER: bytes = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
OPENED_EXTRA: int = 2 * STEP
"""How many bytes beyond its `room` `BlockDecompressor.decompress_next` may write."""


class BlockDecompressor:
    """A thread's tables, and the stream that is being decompressed.

    opened              the decompressed bytes: room for a block and the rest of the block before
    repeats             for each match in the decompressed bytes: where it begins, length << 16 | distance
    repeats_count       how many matches there are
    codec               LZ4 or snappy
    data, at, end       the stream, the position in it, where it ends
    is_over             whether its last block has been decompressed
    """

    def __init__(self) -> None:
        repeats = memoryview(bytearray(8 * MOST_NOTED)).cast("I")
        opened = memoryview(bytearray(MOST_OPENED + OPENED_EXTRA))
        headers = LZ4_BROKEN_HEADER + LZ4_HEADER + SNAPPY_HEADER
        self.space = repeats, opened, headers
        self.repeats, self.opened, self.headers = words_of(repeats), sink_of(opened), source_of(headers)
        self.repeats_count = 0

    def begin_stream(
        self, codec: cython.int, data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t, notes: cython.bint
    ) -> cython.bint:
        """Begins the stream from `at` to `end`; returns False if it does not have the usual header of the codec.

        `notes`: whether matches are noted.
        """
        size: cython.Py_ssize_t = LZ4_HEADER_BYTES if codec == LZ4 else SNAPPY_HEADER_BYTES
        header: cython.Py_ssize_t = LZ4_HEADER_BYTES if codec == LZ4 else 2 * LZ4_HEADER_BYTES
        n: cython.Py_ssize_t
        if end - at <= size:
            return False
        for n in range(size):
            if data[at + n] != self.headers[header + n]:
                return False
        self.codec, self.data, self.at, self.end = codec, data, at + size, end
        self.repeats_count, self.is_over, self.notes = 0, False, notes
        return True

    def decompress_next(self, out: Sink, to: cython.Py_ssize_t, room: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Decompresses the next block into `out` from `to` on, up to `room` at most.

        Returns where it ends in `out`; `to` at the end of the stream, -1 if the block is refused.
        """
        size: cython.Py_ssize_t
        block: cython.Py_ssize_t = self.at + 4
        is_raw: cython.bint = False
        if self.at == self.end and self.codec != LZ4:
            self.is_over = True
        if self.is_over:
            return to
        if block > self.end:
            return -1
        if self.codec == LZ4:
            is_raw = little32(self.data, self.at) & LZ4_RAW_BLOCK != 0
            size = little32(self.data, self.at) & ~LZ4_RAW_BLOCK
            if size == 0:
                self.is_over = True
                return to if block == self.end else -1
        else:
            size = get32(self.data, self.at)
        if size <= 0 or size > self.end - block:
            return -1
        self.at = block + size
        if self.codec != LZ4:
            return self.decompress_snappy(self.data, block, block + size, out, to, room)
        if is_raw:
            if size > min(LZ4_BLOCK_BYTES, room - to):
                return -1
            copy(out, to, self.data, block, size)
            return to + size
        return self.decompress_lz4(self.data, block, block + size, out, to, min(room, to + LZ4_BLOCK_BYTES))

    def keep_from(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Moves the decompressed bytes from `at` to `end` to the beginning, with the matches within them."""
        first: cython.Py_ssize_t = self.repeats_count
        last: cython.Py_ssize_t = self.repeats_count
        n: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        word: cython.uint
        move(self.opened, 0, at, end - at)
        while first > 0 and self.repeats[2 * first - 2] + (self.repeats[2 * first - 1] >> 16) > at:
            first -= 1
        self.repeats_count = 0
        for n in range(first, last):
            word = self.repeats[2 * n + 1]
            stop = self.repeats[2 * n] + (word >> 16)
            begin = max(self.repeats[2 * n], at + (word & 0xFFFF))
            if begin < stop:
                self.note_repeat(begin - at, stop - begin, word & 0xFFFF)

    def decompress_lz4(
        self,
        data: Source,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        out: Sink,
        to: cython.Py_ssize_t,
        room: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Decompresses the block from `at` to `end` into `out` from `to` on; returns where it ends in `out`, or -1."""
        begin: cython.Py_ssize_t = to
        size: cython.Py_ssize_t
        distance: cython.Py_ssize_t
        notes: cython.bint = self.notes
        token: cython.int
        byte: cython.int
        while at < end:
            token = data[at]
            at += 1
            size = token >> 4
            if size == 15:
                byte = 255
                while byte == 255:
                    if at >= end:
                        return -1
                    byte = data[at]
                    at += 1
                    size += byte
            if size > end - at or size > room - to:
                return -1
            if size <= STEP <= end - at:
                copy(out, to, data, at, STEP)
            else:
                copy(out, to, data, at, size)
            at += size
            to += size
            if at == end:
                return to
            if end - at < 2:
                return -1
            distance = data[at] | data[at + 1] << 8
            at += 2
            size = token & 15
            if size == 15:
                byte = 255
                while byte == 255:
                    if at >= end:
                        return -1
                    byte = data[at]
                    at += 1
                    size += byte
            size += LEAST_REPEAT
            if distance == 0 or distance > to - begin or size > room - to:
                return -1
            if notes:
                self.note_repeat(to, size, distance)
            self.copy_repeat(out, to, size, distance)
            to += size
        return -1

    def decompress_snappy(
        self,
        data: Source,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        out: Sink,
        to: cython.Py_ssize_t,
        room: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Decompresses the block from `at` to `end` into `out` from `to` on; returns where it ends in `out`, or -1."""
        begin: cython.Py_ssize_t = to
        stop: cython.Py_ssize_t = 0
        size: cython.Py_ssize_t
        distance: cython.Py_ssize_t
        notes: cython.bint = self.notes
        near: cython.int
        high: cython.int
        mask: cython.int
        shift: cython.int = 0
        tag: cython.int = 0x80
        more: cython.int
        while tag & 0x80:
            if at >= end or shift > 21:
                return -1
            tag = data[at]
            at += 1
            stop |= (tag & 0x7F) << shift
            shift += 7
        if stop > room - to:
            return -1
        stop += to
        while at < end:
            tag = data[at]
            at += 1
            near = tag & 1
            if tag & 3 == 0:
                size = tag >> 2
                if size >= 60:
                    more = cython.cast(cython.int, size - 59)
                    if more > 3 or more > end - at:
                        return -1
                    size = data[at]
                    if more > 1:
                        size |= data[at + 1] << 8
                    if more > 2:
                        size |= data[at + 2] << 16
                    at += more
                size += 1
                if size > end - at or size > stop - to:
                    return -1
                if size <= STEP <= end - at:
                    copy(out, to, data, at, STEP)
                else:
                    copy(out, to, data, at, size)
                at += size
            else:
                if tag & 3 == 3 or end - at < 2 - near:
                    return -1
                # The kind of a copy is hard to predict, so its size and distance are computed without a branch.
                mask = -near
                high = data[at + 1] if end - at > 1 else 0
                size = 1 + (3 & mask) + (tag >> 2 & (63 ^ 56 & mask))
                distance = data[at] | (tag >> 5 & mask | high & ~mask) << 8
                at += 2 - near
                if distance == 0 or distance > to - begin or size > stop - to:
                    return -1
                if notes:
                    self.note_repeat(to, size, distance)
                self.copy_repeat(out, to, size, distance)
            to += size
        return to if to == stop else -1

    def copy_repeat(
        self, out: Sink, to: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t
    ) -> cython.void:
        """Copies the `size` bytes that begin `distance` before `to` to `to`."""
        end: cython.Py_ssize_t = to + size
        few: cython.Py_ssize_t
        if distance < STEP:
            few = min(end, to + STEP)
            while to < few:
                out[to] = out[to - distance]
                to += 1
            # The bytes repeat at every multiple of the distance; this multiple is at least STEP.
            distance *= (STEP + distance - 1) // distance
        while to < end:
            copy(out, to, out, to - distance, STEP)
            to += STEP

    def note_repeat(self, to: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> cython.void:
        """Notes a match, if there is room for it."""
        count: cython.Py_ssize_t = self.repeats_count
        if count < MOST_NOTED and size <= LONGEST_NOTED:
            self.repeats[2 * count] = cython.cast(cython.uint, to)
            self.repeats[2 * count + 1] = cython.cast(cython.uint, size << 16 | distance)
            self.repeats_count = count + 1
