# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes converted messages as an LZ4 or snappy stream without match search, by reusing the matches of the batch's own
stream.

Keys and values are the same bytes in the batch and in the messages, only spaced differently. So a match inside a key or
value of the batch is also a match in the messages, with another distance. A match that runs beyond a key or value is
cut at its borders. The head of a message, and a short key in it, is compared with the head of the message before.

Each decompressed block becomes one block, or several if its messages take more than 64 KiB. `block_decompression.py`
shows the formats.
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
    LAST_MATCH = 3 * 65535
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


def put_length(sink: Sink, to: cython.Py_ssize_t, rest: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Writes the bytes of an LZ4 length that follow the token; returns where they end."""
    while rest >= 255:
        sink[to] = 255
        to += 1
        rest -= 255
    sink[to] = rest
    return to + 1


def put_lz4_literals(
    sink: Sink,
    to: cython.Py_ssize_t,
    data: Source,
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    match_rest: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Writes an LZ4 token and its literals; returns where they end. `match_rest`: the size of the match, less 4."""
    sink[to] = min(size, 15) << 4 | min(match_rest, 15)
    if size < 15:
        copy(sink, to + 1, data, at, STEP)
        return to + 1 + size
    to = put_length(sink, to + 1, size - 15)
    copy(sink, to, data, at, size)
    return to + size


def put_lz4_sequence(
    sink: Sink,
    to: cython.Py_ssize_t,
    data: Source,
    done: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    distance: cython.uint,
) -> cython.Py_ssize_t:
    """Writes the literals from `done` up to a match, and the match, as LZ4; returns where they end."""
    rest: cython.Py_ssize_t = size - LEAST_REPEAT
    to = put_lz4_literals(sink, to, data, done, at - done, rest)
    put_little16(sink, to, distance)
    if rest < 15:
        return to + 2
    return put_length(sink, to + 2, rest - 15)


def put_element(
    sink: Sink, to: cython.Py_ssize_t, data: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Writes literals, if there are any, as snappy; returns where they end."""
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


def put_copies(
    sink: Sink,
    to: cython.Py_ssize_t,
    data: Source,
    done: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    distance: cython.uint,
) -> cython.Py_ssize_t:
    """Writes the literals from `done` up to a match, and the match, as snappy; returns where they end."""
    literals: cython.Py_ssize_t = at - done
    part: cython.Py_ssize_t
    short: cython.uint
    word: cython.uint
    near: cython.uint
    if literals <= STEP:
        sink[to] = (literals - 1 & 0x3F) << 2
        copy(sink, to + 1, data, done, STEP)
        to += literals + (literals > 0)
    else:
        to = put_element(sink, to, data, done, literals)
    while size > LONGEST_COPY:
        part = LONGEST_COPY if size >= LONGEST_COPY + LEAST_REPEAT else LONGEST_COPY - LEAST_REPEAT
        put_little32(sink, to, distance << 8 | cython.cast(cython.uint, part - 1 << 2 | 2))
        to += 3
        size -= part
    # Both forms of the copy are computed, of two bytes and of three; one is chosen without a branch.
    short = (distance & 0xFF) << 8 | distance >> 8 << 5 | cython.cast(cython.uint, size - LEAST_REPEAT << 2 | 1)
    word = distance << 8 | cython.cast(cython.uint, size - 1 << 2 | 2)
    near = (size < SHORT_COPY) & (distance < NEAR)
    put_little32(sink, to, word ^ (word ^ short) & (0 - near))
    return to + 3 - near


class MatchReuse:
    """A thread's tables, and the stream that is being written.

    parts         for each key and value: begin and end in the decompressed records, begin in the messages
    cells         for each 64 bytes of the decompressed records: the first part that ends after they begin
    matches       the matches in the messages: begin, size, distance; the first is empty
    last          where the last match begins in the table
    head          where the last match in a message's head begins that is not joined with others, or -1
    codec         LZ4 or snappy
    sink, to      the output buffer, where the next byte is written
    """

    def __init__(self) -> None:
        sizes = (3 * MOST_PARTS, (MOST_OPENED >> CELL_BITS) + 1, LAST_MATCH + 3)
        tables = [memoryview(bytearray(4 * size)).cast("I") for size in sizes]
        headers = LZ4_BROKEN_HEADER + LZ4_HEADER + SNAPPY_HEADER
        self.space = tables, headers
        self.parts, self.cells, self.matches = words_of(tables[0]), words_of(tables[1]), words_of(tables[2])
        self.headers = source_of(headers)
        self.last, self.head = 0, -1
        self.to = 0

    def begin_stream(self, codec: cython.int, magic: cython.int, sink: Sink, at: cython.Py_ssize_t) -> None:
        """Begin the stream of messages of this magic at `at`."""
        header: cython.Py_ssize_t = LZ4_HEADER_BYTES if magic else 0
        size: cython.Py_ssize_t = LZ4_HEADER_BYTES
        if codec != LZ4:
            header, size = 2 * LZ4_HEADER_BYTES, SNAPPY_HEADER_BYTES
        copy(sink, at, self.headers, header, size)
        self.codec, self.sink, self.to = codec, sink, at + size

    def end_stream(self) -> cython.Py_ssize_t:
        """Ends the stream; returns where it ends."""
        if self.codec == LZ4:
            put_little32(self.sink, self.to, 0)
            self.to += 4
        return self.to

    def compress(
        self,
        item: Item,
        opened: Source,
        size: cython.Py_ssize_t,
        repeats: Words,
        repeats_count: cython.Py_ssize_t,
        messages: Sink,
        messages_size: cython.Py_ssize_t,
        magic: cython.int,
    ) -> None:
        """Writes `messages` of this magic as blocks. The stream must have room for 7/6 of `messages_size` plus 1 KiB.

        The first `size` bytes of `opened` became these messages; `repeats` are the matches in those bytes.
        """
        at: cython.Py_ssize_t = 0
        to: cython.Py_ssize_t = 0
        head: cython.Py_ssize_t
        around: cython.Py_ssize_t
        last: cython.Py_ssize_t = 0
        apart: cython.Py_ssize_t
        overhead: cython.Py_ssize_t = V1_OVERHEAD if magic == 1 else V0_OVERHEAD
        self.messages = messages
        self.repeats, self.repeats_count, self.next = repeats, repeats_count, 0
        self.parts_count = self.cells_count = 0
        while to < messages_size and at < size <= MOST_OPENED and self.parts_count + 2 <= MOST_PARTS:
            at = read_record(item, opened, at, size)
            if at < 0:
                break
            head = overhead - 4 if item.key_size > 0 else overhead
            apart, last = to - last, to
            if to and apart <= FARTHEST:
                around = item.key_size + 4 if 0 < item.key_size <= SHORT_KEY else 0
                self.add_matches_of_head(to, head + around, apart)
            if item.key_size > 0:
                self.add_matches_of_part(item.key_at, to + head, item.key_size, item.key_size > SHORT_KEY)
                head += item.key_size + 4
            if item.value_size > 0:
                self.add_matches_of_part(item.value_at, to + head, item.value_size, True)
            to += LOG_OVERHEAD + get32(messages, to + 8)
        self.write_blocks(messages, messages_size)

    def add_matches_of_head(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """Compares the `size` bytes at `at` with those `distance` before; adds each long enough run of equal bytes."""
        end: cython.Py_ssize_t = at + size
        begin: cython.Py_ssize_t = at
        while at < end:
            if self.messages[at] != self.messages[at - distance]:
                if at - begin >= LEAST_REPEAT:
                    self.add(begin, at - begin, distance, True)
                begin = at + 1
            at += 1
        if end - begin >= LEAST_REPEAT:
            self.add(begin, end - begin, distance, True)

    def add_matches_of_part(self, at: cython.uint, to: cython.uint, size: cython.uint, notes: cython.bint) -> None:
        """Add the matches in the key or value of `size` bytes at `at`, which was written to `to`.

        Without `notes`, only remember where it was written, for later matches that repeat it.
        """
        end: cython.uint = at + size
        begin: cython.uint
        stop: cython.uint
        word: cython.uint
        source: cython.uint
        distance: cython.uint
        part: cython.Py_ssize_t = self.parts_count
        number: cython.Py_ssize_t = self.next
        last: cython.Py_ssize_t = self.last
        parts: Words = self.parts
        repeats: Words = self.repeats
        matches: Words = self.matches
        parts[3 * part], parts[3 * part + 1], parts[3 * part + 2] = at, end, to
        self.parts_count += 1
        while self.cells_count << CELL_BITS < end:
            self.cells[self.cells_count] = part
            self.cells_count += 1
        while number < self.repeats_count:
            begin, word = repeats[2 * number], repeats[2 * number + 1]
            if begin >= end:
                break
            stop = begin + (word >> 16)
            begin = max(begin, at)
            if notes and begin < stop:
                size = min(stop, end) - begin
                source = begin - (word & 0xFFFF)
                part = self.cells[source >> CELL_BITS]
                part += parts[3 * part + 1] <= source  # a branch would be hard to predict
                begin += to - at
                distance = begin - (parts[3 * part + 2] + source - parts[3 * part])
                if (
                    parts[3 * part] <= source
                    and source + size <= parts[3 * part + 1]
                    and distance <= FARTHEST
                    and distance != matches[last + 2]
                    and last != self.head
                    and last < LAST_MATCH
                ):
                    matches[last + 3], matches[last + 4], matches[last + 5] = begin, size, distance
                    last += 3
                else:
                    self.last = last
                    self.add_match_cut_at_parts(begin, size, source, part)
                    last = self.last
            if stop > end:
                break
            number += 1
        self.next, self.last = number, last

    def add_match_cut_at_parts(
        self, at: cython.uint, size: cython.uint, source: cython.uint, part: cython.Py_ssize_t
    ) -> None:
        """Add a match of `size` bytes, which were written at `at` and repeat the bytes at `source`.

        It is cut where parts begin and end, and what lies between them is left out. `part` is the first part that ends
        after `source`.
        """
        begin: cython.uint
        stop: cython.uint = source + size
        parts: Words = self.parts
        while True:
            while parts[3 * part + 1] <= source:
                part += 1
            begin = parts[3 * part]
            if source < begin:
                if begin >= stop:
                    return
                at += begin - source
                source = begin
            size = min(stop, parts[3 * part + 1]) - source
            self.add(at, size, at - (parts[3 * part + 2] + (source - begin)), False)
            source += size
            at += size
            if source >= stop:
                return

    def add(self, at: cython.uint, size: cython.uint, distance: cython.uint, in_head: cython.bint) -> None:
        """Adds a match, if there is room, or extends the last one by it if possible."""
        matches: Words = self.matches
        last: cython.Py_ssize_t = self.last
        if self.extend(at, size, distance, in_head):
            if not in_head:
                self.head = -1
        elif last < LAST_MATCH and distance <= FARTHEST:
            matches[last + 3], matches[last + 4], matches[last + 5] = at, size, distance
            self.last = last + 3
            if in_head:
                self.head = self.last

    def extend(self, at: cython.uint, size: cython.uint, distance: cython.uint, in_head: cython.bint) -> cython.bint:
        """Extends the last match by this one if possible; returns whether it did.

        It has to follow the last one directly. Then it is possible if the distances are equal, or if one of the two
        matches is in a message head and also repeats at the other's distance.
        """
        matches: Words = self.matches
        last: cython.Py_ssize_t = self.last
        if at != matches[last] + matches[last + 1]:
            return False
        if distance != matches[last + 2]:
            if in_head and self.repeats_from(at, size, matches[last + 2]):
                distance = matches[last + 2]
            elif last != self.head or not self.repeats_from(matches[last], matches[last + 1], distance):
                return False
        matches[last + 1] += size
        matches[last + 2] = distance
        return True

    def repeats_from(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> cython.bint:
        """Whether the `size` bytes at `at` repeat those `distance` before."""
        end: cython.Py_ssize_t = at + size
        if distance > FARTHEST or at < distance:
            return False
        while at < end and self.messages[at] == self.messages[at - distance]:
            at += 1
        return at == end

    def write_blocks(self, messages: Source, size: cython.Py_ssize_t) -> None:
        """Writes the messages as blocks; matches are cut at the end of a block and where they repeat earlier blocks."""
        sink: Sink = self.sink
        to: cython.Py_ssize_t = self.to
        matches: Words = self.matches
        is_lz4: cython.bint = self.codec == LZ4
        match: cython.Py_ssize_t = 3
        begin: cython.Py_ssize_t
        stop: cython.Py_ssize_t = 0
        last_begin: cython.Py_ssize_t
        last_end: cython.Py_ssize_t
        done: cython.Py_ssize_t
        block: cython.Py_ssize_t
        at: cython.Py_ssize_t
        end: cython.Py_ssize_t
        match_end: cython.Py_ssize_t
        distance: cython.uint
        while stop < size:
            begin = done = stop
            stop = last_begin = last_end = begin + min(LZ4_BLOCK_BYTES, size - begin)
            if is_lz4:
                last_begin -= LAST_REPEAT
                last_end -= LAST_LITERALS
            block = to
            to = self.begin_block(block, stop - begin)
            while match <= self.last:
                at, distance = matches[match], matches[match + 2]
                match_end = at + matches[match + 1]
                at = max(at, begin + distance)
                end = min(match_end, last_end)
                if at <= last_begin and end - at >= LEAST_REPEAT:
                    if is_lz4:
                        to = put_lz4_sequence(sink, to, messages, done, at, end - at, distance)
                    else:
                        to = put_copies(sink, to, messages, done, at, end - at, distance)
                    done = end
                if match_end > stop:
                    break
                match += 3
            to = self.end_block(block, to, messages, begin, done, stop)
        self.to = to
        self.last, self.head = 0, -1

    def begin_block(self, to: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Begins a block of `size` bytes at `to`; returns where its data begins, after the size fields."""
        to += 4
        if self.codec != LZ4:
            while size > 0x7F:
                self.sink[to] = size & 0x7F | 0x80
                to += 1
                size >>= 7
            self.sink[to] = size
            to += 1
        return to

    def end_block(
        self,
        block: cython.Py_ssize_t,
        to: cython.Py_ssize_t,
        messages: Source,
        begin: cython.Py_ssize_t,
        done: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Writes the rest of a block as literals, or all of it raw if that is no larger; returns where it ends."""
        if self.codec != LZ4:
            to = put_element(self.sink, to, messages, done, stop - done)
            put32(self.sink, block, to - block - 4)
            return to
        to = put_lz4_literals(self.sink, to, messages, done, stop - done, 0)
        if to - block - 4 < stop - begin:
            put_little32(self.sink, block, cython.cast(cython.uint, to - block - 4))
            return to
        put_little32(self.sink, block, cython.cast(cython.uint, stop - begin) | LZ4_RAW_BLOCK)
        copy(self.sink, block + 4, messages, begin, stop - begin)
        return block + 4 + stop - begin
