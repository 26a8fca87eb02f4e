# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What repeats in the opened records of a batch, found again in the messages that they became.

Keys and values are the same bytes in both, only further apart, so who compresses the messages need not search: a repeat
inside a key or value is one there, too, at another distance. One that reaches over what lies between them is cut at
its ends. The heads of messages, with short keys between them, are compared with the one before.
"""

from __future__ import annotations

import cython

if not cython.compiled:  # carrying.pxd has them else
    from ..layout import LOG_OVERHEAD, V0_OVERHEAD, V1_OVERHEAD
    from .buffers import words_of
    from .item import Item
    from .numbers import Sink, Source, Words, get32
    from .reading import read_record

    MOST_PARTS = 4096
    MOST_OPENED = 131072
    MOST_REPEATS = 16384
    CELL_BITS = 6
    LEAST_CARRIED = 4
    LONGEST_CARRIED = 65535
    SHORT_KEY = 16

COMPILED: bool = cython.compiled


class Carrying:
    """A thread's tables.

    parts                    of each key and value: begin and end in the opened records, begin in the messages
    cells                    for each 64 bytes of the opened records, the first part that ends behind their begin
    carried, carried_count   of each repeat: where it begins in the messages, length << 16 | distance
    window                   how far away a repeat may be
    """

    def __init__(self) -> None:
        sizes = (3 * MOST_PARTS, (MOST_OPENED >> CELL_BITS) + 1, 2 * MOST_REPEATS)
        tables = [memoryview(bytearray(4 * size)).cast("I") for size in sizes]
        self.space = tables
        self.parts, self.cells, self.carried = words_of(tables[0]), words_of(tables[1]), words_of(tables[2])
        self.carried_count = 0

    def carry(
        self,
        item: Item,
        opened: Source,
        size: cython.Py_ssize_t,
        repeats: Words,
        repeated: cython.Py_ssize_t,
        window: cython.uint,
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
        self.repeats, self.repeated, self.next, self.window = repeats, repeated, 0, window
        self.carried_count = self.carried_end = self.parts_count = self.cells_count = 0
        while to < written and at < size <= MOST_OPENED and self.parts_count + 2 <= MOST_PARTS:
            at = read_record(item, opened, at, size)
            if at < 0:
                break
            head = overhead - 4 if item.key_size > 0 else overhead
            apart, last = to - last, to
            if to and apart <= self.window:
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
            if distance <= self.window and size >= LEAST_CARRIED:
                self.note(to, size, distance)
            source += size
            to += size
            if source >= stop:
                return

    def note(self, at: cython.uint, size: cython.uint, distance: cython.uint) -> None:
        """Add one that was carried, to the last one if it goes on with that, as long as there is room for it."""
        count: cython.Py_ssize_t = self.carried_count
        value: cython.uint = self.carried[2 * count - 1] if count else 0
        if at == self.carried_end and value & 0xFFFF == distance and (value >> 16) + size <= LONGEST_CARRIED:
            self.carried[2 * count - 1] = value + (size << 16)
        elif count < MOST_REPEATS:
            self.carried[2 * count], self.carried[2 * count + 1] = at, size << 16 | distance
            self.carried_count = count + 1
        else:
            return
        self.carried_end = at + size
