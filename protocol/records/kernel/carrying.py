# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes converted messages as an LZ4 stream without match search, by reusing the matches of the batch's own LZ4
stream.

Keys and values are the same bytes in both, only further apart, so a repeat inside a key or value is one in the
messages, too, at another distance. One that reaches over what lies between them is cut at its ends. The heads of
messages, with short keys between them, are compared with the one before. `blocks.py` shows the format.
"""

from __future__ import annotations

import cython

from .blocks import LZ4_BROKEN_HEADER, LZ4_HEADER

if not cython.compiled:  # carrying.pxd has them else
    from ..layout import LOG_OVERHEAD, V0_OVERHEAD, V1_OVERHEAD
    from .blocks import LZ4_BLOCK_BYTES, LZ4_HEADER_BYTES, LZ4_RAW_BLOCK, STEP
    from .buffers import source_of, words_of
    from .item import Item
    from .numbers import Sink, Source, Words, copy, get32, put_little16, put_little32
    from .reading import read_record

    MOST_PARTS = 4096
    MOST_OPENED = 131072
    CELL_BITS = 6
    LEAST_REPEAT = 4
    LAST_LITERALS = 5
    LAST_REPEAT = 12
    FARTHEST = 65535
    SHORT_KEY = 16

COMPILED: bool = cython.compiled


class Carrying:
    """A thread's tables, and the stream that is being written.

    parts                             of each key and value: begin and end in the opened records, begin in the messages
    cells                             for each 64 bytes of the opened records, the first part that ends behind their
                                      begin
    found_at, found_size, distance    the last repeat, which the next may go on with
    messages, size                    what the stream opens to
    begin, stop, done                 the block: where in the messages it begins and ends, up to where it is written
    sink, block_at, to                where the stream goes, where its block begins there, up to where it is written
    """

    def __init__(self) -> None:
        sizes = (3 * MOST_PARTS, (MOST_OPENED >> CELL_BITS) + 1)
        tables = [memoryview(bytearray(4 * size)).cast("I") for size in sizes]
        headers = LZ4_BROKEN_HEADER + LZ4_HEADER
        self.space = tables, headers
        self.parts, self.cells, self.headers = words_of(tables[0]), words_of(tables[1]), source_of(headers)
        self.found_at = self.found_size = self.distance = 0
        self.done = self.to = 0

    def close(
        self,
        item: Item,
        opened: Source,
        size: cython.Py_ssize_t,
        repeats: Words,
        repeated: cython.Py_ssize_t,
        messages: Sink,
        written: cython.Py_ssize_t,
        target: cython.int,
        sink: Sink,
        at: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Write the stream of `messages` of magic `target` to `sink` from `at` on; where it ends. There is room for a
        sixth and 1 KiB more than `written`.

        All of the first `size` bytes of `opened` became these messages; in those `repeats` tells what repeats.
        """
        self.begin_stream(messages, written, target, sink, at)
        self.carry(item, opened, size, repeats, repeated, messages, written, target)
        return self.end_stream()

    def carry(
        self,
        item: Item,
        opened: Source,
        size: cython.Py_ssize_t,
        repeats: Words,
        repeated: cython.Py_ssize_t,
        messages: Sink,
        written: cython.Py_ssize_t,
        target: cython.int,
    ) -> None:
        """Find what is `repeated` in the first `size` bytes of `opened` in the messages that all of them became."""
        at: cython.Py_ssize_t = 0
        to: cython.Py_ssize_t = 0
        head: cython.Py_ssize_t
        around: cython.Py_ssize_t
        last: cython.Py_ssize_t = 0
        apart: cython.Py_ssize_t
        overhead: cython.Py_ssize_t = V1_OVERHEAD if target == 1 else V0_OVERHEAD
        self.repeats, self.repeated, self.next = repeats, repeated, 0
        self.parts_count = self.cells_count = 0
        while to < written and at < size <= MOST_OPENED and self.parts_count + 2 <= MOST_PARTS:
            at = read_record(item, opened, at, size)
            if at < 0:
                break
            head = overhead - 4 if item.key_size > 0 else overhead
            apart, last = to - last, to
            if to and apart <= FARTHEST:
                around = item.key_size + 4 if 0 < item.key_size <= SHORT_KEY else 0
                self.carry_runs(messages, to, head + around, apart)
            if item.key_size > 0:
                self.carry_part(item.key_at, to + head, item.key_size, item.key_size > SHORT_KEY)
                head += item.key_size + 4
            if item.value_size > 0:
                self.carry_part(item.value_at, to + head, item.value_size, True)
            to += LOG_OVERHEAD + get32(messages, to + 8)

    def carry_runs(
        self, messages: Sink, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t
    ) -> None:
        """Tell of the runs of the `size` bytes at `at` that are those `distance` before, if they are long enough."""
        end: cython.Py_ssize_t = at + size
        begin: cython.Py_ssize_t = at
        while at < end:
            if messages[at] != messages[at - distance]:
                if at - begin >= LEAST_REPEAT:
                    self.found(begin, at - begin, distance)
                begin = at + 1
            at += 1
        if end - begin >= LEAST_REPEAT:
            self.found(begin, end - begin, distance)

    def carry_part(self, at: cython.uint, to: cython.uint, size: cython.uint, notes: cython.bint) -> None:
        """Carry what repeats in the key or value of `size` bytes from `at`, which went to `to`.

        If not `notes`, only where it went is of interest, for repeats of it.
        """
        end: cython.uint = at + size
        begin: cython.uint
        stop: cython.uint
        part: cython.Py_ssize_t = self.parts_count
        self.parts[3 * part], self.parts[3 * part + 1], self.parts[3 * part + 2] = at, end, to
        self.parts_count += 1
        while self.cells_count << CELL_BITS < end:
            self.cells[self.cells_count] = part
            self.cells_count += 1
        while self.next < self.repeated:
            begin = self.repeats[2 * self.next]
            if begin >= end:
                break
            stop = begin + (self.repeats[2 * self.next + 1] >> 16)
            if begin < at:
                begin = at
            if notes and begin < stop:
                self.carry_repeat(
                    begin, to + (begin - at), min(stop, end) - begin, self.repeats[2 * self.next + 1] & 0xFFFF
                )
            if stop > end:
                break
            self.next += 1

    def carry_repeat(self, at: cython.uint, to: cython.uint, size: cython.uint, distance: cython.uint) -> None:
        """Carry a repeat of `size` bytes, which went to `to`, piece by piece of what it repeats."""
        source: cython.uint = at - distance
        part: cython.Py_ssize_t = self.cells[source >> CELL_BITS]
        begin: cython.uint
        stop: cython.uint
        stop = source + size
        while True:
            while self.parts[3 * part + 1] <= source:
                part += 1
            begin = self.parts[3 * part]
            if source < begin:
                if begin >= stop:
                    return
                to += begin - source
                source = begin
            size = min(stop, self.parts[3 * part + 1]) - source
            distance = to - (self.parts[3 * part + 2] + (source - begin))
            if distance <= FARTHEST and size >= LEAST_REPEAT:
                self.found(to, size, distance)
            source += size
            to += size
            if source >= stop:
                return

    def found(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """Write the repeat that was found before, unless this one goes on with it."""
        if at == self.found_at + self.found_size and distance == self.distance:
            self.found_size += size
        else:
            self.put_repeat(self.found_at, self.found_size, self.distance)
            self.found_at, self.found_size, self.distance = at, size, distance

    def put_repeat(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """Write what lies before a repeat, and the repeat, cut where a block ends, or repeats what lies before one."""
        end: cython.Py_ssize_t = at + size
        last: cython.Py_ssize_t
        while end - at >= LEAST_REPEAT:
            if at >= self.stop:
                self.end_block()
                continue
            at = max(at, self.begin + distance)
            last = min(end, self.stop - LAST_LITERALS)
            if at <= self.stop - LAST_REPEAT and last - at >= LEAST_REPEAT:
                self.put_sequence(at, last - at, distance)
            if end <= self.stop:
                return
            at = max(at, self.stop)

    def put_sequence(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """Write the literals up to a repeat, and the repeat."""
        sink: Sink = self.sink
        token: cython.Py_ssize_t = self.to
        rest: cython.Py_ssize_t = size - LEAST_REPEAT
        to: cython.Py_ssize_t = self.put_literals(sink, token, self.messages, self.done, at - self.done)
        put_little16(sink, to, cython.cast(cython.uint, distance))
        to += 2
        if rest >= 15:
            sink[token] = sink[token] | 15
            to = self.put_length(sink, to, rest - 15)
        else:
            sink[token] = sink[token] | rest
        self.to, self.done = to, at + size

    def put_literals(
        self, sink: Sink, to: cython.Py_ssize_t, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Write a token and the literals that it tells of; where they end."""
        sink[to] = min(size, 15) << 4
        to += 1
        if size >= 15:
            to = self.put_length(sink, to, size - 15)
        if size <= STEP:
            copy(sink, to, data, at, STEP)
        else:
            copy(sink, to, data, at, size)
        return to + size

    def put_length(self, sink: Sink, to: cython.Py_ssize_t, rest: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Write what a length has beyond its token; where that ends."""
        while rest >= 255:
            sink[to] = 255
            to += 1
            rest -= 255
        sink[to] = rest
        return to + 1

    def begin_stream(
        self,
        messages: Source,
        size: cython.Py_ssize_t,
        target: cython.int,
        sink: Sink,
        at: cython.Py_ssize_t,
    ) -> None:
        """Begin the stream of so many bytes at `at`."""
        copy(sink, at, self.headers, LZ4_HEADER_BYTES if target else 0, LZ4_HEADER_BYTES)
        self.messages, self.size, self.sink = messages, size, sink
        self.found_at = self.found_size = self.distance = 0
        self.begin_block(0, at + LZ4_HEADER_BYTES)

    def end_stream(self) -> cython.Py_ssize_t:
        """Write what is left; where the stream ends."""
        self.put_repeat(self.found_at, self.found_size, self.distance)
        while self.begin < self.size:
            self.end_block()
        put_little32(self.sink, self.block_at, 0)
        return self.block_at + 4

    def begin_block(self, begin: cython.Py_ssize_t, at: cython.Py_ssize_t) -> None:
        """Begin the block of the messages from `begin` on at `at`."""
        self.begin = self.done = begin
        self.stop = min(begin + LZ4_BLOCK_BYTES, self.size)
        self.block_at, self.to = at, at + 4

    def end_block(self) -> None:
        """Write the rest of the block as literals, or all of it as it is where that is not more; begin the next."""
        size: cython.Py_ssize_t = self.stop - self.begin
        self.to = self.put_literals(self.sink, self.to, self.messages, self.done, self.stop - self.done)
        if self.to - self.block_at - 4 < size:
            put_little32(self.sink, self.block_at, cython.cast(cython.uint, self.to - self.block_at - 4))
        else:
            put_little32(self.sink, self.block_at, cython.cast(cython.uint, size) | LZ4_RAW_BLOCK)
            copy(self.sink, self.block_at + 4, self.messages, self.begin, size)
            self.to = self.block_at + 4 + size
        self.begin_block(self.stop, self.to)
