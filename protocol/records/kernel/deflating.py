# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Gzip streams made of bytes whose repeats are known, which takes half the time of looking for them.

Which bytes there are is known, too, so how often they are is estimated: of 20 to 44 in a row eight are looked at, by
turns, lest they are always the same field of a row.

Each block of about 64 KiB gets the codes that fit it best, of up to 14 bits for literals, so that four of them and what
is left of a byte fit into 64 bits. All codes lie in one table: of literals and lengths, of distances, of the lengths of
codes; each as its bits, the first one lowest, << 8 | their number.
"""

from __future__ import annotations

import cython

if not cython.compiled:  # deflating.pxd has them else
    from .buffers import sink_of, source_of, words_of
    from .crc import crc32_update, crc_prepare
    from .deflate import (
        CODE_AT,
        CODE_LENGTH_MASK,
        CODE_LENGTHS,
        DISTANCES,
        DYNAMIC,
        END_OF_BLOCK,
        FIRST_LENGTH,
        GZIP_HEADER_BYTES,
        GZIP_MAGIC,
        GZIP_TRAILER_BYTES,
        LENGTHS,
        LITERALS,
        LONGEST_CODE,
        LONGEST_REPEAT,
        distance_number,
        flushed,
        four_codes,
        reversed_bits,
    )
    from .numbers import Sink, Source, Words, little64, put_little32

    LONGEST_LITERAL = 14
    LONGEST_LENGTH_CODE = 7
    BLOCK_BYTES = 65536
    CODES_WRITTEN = 320
    LITERAL_CODES = 286
    PIECE_BYTES = 32
    LEAST_SKIPPED = 20
    MOST_SKIPPED = 44
    REPEAT_LAST = 16
    REPEAT_ZERO = 17
    REPEAT_ZERO_LONG = 18
    SYMBOL_BITS = 9
    SYMBOL_MASK = 511
    FIRST_DISTANCE = LITERAL_CODES
    FIRST_CODE_LENGTH = LITERAL_CODES + DISTANCES
    ALL_CODES = FIRST_CODE_LENGTH + CODE_LENGTHS

from .deflate import ORDER, distance_range, length_range

crc_prepare()

COMPILED: bool = cython.compiled

UNKNOWN_SYSTEM = cython.declare(cython.int, 255)


class Deflating:
    """A thread's tables.

    histogram            literals, counted in four tables by turns: two increments of one number in a row would wait
    frequencies, codes   of each symbol; `lengths` are the bits of the codes alone
    sorted, weights      symbols by frequency, and what becomes of these on the way to lengths
    counts               of codes by their length, or of numbers while sorting
    pieces               how the lengths of codes are written: symbol << 16 | extra number
    numbers, ranges      the symbol for each length of a repeat; for each symbol the least << 8 | extra bits
    """

    def __init__(self) -> None:
        sizes = (
            4 * LITERALS,
            ALL_CODES,
            ALL_CODES,
            2 * LITERAL_CODES,
            LITERAL_CODES,
            256,
            CODES_WRITTEN,
            LONGEST_REPEAT + 1,
            LENGTHS + DISTANCES,
        )
        tables = [memoryview(bytearray(4 * size)).cast("I") for size in sizes]
        lengths, order = memoryview(bytearray(ALL_CODES)), memoryview(ORDER)
        self.space = (*tables, lengths, order)
        self.histogram, self.frequencies, self.codes = words_of(tables[0]), words_of(tables[1]), words_of(tables[2])
        self.sorted, self.weights, self.counts = words_of(tables[3]), words_of(tables[4]), words_of(tables[5])
        self.pieces, self.numbers, self.ranges = words_of(tables[6]), words_of(tables[7]), words_of(tables[8])
        self.lengths, self.order = sink_of(lengths), source_of(order)
        for number in range(LENGTHS):
            least, extra = length_range(number)
            tables[8][number] = least << 8 | extra
            for length in range(least, min(LONGEST_REPEAT, least + (1 << extra) - 1) + 1):
                tables[7][length] = number
        for number in range(DISTANCES):
            least, extra = distance_range(number)
            tables[8][LENGTHS + number] = least << 8 | extra

    def close(
        self,
        data: Source,
        size: cython.Py_ssize_t,
        present: Source,
        repeats: Words,
        repeated: cython.Py_ssize_t,
        sink: Sink,
        to: cython.Py_ssize_t,
        room: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Return the bytes of the stream, now in `sink` from `to` on, that the first `size` bytes of `data` become; 0
        where it does not fit into `room`: then something else is there.

        present: for each byte that is in `data`, and others maybe, 1.
        repeats: of each of `repeated`, in order and apart: where it begins in `data`, length << 16 | distance.
        """
        begin: cython.Py_ssize_t = to
        if room < GZIP_HEADER_BYTES + GZIP_TRAILER_BYTES + PIECE_BYTES:
            return 0
        self.data, self.size, self.at, self.present = data, size, 0, present
        self.repeats, self.repeated, self.next = repeats, repeated, 0
        self.sink, self.limit = sink, to + room - GZIP_TRAILER_BYTES - PIECE_BYTES
        put_little32(sink, to, GZIP_MAGIC)
        put_little32(sink, to + 4, 0)
        sink[to + 8], sink[to + 9] = 0, UNKNOWN_SYSTEM
        self.to, self.bits, self.count = to + GZIP_HEADER_BYTES, 0, 0
        while True:
            if not self.close_block():
                return 0
            if self.at >= size:
                break
        if self.count:
            sink[self.to] = self.bits & 0xFF
            self.to += 1
        put_little32(sink, self.to, crc32_update(0, data, size))
        put_little32(sink, self.to + 4, size)
        return self.to + GZIP_TRAILER_BYTES - begin

    def close_block(self) -> cython.bint:
        """Write the next block; whether there was room for it."""
        next_repeat: cython.Py_ssize_t = self.next
        end: cython.Py_ssize_t = self.survey(min(self.size, self.at + BLOCK_BYTES))
        literals: cython.int = LITERAL_CODES
        distances: cython.int = DISTANCES
        lengths: cython.int = CODE_LENGTHS
        number: cython.int
        pieces: cython.int
        self.next = next_repeat
        self.choose(0, LITERAL_CODES, LONGEST_LITERAL)
        self.choose(FIRST_DISTANCE, DISTANCES, LONGEST_CODE)
        while not self.lengths[literals - 1]:
            literals -= 1
        while distances > 1 and not self.lengths[FIRST_DISTANCE + distances - 1]:
            distances -= 1
        for number in range(FIRST_CODE_LENGTH, ALL_CODES):
            self.frequencies[number] = 0
        pieces = self.describe(0, literals, 0)
        pieces = self.describe(FIRST_DISTANCE, distances, pieces)
        self.choose(FIRST_CODE_LENGTH, CODE_LENGTHS, LONGEST_LENGTH_CODE)
        while lengths > 4 and not self.lengths[FIRST_CODE_LENGTH + self.order[lengths - 1]]:
            lengths -= 1
        self.put(1 if end >= self.size else 0, 1)
        self.put(DYNAMIC, 2)
        self.put(literals - LITERALS - 1, 5)
        self.put(distances - 1, 5)
        self.put(lengths - 4, 4)
        return self.write_codes(lengths, pieces) and self.write_data(end)

    def survey(self, limit: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Count symbols up to `limit`, or to the end of a repeat that begins before it; return where that was."""
        data: Source = self.data
        histogram: Words = self.histogram
        at: cython.Py_ssize_t = self.at
        stop: cython.Py_ssize_t
        number: cython.int
        value: cython.uint
        eight: cython.ulonglong
        dice: cython.uint = 0
        for number in range(4 * LITERALS):
            histogram[number] = 0
        for number in range(LITERALS, FIRST_CODE_LENGTH):
            self.frequencies[number] = 0
        while True:
            stop = limit
            if self.next < self.repeated and self.repeats[2 * self.next] < limit:
                stop = self.repeats[2 * self.next]
            while stop - at >= MOST_SKIPPED:
                eight = little64(data, at)
                histogram[eight & 0xFF] += 4
                histogram[256 + (eight >> 8 & 0xFF)] += 4
                histogram[512 + (eight >> 16 & 0xFF)] += 4
                histogram[768 + (eight >> 24 & 0xFF)] += 4
                histogram[eight >> 32 & 0xFF] += 4
                histogram[256 + (eight >> 40 & 0xFF)] += 4
                histogram[512 + (eight >> 48 & 0xFF)] += 4
                histogram[768 + (eight >> 56)] += 4
                dice = dice * 5 + 1 & 0xFF
                at += LEAST_SKIPPED + 8 * (dice >> 6)
            while at < stop:
                histogram[data[at]] += 1
                at += 1
            if stop >= limit:
                break
            value = self.repeats[2 * self.next + 1]
            self.frequencies[FIRST_LENGTH + self.numbers[value >> 16]] += 1
            self.frequencies[FIRST_DISTANCE + distance_number(value & 0xFFFF)] += 1
            at += value >> 16
            self.next += 1
            if at >= limit:
                break
        for number in range(LITERALS):
            self.frequencies[number] = (
                self.present[number]
                + histogram[number]
                + histogram[256 + number]
                + histogram[512 + number]
                + histogram[768 + number]
            )
        self.frequencies[END_OF_BLOCK] = 1
        return at

    def choose(self, first: cython.int, codes: cython.int, longest: cython.int) -> None:
        """Choose codes of up to `longest` bits for the symbols from `first` on, by how frequent they are."""
        number: cython.int
        symbols: cython.int
        for number in range(first, first + codes):
            self.lengths[number] = self.codes[number] = 0
        symbols = self.sort(first, codes)
        if symbols == 1:
            self.lengths[self.sorted[0] & SYMBOL_MASK] = 1
        elif symbols > 1:
            self.weigh(symbols)
            self.shorten(symbols, longest)
        self.number(first, codes)

    def sort(self, first: cython.int, codes: cython.int) -> cython.int:
        """Put the symbols that occur, and their frequencies, into `sorted`, the rarest first; how many there are.

        By eight bits of the frequency at a time, the lowest first. A word is frequency << 9 | symbol.
        """
        number: cython.int
        symbols: cython.int = 0
        shift: cython.int = SYMBOL_BITS
        turn: cython.int = 0
        begin: cython.uint
        place: cython.uint
        word: cython.uint
        every: cython.uint = 0
        for number in range(first, first + codes):
            if self.frequencies[number]:
                self.sorted[symbols] = self.frequencies[number] << SYMBOL_BITS | number
                every |= self.frequencies[number]
                symbols += 1
        while every:
            for number in range(256):
                self.counts[number] = 0
            for number in range(symbols):
                self.counts[self.sorted[turn + number] >> shift & 0xFF] += 1
            begin = LITERAL_CODES - turn
            for number in range(256):
                begin, self.counts[number] = begin + self.counts[number], begin
            for number in range(symbols):
                word = self.sorted[turn + number]
                place = self.counts[word >> shift & 0xFF]
                self.sorted[place] = word
                self.counts[word >> shift & 0xFF] = place + 1
            turn = LITERAL_CODES - turn
            shift += 8
            every >>= 8
        if turn:
            for number in range(symbols):
                self.sorted[number] = self.sorted[turn + number]
        return symbols

    def weigh(self, symbols: cython.int) -> None:
        """Find how long the best codes are: `weights` has it for the symbols as `sorted` has them.

        In place, from the rarest on: a weight becomes the place of its parent, that the depth, that of an inner node
        the lengths of leaves (A. Moffat, J. Katajainen, In-place calculation of minimum-redundancy codes, 1995).
        """
        weights: Words = self.weights
        root: cython.int = 0
        leaf: cython.int = 2
        at: cython.int
        taken: cython.int
        free: cython.int = 1
        depth: cython.uint = 0
        for at in range(symbols):
            weights[at] = self.sorted[at] >> SYMBOL_BITS
        weights[0] += weights[1]
        for at in range(1, symbols - 1):
            if leaf >= symbols or weights[root] < weights[leaf]:
                weights[at], weights[root] = weights[root], at
                root += 1
            else:
                weights[at] = weights[leaf]
                leaf += 1
            if leaf >= symbols or (root < at and weights[root] < weights[leaf]):
                weights[at] += weights[root]
                weights[root] = at
                root += 1
            else:
                weights[at] += weights[leaf]
                leaf += 1
        weights[symbols - 2] = 0
        for at in range(symbols - 3, -1, -1):
            weights[at] = weights[weights[at]] + 1
        root, at = symbols - 2, symbols - 1
        while free > 0:
            taken = 0
            while root >= 0 and weights[root] == depth:
                taken += 1
                root -= 1
            while free > taken:
                weights[at] = depth
                at -= 1
                free -= 1
            free = 2 * taken
            depth += 1

    def shorten(self, symbols: cython.int, longest: cython.int) -> None:
        """Set the lengths of the codes to those in `weights`, but none to more than `longest`.

        What was longer takes `longest` bits; then, as long as these are too many codes, one of them goes, together with
        a shorter one, below which there is room for both.
        """
        at: cython.int
        length: cython.int
        used: cython.uint = 0
        for length in range(longest + 1):
            self.counts[length] = 0
        for at in range(symbols):
            length = min(longest, cython.cast(cython.int, self.weights[at]))
            self.counts[length] += 1
            used += 1 << longest - length
        while used > 1 << longest:
            length = longest - 1
            while not self.counts[length]:
                length -= 1
            self.counts[longest] -= 1
            self.counts[length] -= 1
            self.counts[length + 1] += 2
            used -= 1
        at = symbols
        for length in range(1, longest + 1):
            while self.counts[length]:
                self.counts[length] -= 1
                at -= 1
                self.lengths[self.sorted[at] & SYMBOL_MASK] = length

    def number(self, first: cython.int, codes: cython.int) -> None:
        """Number the codes from `first` on: by length, and by symbol where that is the same."""
        at: cython.int
        length: cython.int
        code: cython.uint = 0
        ending: cython.uint
        for length in range(LONGEST_CODE + 1):
            self.counts[length] = 0
        for at in range(first, first + codes):
            self.counts[self.lengths[at]] += 1
        self.counts[0] = 0
        for length in range(LONGEST_CODE + 1):
            ending = code + self.counts[length]
            self.counts[length] = code
            code = ending << 1
        for at in range(first, first + codes):
            length = self.lengths[at]
            if length:
                self.codes[at] = reversed_bits(self.counts[length], length) << CODE_AT | length
                self.counts[length] += 1

    def describe(self, first: cython.int, codes: cython.int, pieces: cython.int) -> cython.int:
        """Add how the lengths of the codes from `first` on are written to the first `pieces`; how many there are."""
        at: cython.int = first
        end: cython.int = first + codes
        times: cython.int
        length: cython.int
        while at < end:
            length, times = self.lengths[at], 1
            while at + times < end and self.lengths[at + times] == length:
                times += 1
            at += times
            if length:
                pieces = self.add_piece(pieces, length, 0)
                times -= 1
            while times >= 3:
                if length:
                    pieces = self.add_piece(pieces, REPEAT_LAST, min(times, 6) - 3)
                    times -= min(times, 6)
                elif times < 11:
                    pieces = self.add_piece(pieces, REPEAT_ZERO, times - 3)
                    times = 0
                else:
                    pieces = self.add_piece(pieces, REPEAT_ZERO_LONG, min(times, 138) - 11)
                    times -= min(times, 138)
            while times > 0:
                pieces = self.add_piece(pieces, length, 0)
                times -= 1
        return pieces

    def add_piece(self, pieces: cython.int, symbol: cython.int, extra: cython.int) -> cython.int:
        """Add and count one."""
        self.pieces[pieces] = symbol << 16 | extra
        self.frequencies[FIRST_CODE_LENGTH + symbol] += 1
        return pieces + 1

    def write_codes(self, lengths: cython.int, pieces: cython.int) -> cython.bint:
        """Write what the codes are; whether there was room."""
        at: cython.int
        symbol: cython.int
        code: cython.uint
        for at in range(lengths):
            self.put(self.lengths[FIRST_CODE_LENGTH + self.order[at]], 3)
        for at in range(pieces):
            symbol = self.pieces[at] >> 16
            code = self.codes[FIRST_CODE_LENGTH + symbol]
            self.put(code >> CODE_AT, code & CODE_LENGTH_MASK)
            if symbol >= REPEAT_LAST:
                self.put(self.pieces[at] & 0xFFFF, 2 if symbol == REPEAT_LAST else 3 if symbol == REPEAT_ZERO else 7)
        return self.to <= self.limit

    def put(self, value: cython.uint, bits: cython.int) -> None:
        """Write a number of up to 32 bits, unless there is no room."""
        if self.to > self.limit:
            return
        self.bits |= cython.cast(cython.ulonglong, value) << self.count
        self.count += bits
        self.bits, self.count, self.to = flushed(self.bits, self.count, self.sink, self.to)

    def write_data(self, end: cython.Py_ssize_t) -> cython.bint:
        """Write all up to `end`, and the end of the block; whether there was room. All is kept at hand."""
        data: Source = self.data
        sink: Sink = self.sink
        codes: Words = self.codes
        numbers: Words = self.numbers
        ranges: Words = self.ranges
        repeats: Words = self.repeats
        repeated: cython.Py_ssize_t = self.repeated
        next_repeat: cython.Py_ssize_t = self.next
        number: cython.int
        at: cython.Py_ssize_t = self.at
        to: cython.Py_ssize_t = self.to
        limit: cython.Py_ssize_t = self.limit
        stop: cython.Py_ssize_t
        bits: cython.ulonglong = self.bits
        more: cython.ulonglong
        taken: cython.Py_ssize_t
        count: cython.Py_ssize_t = self.count
        a: cython.uint
        b: cython.uint
        repeat: cython.uint
        while True:
            stop = end
            if next_repeat < repeated and repeats[2 * next_repeat] < end:
                stop = repeats[2 * next_repeat]
            while stop - at >= 8:
                if to > limit:
                    return False
                more, taken = four_codes(codes, data, at)
                bits |= more << count
                count += taken
                more, taken = four_codes(codes, data, at + 4)
                if count + taken > 63:
                    bits, count, to = flushed(bits, count, sink, to)
                bits |= more << count
                count += taken
                bits, count, to = flushed(bits, count, sink, to)
                at += 8
            if to > limit:
                return False
            if stop - at >= 4:
                more, taken = four_codes(codes, data, at)
                bits |= more << count
                count += taken
                bits, count, to = flushed(bits, count, sink, to)
                at += 4
            while at < stop:
                a = codes[data[at]]
                bits |= cython.cast(cython.ulonglong, a >> CODE_AT) << count
                count += a & CODE_LENGTH_MASK
                at += 1
            bits, count, to = flushed(bits, count, sink, to)
            if stop == end:
                break
            repeat = repeats[2 * next_repeat + 1]
            at += repeat >> 16
            number = numbers[repeat >> 16]
            a, b = codes[FIRST_LENGTH + number], ranges[number]
            more = a >> CODE_AT | (repeat >> 16) - (b >> 8) << (a & CODE_LENGTH_MASK)
            bits |= more << count
            count += (a & CODE_LENGTH_MASK) + (b & 0xFF)
            number = distance_number(repeat & 0xFFFF)
            a, b = codes[FIRST_DISTANCE + number], ranges[LENGTHS + number]
            more = a >> CODE_AT | (repeat & 0xFFFF) - (b >> 8) << (a & CODE_LENGTH_MASK)
            bits |= more << count
            count += (a & CODE_LENGTH_MASK) + (b & 0xFF)
            bits, count, to = flushed(bits, count, sink, to)
            next_repeat += 1
            if at >= end:
                break
        self.next = next_repeat
        self.at, self.to, self.bits, self.count = at, to, bits, count
        self.put(codes[END_OF_BLOCK] >> CODE_AT, codes[END_OF_BLOCK] & CODE_LENGTH_MASK)
        return self.to <= limit
