# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes converted messages as an LZ4 or snappy stream without match search, by reusing the matches of the batch's own
stream.

Keys and values are the same bytes in both, only further apart, so a repeat inside a key or value is one in the
messages, too, at another distance. One that reaches over what lies between them is cut at its ends. The heads of
messages, with short keys between them, are compared with the one before.

Each block that was opened becomes one, or more where its messages take more than 64 KiB. `block_decompression.py` shows
the formats.
"""

from __future__ import annotations

import cython

from .block_decompression import LZ4_BROKEN_HEADER, LZ4_HEADER, SNAPPY_HEADER

if not cython.compiled:  # match_reuse.pxd has them else
    from ..layout import LOG_OVERHEAD, V0_OVERHEAD, V1_OVERHEAD
    from .block_decompression import LZ4, LZ4_BLOCK_BYTES, LZ4_HEADER_BYTES, LZ4_RAW_BLOCK, SNAPPY_HEADER_BYTES, STEP
    from .buffer_pointers import source_of, words_of
    from .item import Item
    from .numbers import Sink, Source, Words, copy, get32, put32, put_little16, put_little32
    from .reading import read_record

    MOST_PARTS = 8192
    MOST_OPENED = 131072
    CELL_BITS = 6
    LEAST_REPEAT = 4
    LAST_LITERALS = 5
    LAST_REPEAT = 12
    FARTHEST = 65535
    SHORT_KEY = 16
    LONGEST_COPY = 64
    SHORT_COPY = 12
    NEAR = 2048
    SHORT_LITERALS = 60

COMPILED: bool = cython.compiled


class MatchReuse:
    """A thread's tables, and the stream that is being written.

    parts                             of each key and value: begin and end in the opened records, begin in the messages
    cells                             for each 64 bytes of the opened records, the first part that ends behind their
                                      begin
    found_at, found_size, distance    the last repeat, which the next may go on with
    in_head                           whether that lies in the head of a message
    codec                             LZ4, or snappy
    messages, size                    what is written
    begin, stop, done                 the block: where in the messages it begins and ends, up to where it is written
    last_begin, last_end              where the last repeat of the block may begin and end
    sink, block_at, to                where the stream goes, where its block begins there, up to where it is written
    """

    def __init__(self) -> None:
        sizes = (3 * MOST_PARTS, (MOST_OPENED >> CELL_BITS) + 1)
        tables = [memoryview(bytearray(4 * size)).cast("I") for size in sizes]
        headers = LZ4_BROKEN_HEADER + LZ4_HEADER + SNAPPY_HEADER
        self.space = tables, headers
        self.parts, self.cells, self.headers = words_of(tables[0]), words_of(tables[1]), source_of(headers)
        self.found_at = self.found_size = self.distance = 0
        self.in_head = False
        self.done = self.to = 0

    def begin_stream(self, codec: cython.int, target: cython.int, sink: Sink, at: cython.Py_ssize_t) -> None:
        """Begin the stream of messages of magic `target` at `at`."""
        header: cython.Py_ssize_t = LZ4_HEADER_BYTES if target else 0
        size: cython.Py_ssize_t = LZ4_HEADER_BYTES
        if codec != LZ4:
            header, size = 2 * LZ4_HEADER_BYTES, SNAPPY_HEADER_BYTES
        copy(sink, at, self.headers, header, size)
        self.codec, self.sink, self.to = codec, sink, at + size

    def end_stream(self) -> cython.Py_ssize_t:
        """Where the stream ends."""
        if self.codec == LZ4:
            put_little32(self.sink, self.to, 0)
            self.to += 4
        return self.to

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
        """Write `messages` of magic `target` as blocks; there is room for a sixth and 1 KiB more than `written`.

        All of the first `size` bytes of `opened` became these messages; in those `repeats` tells what repeats.
        """
        at: cython.Py_ssize_t = 0
        to: cython.Py_ssize_t = 0
        head: cython.Py_ssize_t
        around: cython.Py_ssize_t
        last: cython.Py_ssize_t = 0
        apart: cython.Py_ssize_t
        overhead: cython.Py_ssize_t = V1_OVERHEAD if target == 1 else V0_OVERHEAD
        self.begin_blocks(messages, written)
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
        self.end_blocks()

    def carry_runs(
        self, messages: Sink, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t
    ) -> None:
        """Tell of the runs of the `size` bytes at `at` that are those `distance` before, if they are long enough."""
        end: cython.Py_ssize_t = at + size
        begin: cython.Py_ssize_t = at
        while at < end:
            if messages[at] != messages[at - distance]:
                if at - begin >= LEAST_REPEAT:
                    self.found(begin, at - begin, distance, True)
                begin = at + 1
            at += 1
        if end - begin >= LEAST_REPEAT:
            self.found(begin, end - begin, distance, True)

    def carry_part(self, at: cython.uint, to: cython.uint, size: cython.uint, notes: cython.bint) -> None:
        """Carry what repeats in the key or value of `size` bytes from `at`, which went to `to`.

        If not `notes`, only where it went is of interest, for repeats of it.
        """
        end: cython.uint = at + size
        begin: cython.uint
        stop: cython.uint
        word: cython.uint
        source: cython.uint
        part: cython.Py_ssize_t = self.parts_count
        parts: Words = self.parts
        repeats: Words = self.repeats
        parts[3 * part], parts[3 * part + 1], parts[3 * part + 2] = at, end, to
        self.parts_count += 1
        while self.cells_count << CELL_BITS < end:
            self.cells[self.cells_count] = part
            self.cells_count += 1
        while self.next < self.repeated:
            begin, word = repeats[2 * self.next], repeats[2 * self.next + 1]
            if begin >= end:
                break
            stop = begin + (word >> 16)
            begin = max(begin, at)
            if notes and begin < stop:
                source = begin - (word & 0xFFFF)
                part = self.cells[source >> CELL_BITS]
                while parts[3 * part + 1] <= source:
                    part += 1
                self.carry_pieces(to + (begin - at), min(stop, end) - begin, source, part)
            if stop > end:
                break
            self.next += 1

    def carry_pieces(self, to: cython.uint, size: cython.uint, source: cython.uint, part: cython.Py_ssize_t) -> None:
        """Carry a repeat of `size` bytes, which went to `to`, of what begins at `source`, piece by piece.

        `part` is the first that ends behind `source`.
        """
        begin: cython.uint
        stop: cython.uint = source + size
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
            self.found(to, size, to - (self.parts[3 * part + 2] + (source - begin)), False)
            source += size
            to += size
            if source >= stop:
                return

    def found(
        self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t, in_head: cython.bint
    ) -> None:
        """Write the repeat that was found before, unless this one goes on with it: as far back, or the one `in_head`
        repeats what lies as far back as the other, too."""
        is_next: cython.bint = at == self.found_at + self.found_size
        if is_next and (distance == self.distance or (in_head and self.repeats_from(at, size, self.distance))):
            self.found_size += size
        elif is_next and self.in_head and self.repeats_from(self.found_at, self.found_size, distance):
            self.found_size += size
            self.distance = distance
        else:
            self.put_repeat(self.found_at, self.found_size, self.distance)
            self.found_at, self.found_size, self.distance = at, size, distance
        self.in_head = in_head

    def repeats_from(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> cython.bint:
        """Whether the `size` bytes at `at` repeat those `distance` before."""
        end: cython.Py_ssize_t = at + size
        if distance > FARTHEST or at - distance < self.begin:
            return False
        while at < end and self.messages[at] == self.messages[at - distance]:
            at += 1
        return at == end

    def put_repeat(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """Write what lies before a repeat, and the repeat."""
        if (
            at > self.last_begin
            or at + size > self.last_end
            or at - distance < self.begin
            or size < LEAST_REPEAT
            or distance > FARTHEST
        ):
            self.put_pieces(at, size, distance)
        elif self.codec == LZ4:
            self.put_sequence(at, size, distance)
        else:
            self.put_copies(at, size, distance)

    def put_pieces(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """As `put_repeat`, cut where a block ends, or repeats what lies before one."""
        end: cython.Py_ssize_t = at + size
        last: cython.Py_ssize_t
        if distance > FARTHEST:
            return
        while end - at >= LEAST_REPEAT:
            if at >= self.stop:
                self.end_block()
                continue
            at = max(at, self.begin + distance)
            last = min(end, self.last_end)
            if at <= self.last_begin and last - at >= LEAST_REPEAT:
                self.put_repeat(at, last - at, distance)
            if end <= self.stop:
                return
            at = max(at, self.stop)

    def put_sequence(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """Write the literals up to a repeat, and the repeat, as LZ4 has them."""
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
        """Write a token of LZ4 and the literals that it tells of; where they end."""
        sink[to] = min(size, 15) << 4
        if size < 15:
            copy(sink, to + 1, data, at, STEP)
            return to + 1 + size
        to = self.put_length(sink, to + 1, size - 15)
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

    def put_copies(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """Write the literals up to a repeat, and the repeat, as snappy has them."""
        sink: Sink = self.sink
        to: cython.Py_ssize_t = self.to
        literals: cython.Py_ssize_t = at - self.done
        part: cython.Py_ssize_t
        short: cython.uint
        word: cython.uint
        near: cython.uint
        self.done = at + size
        if literals <= STEP:
            sink[to] = (literals - 1 & 0x3F) << 2
            copy(sink, to + 1, self.messages, at - literals, STEP)
            to += literals + (literals > 0)
        else:
            to = self.put_element(sink, to, self.messages, at - literals, literals)
        while size > LONGEST_COPY:
            part = LONGEST_COPY if size >= LONGEST_COPY + LEAST_REPEAT else LONGEST_COPY - LEAST_REPEAT
            put_little32(sink, to, cython.cast(cython.uint, distance << 8 | part - 1 << 2 | 2))
            to += 3
            size -= part
        # What a copy of two bytes would be, and one of three: one is chosen without a branch.
        short = cython.cast(cython.uint, (distance & 0xFF) << 8 | distance >> 8 << 5 | size - LEAST_REPEAT << 2 | 1)
        word = cython.cast(cython.uint, distance << 8 | size - 1 << 2 | 2)
        near = (size < SHORT_COPY) & (distance < NEAR)
        put_little32(sink, to, word ^ (word ^ short) & (0 - near))
        self.to = to + 3 - near

    def put_element(
        self, sink: Sink, to: cython.Py_ssize_t, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Write literals, if there are any, as snappy has them; where they end."""
        if size == 0:
            return to
        if size <= SHORT_LITERALS:
            sink[to] = size - 1 << 2
        elif size <= 256:
            sink[to] = 60 << 2
            to += 1
            sink[to] = size - 1
        else:
            sink[to] = 61 << 2
            put_little16(sink, to + 1, cython.cast(cython.uint, size - 1))
            to += 2
        copy(sink, to + 1, data, at, size)
        return to + 1 + size

    def begin_blocks(self, messages: Source, size: cython.Py_ssize_t) -> None:
        """Begin the blocks of so many bytes."""
        self.messages, self.size = messages, size
        self.found_at = self.found_size = self.distance = 0
        self.in_head = False
        self.begin_block(0)

    def end_blocks(self) -> None:
        """Write what is left."""
        self.put_repeat(self.found_at, self.found_size, self.distance)
        while self.begin < self.size:
            self.end_block()
        self.to = self.block_at

    def begin_block(self, begin: cython.Py_ssize_t) -> None:
        """Begin the block of the messages from `begin` on."""
        size: cython.Py_ssize_t = min(LZ4_BLOCK_BYTES, self.size - begin)
        self.begin = self.done = begin
        self.stop = self.last_begin = self.last_end = begin + size
        self.block_at = self.to
        self.to += 4
        if self.codec == LZ4:
            self.last_begin -= LAST_REPEAT
            self.last_end -= LAST_LITERALS
        else:
            while size > 0x7F:
                self.sink[self.to] = size & 0x7F | 0x80
                self.to += 1
                size >>= 7
            self.sink[self.to] = size
            self.to += 1

    def end_block(self) -> None:
        """Write the rest of the block as literals, or all of it as it is where that is not more; begin the next."""
        size: cython.Py_ssize_t = self.stop - self.begin
        if self.codec != LZ4:
            self.to = self.put_element(self.sink, self.to, self.messages, self.done, self.stop - self.done)
            put32(self.sink, self.block_at, self.to - self.block_at - 4)
        else:
            self.to = self.put_literals(self.sink, self.to, self.messages, self.done, self.stop - self.done)
            if self.to - self.block_at - 4 < size:
                put_little32(self.sink, self.block_at, cython.cast(cython.uint, self.to - self.block_at - 4))
            else:
                put_little32(self.sink, self.block_at, cython.cast(cython.uint, size) | LZ4_RAW_BLOCK)
                copy(self.sink, self.block_at + 4, self.messages, self.begin, size)
                self.to = self.block_at + 4 + size
        self.begin_block(self.stop)
