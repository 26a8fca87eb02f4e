# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What repeats in the opened records of a batch, found again in the messages that they became.

Keys and values are the same bytes in both, only further apart, so who compresses the messages need not search: a repeat
inside a key or value is one there, too, at another distance. One that reaches over what lies between them is cut at
its ends. The heads of messages are compared with the one before.

Which bytes there are is carried, too: those of the opened records, and of the heads. Behind many of these it is any.

A repeat is left out where its bytes would be no longer as literals: short ones from far away in text of few letters.
"""

from __future__ import annotations

from math import log2

import cython

if not cython.compiled:  # carrying.pxd has them else
    from ..layout import LOG_OVERHEAD, MAGIC_OFFSET, V0_OVERHEAD, V1_OVERHEAD
    from .buffers import sink_of, words_of
    from .deflate import LONGEST_REPEAT, WINDOW_BYTES, bit_length, trailing_zeros
    from .item import Item
    from .numbers import Sink, Source, Words, copy, get32, little64
    from .reading import read_record

    MOST_PARTS = 4096
    MOST_OPENED = 131072
    MOST_REPEATS = 16384
    CELL_BITS = 6
    LEAST_CARRIED = 4
    SAMPLES = 512
    MOST_MARKED = 64
    LEAST_OF_HEAD = 6
    REPEAT_BITS = 160
    LONGEST_OF_BYTES = 65535
    SHORT_KEY = 16

COMPILED: bool = cython.compiled


class Carrying:
    """A thread's tables.

    parts                    of each key and value: begin and end in the opened records, begin in the messages
    cells                    for each 64 bytes of the opened records, the first part that ends behind their begin
    present                  for each byte that may be in the messages, and some that are not, 1
    carried, carried_count   of each repeat: where it begins in the messages, length << 16 | distance
    logarithms               to base 2, in sixteenths
    window, longest          how far away a repeat may be, and how long it may be
    is_weighed               literals take a part of a byte, so what is present counts
    least                    by the bits of its distance: how long a repeat has to be to be worth it
    """

    def __init__(self) -> None:
        sizes = (SAMPLES + 1, 256, 17, 3 * MOST_PARTS, (MOST_OPENED >> CELL_BITS) + 1, 2 * MOST_REPEATS)
        tables = [memoryview(bytearray(4 * size)).cast("I") for size in sizes]
        present = memoryview(bytearray(256))
        self.space = (*tables, present)
        self.present = sink_of(present)
        self.logarithms, self.frequencies, self.least = words_of(tables[0]), words_of(tables[1]), words_of(tables[2])
        self.parts, self.cells, self.carried = words_of(tables[3]), words_of(tables[4]), words_of(tables[5])
        for number in range(1, SAMPLES + 1):
            tables[0][number] = round(16 * log2(number))
        self.carried_count = 0

    def carry(
        self,
        item: Item,
        opened: Source,
        size: cython.Py_ssize_t,
        present: Source,
        repeats: Words,
        repeated: cython.Py_ssize_t,
        messages: Sink,
        written: cython.Py_ssize_t,
        target: cython.int,
    ) -> None:
        """Find what is `repeated` in the first `size` bytes of `opened` in the messages that they became, all of them.

        And what is `present`, where `weigh` came before.
        """
        at: cython.Py_ssize_t = 0
        to: cython.Py_ssize_t = 0
        head: cython.Py_ssize_t
        last: cython.Py_ssize_t = 0
        apart: cython.Py_ssize_t
        records: cython.int = 0
        byte: cython.int
        overhead: cython.Py_ssize_t = V1_OVERHEAD if target == 1 else V0_OVERHEAD
        self.repeats, self.repeated, self.next = repeats, repeated, 0
        self.carried_count = self.carried_end = self.parts_count = self.cells_count = 0
        self.written = written
        if self.is_weighed:
            copy(self.present, 0, present, 0, 256)
        while to < written and at < size <= MOST_OPENED and self.parts_count + 2 <= MOST_PARTS:
            at = read_record(item, opened, at, size)
            if at < 0:
                break
            head = overhead - 4 if item.key_size > 0 else overhead
            apart, last = to - last, to
            if self.is_weighed:
                if records < MOST_MARKED:
                    self.mark(messages, to, head)
                    if item.key_size > 0:
                        self.mark(messages, to + head + item.key_size, 4)
                if to:
                    self.carry_head(messages, to, head, apart)
            elif to and apart <= self.window:
                # A key of few bytes is compared with the one before, as the heads around it are.
                self.carry_runs(
                    messages, to, head + item.key_size + 4 if 0 < item.key_size <= SHORT_KEY else head, apart
                )
            if item.key_size > 0:
                self.carry_part(item.key_at, to + head, item.key_size, self.is_weighed or item.key_size > SHORT_KEY)
                head += item.key_size + 4
            if item.value_size > 0:
                self.carry_part(item.value_at, to + head, item.value_size, True)
            to += LOG_OVERHEAD + get32(messages, to + 8)
            records += 1
        if to < written or records > MOST_MARKED:
            for byte in range(256):
                self.present[byte] = 1

    def take_bytes(self, window: cython.Py_ssize_t) -> None:
        """Be ready for a codec whose literals are bytes, and whose repeats are from up to `window` before."""
        number: cython.int
        self.window, self.longest, self.is_weighed = window, LONGEST_OF_BYTES, False
        for number in range(17):
            self.least[number] = LEAST_CARRIED

    def weigh(self, opened: Source, size: cython.Py_ssize_t) -> None:
        """Be ready for gzip: estimate from a sample what a literal takes, and from that how long repeats have to be."""
        number: cython.int
        count: cython.uint
        samples: cython.uint = 0
        bits: cython.uint = 0
        at: cython.Py_ssize_t = 0
        step: cython.Py_ssize_t = size // SAMPLES | 1
        for number in range(256):
            self.frequencies[number] = 0
        while at < size and samples < SAMPLES:
            self.frequencies[opened[at]] += 1
            samples += 1
            at += step
        for number in range(256):
            count = self.frequencies[number]
            bits += count * self.logarithms[count]
        # In sixteenths of a bit; a byte more of a repeat has to save something.
        bits = self.logarithms[samples] - bits // samples if samples else 0
        if bits < 8:
            bits = 8
        self.window, self.longest, self.is_weighed = WINDOW_BYTES, LONGEST_REPEAT, True
        for number in range(17):
            self.least[number] = max(LEAST_CARRIED, (REPEAT_BITS + 16 * number) // bits)

    def carry_head(
        self, messages: Sink, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t
    ) -> None:
        """Note what the head of `size` bytes at `at` has of the one `distance` before it.

        That is the beginning of the offset, what follows the checksum, up to where timestamps differ, and the sizes of
        no key and a value.
        """
        if distance <= self.window:
            self.carry_same(messages, at, LOG_OVERHEAD, distance)
            self.carry_same(messages, at + MAGIC_OFFSET, size - MAGIC_OFFSET, distance)
            if size >= V0_OVERHEAD and self.carried_end < at + size - 8:
                self.carry_same(messages, at + size - 8, 8, distance)

    def carry_runs(
        self, messages: Sink, at: cython.Py_ssize_t, size: cython.Py_ssize_t, distance: cython.Py_ssize_t
    ) -> None:
        """Note the runs of the `size` bytes at `at` that are those `distance` before, if they are long enough."""
        end: cython.Py_ssize_t = at + size
        begin: cython.Py_ssize_t = at
        while at < end:
            if messages[at] != messages[at - distance]:
                if at - begin >= LEAST_CARRIED:
                    self.note(begin, at - begin, distance)
                begin = at + 1
            at += 1
        if end - begin >= LEAST_CARRIED:
            self.note(begin, end - begin, distance)

    def carry_same(
        self, messages: Sink, at: cython.Py_ssize_t, most: cython.Py_ssize_t, distance: cython.Py_ssize_t
    ) -> None:
        """Note how many of the `most` bytes at `at` are those `distance` before, if they are enough."""
        same: cython.Py_ssize_t = 0
        differing: cython.ulonglong = 0
        while same < most and at + same + 8 <= self.written:
            differing = little64(messages, at + same) ^ little64(messages, at + same - distance)
            if differing:
                same += trailing_zeros(differing) >> 3
                break
            same += 8
        same = min(same, most)
        if same >= LEAST_OF_HEAD:
            self.note(at, same, distance)

    def mark(self, messages: Sink, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> None:
        """Note that the `size` bytes at `at` are there."""
        end: cython.Py_ssize_t = at + size
        while at < end:
            self.present[messages[at]] = 1
            at += 1

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
            if distance <= self.window and size >= self.least[bit_length(distance)]:
                self.note(to, size, distance)
            source += size
            to += size
            if source >= stop:
                return

    def note(self, at: cython.uint, size: cython.uint, distance: cython.uint) -> None:
        """Add one that was carried, to the last one if it goes on with that, as long as there is room for it."""
        count: cython.Py_ssize_t = self.carried_count
        value: cython.uint = self.carried[2 * count - 1] if count else 0
        if at == self.carried_end and value & 0xFFFF == distance and (value >> 16) + size <= self.longest:
            self.carried[2 * count - 1] = value + (size << 16)
        elif count < MOST_REPEATS:
            self.carried[2 * count], self.carried[2 * count + 1] = at, size << 16 | distance
            self.carried_count = count + 1
        else:
            return
        self.carried_end = at + size
