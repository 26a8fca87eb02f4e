# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Gzip streams opened in one piece, and what repeats in them, for who closes nearly the same bytes again.

A code is looked up by its bits in a table of 32-bit words, longer ones in a second part of it:

    a literal       byte << 16 | IS_LITERAL | bits of the code
    a repeat        shortest length, or distance, << 16 | bits of the code << 8 | those and the extra bits
    the end         IS_SPECIAL | IS_END | bits of the code
    a longer code   where its part of the table begins << 16 | IS_SPECIAL | IS_FURTHER | bits that count there
    none            IS_SPECIAL

Before it, a table is looked into that tells of several codes at once, which short ones mostly are:

    two literals << 16 | length << 12 | IS_ALONE | HAS_LENGTH | number of literals << 8 | bits of all of these

of which any may be missing: a length is there up to ten, beyond which it has extra bits, and all of it only where the
bits that are looked up hold it. IS_ALONE: nothing is, and the first table has to be asked.

Whatever is not plain sailing, damage included, is refused: the library that is asked then has the last word on it.
No length is trusted.
"""

from __future__ import annotations

import cython

if not cython.compiled:  # inflating.pxd has them else
    from .buffers import sink_of, source_of, words_of
    from .crc import crc32_update, crc_prepare
    from .deflate import (
        CODE_LENGTHS,
        DISTANCES,
        DYNAMIC,
        END_OF_BLOCK,
        FIRST_LENGTH,
        FIXED,
        GZIP_HEADER_BYTES,
        GZIP_MAGIC,
        GZIP_TRAILER_BYTES,
        LENGTHS,
        LITERALS,
        LONGEST_CODE,
        MOST_DISTANCE_CODES,
        MOST_LITERAL_CODES,
        STORED,
        filled,
    )
    from .numbers import Sink, Source, Words, copy, little32, little64, put_little16, put_little64

    HAS_LENGTH = 0x400
    IS_ALONE = 0x800
    IS_LITERAL = 0x1000
    IS_SPECIAL = 0x2000
    IS_END = 0x4000
    IS_FURTHER = 0x8000
    ONE = 1
    CODE_BITS = 0x3F
    SHIFT_MASK = 0x3F
    LITERAL_BITS = 9
    LITERAL_MASK = 0x1FF
    LITERAL_SLOTS = 2048
    DISTANCE_BITS = 8
    DISTANCE_MASK = 0xFF
    DISTANCE_SLOTS = 1024
    LITERALS_AT = 512
    DISTANCES_AT = LITERALS_AT + LITERAL_SLOTS
    ALL_SLOTS = DISTANCES_AT + DISTANCE_SLOTS
    LENGTH_BITS = 7
    LENGTH_MASK = 0x7F
    LENGTH_SLOTS = 128
    LEAST_REPEAT = 5
    MOST_OPENED = 131072
    MOST_NOTED = MOST_OPENED // LEAST_REPEAT + 2
    OVERSHOOT = 288
    REPEAT_LAST = 16
    REPEAT_ZERO = 17


from .deflate import ORDER, distance_range, length_range

crc_prepare()

COMPILED: bool = cython.compiled

OPENED_EXTRA: int = OVERSHOOT
"""How far beyond the room for it `Inflating.open` may write."""
EACH_BYTE = cython.declare(cython.ulonglong, 0x0101010101010101)


class Inflating:
    """A thread's tables.

    codes               what is looked into, one table behind the other: of several codes, of literals, of distances
    repeats, repeated   for each of so many: where it begins in what was opened, length << 16 | distance; no shorter
                        than LEAST_REPEAT, of which no more fit into what is opened than MOST_NOTED
    present             for each byte that may be in what was opened, and some that are not, 1
    """

    def __init__(self) -> None:
        sizes = (
            ALL_SLOTS,
            LENGTH_SLOTS,
            MOST_LITERAL_CODES + MOST_DISTANCE_CODES + CODE_LENGTHS,
            MOST_LITERAL_CODES,
            LONGEST_CODE + 1,
            LONGEST_CODE + 2,
            2 * MOST_NOTED,
        )
        tables = [memoryview(bytearray(4 * size)).cast("I") for size in sizes]
        code_lengths, order = memoryview(bytearray(MOST_LITERAL_CODES + MOST_DISTANCE_CODES)), memoryview(ORDER)
        present = memoryview(bytearray(LITERALS))
        self.space = (*tables, code_lengths, order, present)
        codes = tables[0]
        self.codes, self.combined = words_of(codes), words_of(codes[:LITERALS_AT])
        self.literals, self.distances = words_of(codes[LITERALS_AT:DISTANCES_AT]), words_of(codes[DISTANCES_AT:])
        self.lengths, self.symbols, self.sorted = words_of(tables[1]), words_of(tables[2]), words_of(tables[3])
        self.counts, self.starts, self.repeats = words_of(tables[4]), words_of(tables[5]), words_of(tables[6])
        self.code_lengths, self.order, self.present = sink_of(code_lengths), source_of(order), sink_of(present)
        entries: list[int] = [byte << 16 | IS_LITERAL for byte in range(LITERALS)]
        entries.append(IS_SPECIAL | IS_END)
        for number in range(MOST_LITERAL_CODES - FIRST_LENGTH):
            least, extra = length_range(number)
            entries.append(least << 16 | extra if number < LENGTHS else IS_SPECIAL)
        for number in range(MOST_DISTANCE_CODES):
            least, extra = distance_range(number)
            entries.append(least << 16 | extra if number < DISTANCES else IS_SPECIAL)
        entries.extend(number << 16 for number in range(CODE_LENGTHS))
        for number, entry in enumerate(entries):
            tables[2][number] = entry
        self.repeated = 0

    def open(
        self, data: Source, at: cython.Py_ssize_t, end: cython.Py_ssize_t, out: Sink, room: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Return the bytes that the gzip stream from `at` to `end` opens to, now in `out`; -1 for one that is better
        left to a library.

        Of `out` no more than `room` + OVERSHOOT bytes are touched; `room` is at most MOST_OPENED.
        """
        kind: cython.int
        byte: cython.int
        is_last: cython.bint
        if end - at < GZIP_HEADER_BYTES + GZIP_TRAILER_BYTES or room > MOST_OPENED or little32(data, at) != GZIP_MAGIC:
            return -1
        self.data, self.at, self.end = data, at + GZIP_HEADER_BYTES, end - GZIP_TRAILER_BYTES
        self.out, self.to, self.room = out, 0, room
        self.bits, self.count, self.repeated, self.is_fixed = 0, 0, 0, False
        for byte in range(LITERALS):
            self.present[byte] = 0
        while True:
            if not self.fill():
                return -1
            is_last, kind = self.bits & 1, self.bits >> 1 & 3
            self.bits >>= 3
            self.count -= 3
            if kind == STORED:
                if not self.read_stored():
                    return -1
            elif not self.read_codes(kind) or not self.read_block():
                return -1
            if is_last:
                break
        if self.to > room or self.at - (self.count >> 3) != self.end or little32(data, end - 4) != self.to:
            return -1
        if little32(data, end - 8) != crc32_update(0, out, self.to):
            return -1
        return self.to

    def fill(self) -> cython.bint:
        """Have 56 bits at hand, or all that are left; False when more were taken than there were.

        What is read beyond the end is the stream's trailer, which counts as wrong when it was used.
        """
        if self.count < 0:
            return False
        self.bits, self.count, self.at = filled(self.bits, self.count, self.data, self.at, self.end)
        return True

    def read_stored(self) -> cython.bint:
        """Copy a block that was not compressed."""
        size: cython.Py_ssize_t
        sizes: cython.uint
        byte: cython.int
        if self.count < 0:
            return False
        self.at -= self.count >> 3
        self.bits, self.count = 0, 0
        if self.end - self.at < 4:
            return False
        sizes = little32(self.data, self.at)
        size = sizes & 0xFFFF
        self.at += 4
        if sizes >> 16 != 0xFFFF - size or size > self.end - self.at or size > self.room - self.to:
            return False
        for byte in range(LITERALS if size else 0):
            self.present[byte] = 1
        copy(self.out, self.to, self.data, self.at, size)
        self.at += size
        self.to += size
        return True

    def read_codes(self, kind: cython.int) -> cython.bint:
        """Make the tables for a block of that kind, unless they are those of fixed codes already: a stream may have
        tens of thousands of such blocks with nothing in them."""
        literals: cython.int
        distances: cython.int
        number: cython.int
        if kind == FIXED and self.is_fixed:
            return True
        self.is_fixed = kind == FIXED
        if kind == FIXED:
            for number in range(MOST_LITERAL_CODES):
                self.code_lengths[number] = 8 if number < 144 else 9 if number < 256 else 7 if number < 280 else 8
            for number in range(MOST_DISTANCE_CODES):
                self.code_lengths[MOST_LITERAL_CODES + number] = 5
            literals, distances = MOST_LITERAL_CODES, MOST_DISTANCE_CODES
        elif kind == DYNAMIC:
            literals, distances = 257 + (self.bits & 31), 1 + (self.bits >> 5 & 31)
            number = 4 + (self.bits >> 10 & 15)
            self.bits >>= 14
            self.count -= 14
            if literals > 286 or distances > DISTANCES or not self.read_code_lengths(number):
                return False
            number = 0
            while number < literals + distances:
                number = self.read_length(number, literals + distances)
                if number < 0:
                    return False
            if not self.code_lengths[END_OF_BLOCK]:
                return False
        else:
            return False
        for number in range(LITERALS):
            if self.code_lengths[number]:
                self.present[number] = 1
        if not self.build(self.distances, DISTANCE_BITS, DISTANCE_SLOTS, literals, distances, MOST_LITERAL_CODES, True):
            return False
        if not self.build(self.literals, LITERAL_BITS, LITERAL_SLOTS, 0, literals, 0, True):
            return False
        self.combine()
        return True

    def read_code_lengths(self, codes: cython.int) -> cython.bint:
        """Make the table of the codes in which lengths of codes are written, of which `codes` are there."""
        number: cython.int
        for number in range(CODE_LENGTHS):
            self.code_lengths[number] = 0
        for number in range(codes):
            if self.count < 3 and (not self.fill() or self.count < 3):
                return False
            self.code_lengths[self.order[number]] = self.bits & 7
            self.bits >>= 3
            self.count -= 3
        return self.build(
            self.lengths, LENGTH_BITS, LENGTH_SLOTS, 0, CODE_LENGTHS, MOST_LITERAL_CODES + MOST_DISTANCE_CODES, False
        )

    def read_length(self, number: cython.int, codes: cython.int) -> cython.int:
        """Read the length of the code of that number, or of some from it on; the number behind them, -1 when it is
        wrong."""
        entry: cython.uint
        length: cython.int
        times: cython.int
        if not self.fill():
            return -1
        entry = self.lengths[self.bits & LENGTH_MASK]
        if entry & IS_SPECIAL:
            return -1
        self.bits >>= entry & CODE_BITS
        self.count -= entry & CODE_BITS
        length = entry >> 16
        if length < REPEAT_LAST:
            self.code_lengths[number] = length
            return number + 1
        if length == REPEAT_LAST:
            if number == 0:
                return -1
            length, times = self.code_lengths[number - 1], 3 + (self.bits & 3)
            self.bits >>= 2
            self.count -= 2
        elif length == REPEAT_ZERO:
            length, times = 0, 3 + (self.bits & 7)
            self.bits >>= 3
            self.count -= 3
        else:
            length, times = 0, 11 + (self.bits & 127)
            self.bits >>= 7
            self.count -= 7
        if times > codes - number:
            return -1
        while times:
            self.code_lengths[number] = length
            number += 1
            times -= 1
        return number

    def build(
        self,
        table: Words,
        bits: cython.int,
        slots: cython.uint,
        first: cython.int,
        codes: cython.int,
        symbols_at: cython.int,
        of_data: cython.bint,
    ) -> cython.bint:
        """Fill a table with codes of the lengths from `first` on; False where they are no code.

        `of_data`: of literals or distances: there may be none, or one alone of one bit, and repeats have extra bits.
        """
        length: cython.int
        number: cython.int
        total: cython.uint
        unused: cython.int = 1
        size: cython.uint = 1 << bits
        step: cython.uint
        slot: cython.uint
        entry: cython.uint
        code: cython.uint = 0
        sorted_at: cython.uint = 0
        further: cython.uint = 0
        further_end: cython.uint = size
        prefix: cython.uint = size
        here: cython.uint
        bit: cython.uint
        for length in range(LONGEST_CODE + 1):
            self.counts[length] = 0
        for number in range(codes):
            self.counts[self.code_lengths[first + number]] += 1
        self.counts[0] = self.starts[1] = 0
        for length in range(1, LONGEST_CODE + 1):
            unused = 2 * unused - cython.cast(cython.int, self.counts[length])
            if unused < 0:
                return False
            self.starts[length + 1] = self.starts[length] + self.counts[length]
        total = self.starts[LONGEST_CODE + 1]
        if unused:
            if not of_data or total > 1 or total != self.counts[1]:
                return False
            for slot in range(size):
                table[slot] = IS_SPECIAL
        for number in range(codes):
            length = self.code_lengths[first + number]
            if length:
                self.sorted[self.starts[length]] = number
                self.starts[length] += 1
        for length in range(1, LONGEST_CODE + 1):
            step = 1 << length
            for here in range(self.counts[length]):
                entry = self.symbols[symbols_at + self.sorted[sorted_at]]
                sorted_at += 1
                entry += length << 8 | length if of_data and not entry & (IS_LITERAL | IS_END) else length
                if length <= bits:
                    slot = code
                    while slot < size:
                        table[slot] = entry
                        slot += step
                else:
                    if code & (size - 1) != prefix:
                        prefix, further = code & (size - 1), further_end
                        number = self.bits_further(length, here, bits)
                        further_end += 1 << number
                        if further_end > slots:
                            return False
                        table[prefix] = further << 16 | IS_SPECIAL | IS_FURTHER | number
                    slot = further + (code >> bits)
                    while slot < further_end:
                        table[slot] = entry
                        slot += step >> bits
                bit = step >> 1
                while code & bit:
                    code ^= bit
                    bit >>= 1
                code |= bit
        return True

    def combine(self) -> None:
        """Fill the table of several codes at once from that of literals and lengths."""
        slot: cython.uint
        bits: cython.uint
        entry: cython.uint
        combined: cython.uint
        number: cython.uint
        for slot in range(1 << LITERAL_BITS):
            bits = combined = number = 0
            entry = self.literals[slot]
            while entry & IS_LITERAL and number < 2 and bits + (entry & CODE_BITS) <= LITERAL_BITS:
                combined |= (entry >> 16) << 16 + 8 * number
                bits += entry & CODE_BITS
                number += 1
                entry = self.literals[slot >> bits]
            if (
                not entry & (IS_LITERAL | IS_SPECIAL)
                and entry >> 16 <= 10
                and entry & CODE_BITS == entry >> 8 & 15
                and bits + (entry & CODE_BITS) <= LITERAL_BITS
            ):
                combined |= (entry >> 16) << 12 | HAS_LENGTH
                bits += entry & CODE_BITS
            self.combined[slot] = combined | number << 8 | bits if bits else IS_ALONE

    def bits_further(self, length: cython.int, here: cython.uint, bits: cython.int) -> cython.int:
        """Return how many bits tell apart the codes that begin like the one at hand; `here` of its length are done."""
        number: cython.int = length - bits
        room: cython.int = 1 << number
        codes: cython.int = self.counts[length] - here
        while codes < room and length < LONGEST_CODE:
            length += 1
            number += 1
            room <<= 1
            codes = 2 * codes + self.counts[length]
        return number

    def read_block(self) -> cython.bint:
        """Open a compressed block. All is kept at hand, and the code that comes next looked up early."""
        bits: cython.ulonglong = self.bits
        count: cython.Py_ssize_t = self.count
        at: cython.Py_ssize_t = self.at
        to: cython.Py_ssize_t = self.to
        room: cython.Py_ssize_t = self.room
        end: cython.Py_ssize_t = self.end
        stop: cython.Py_ssize_t
        eight: cython.ulonglong
        out: Sink = self.out
        data: Source = self.data
        codes: Words = self.codes
        entry: cython.uint
        length: cython.uint
        distance: cython.Py_ssize_t
        if count < 0:
            return False
        bits, count, at = filled(bits, count, data, at, end)
        entry = codes[bits & LITERAL_MASK]
        while to <= room:
            put_little16(out, to, entry >> 16)
            to += entry >> 8 & 3
            bits >>= entry & CODE_BITS
            count -= entry & CODE_BITS
            if not entry & (HAS_LENGTH | IS_ALONE):  # bits that were not there are found missing behind the block
                entry = codes[bits & LITERAL_MASK]
                bits, count, at = filled(bits, count, data, at, end)
                continue
            length = entry >> 12 & 15
            if entry & IS_ALONE:
                entry = codes[LITERALS_AT + (bits & LITERAL_MASK)]
                if entry & IS_FURTHER:
                    entry = codes[
                        LITERALS_AT + (entry >> 16) + (bits >> LITERAL_BITS & (ONE << (entry & CODE_BITS)) - 1)
                    ]
                if entry & IS_SPECIAL:
                    if not entry & IS_END:
                        return False
                    self.bits, self.count, self.at, self.to = bits >> (entry & CODE_BITS), count, at, to
                    self.count -= entry & CODE_BITS
                    return self.count >= 0
                if entry & IS_LITERAL:
                    out[to] = entry >> 16
                    to += 1
                    bits >>= entry & CODE_BITS
                    count -= entry & CODE_BITS
                    entry = codes[bits & LITERAL_MASK]
                    bits, count, at = filled(bits, count, data, at, end)
                    continue
                length = (entry >> 16) + ((bits & (ONE << (entry & CODE_BITS)) - 1) >> (entry >> 8 & SHIFT_MASK))
                bits >>= entry & CODE_BITS
                count -= entry & CODE_BITS
            entry = codes[DISTANCES_AT + (bits & DISTANCE_MASK)]
            if entry & IS_SPECIAL:
                if entry & IS_FURTHER:
                    entry = codes[
                        DISTANCES_AT + (entry >> 16) + (bits >> DISTANCE_BITS & (ONE << (entry & CODE_BITS)) - 1)
                    ]
                if entry & IS_SPECIAL:
                    return False
            distance = (entry >> 16) + ((bits & (ONE << (entry & CODE_BITS)) - 1) >> (entry >> 8 & SHIFT_MASK))
            bits >>= entry & CODE_BITS
            count -= entry & CODE_BITS
            if count < 0 or distance > to:
                return False
            entry = codes[bits & LITERAL_MASK]
            bits, count, at = filled(bits, count, data, at, end)
            if length >= LEAST_REPEAT:
                self.note(to, length << 16 | distance)
            stop = to + length
            if distance >= 8:
                while True:
                    put_little64(out, to, little64(out, to - distance))
                    to += 8
                    if to >= stop:
                        break
            elif distance == 1:
                eight = out[to - 1] * EACH_BYTE
                while to < stop:
                    put_little64(out, to, eight)
                    to += 8
            else:
                while to < stop:  # of the eight at least as many as the distance are right, and then come to be read
                    put_little64(out, to, little64(out, to - distance))
                    to += distance
            to = stop
        return False

    def note(self, to: cython.Py_ssize_t, repeat: cython.uint) -> None:
        """Note what repeats at `to`."""
        self.repeats[2 * self.repeated], self.repeats[2 * self.repeated + 1] = to, repeat
        self.repeated += 1
