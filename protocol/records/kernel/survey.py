# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A look at the opened records of a batch."""

from __future__ import annotations

import cython

from .faults import fault

if not cython.compiled:  # survey.pxd has them else
    from ..layout import NO_TIMESTAMP
    from .faults import BAD_COUNT, BAD_RECORD, DONE
    from .item import Item
    from .numbers import added
    from .reading import read_record, record_bytes
    from .stream import Stream

COMPILED: bool = cython.compiled


@cython.final
@cython.cclass
class RecordSurvey(Stream):
    """What the opened records of a v2 batch look like; nothing is written."""

    count: cython.longlong
    base_timestamp: cython.longlong
    append_time: cython.longlong
    marked: cython.bint
    oldest: cython.longlong
    keyless: cython.bint
    in_order: cython.bint
    taken: cython.longlong

    def __init__(self, count: cython.longlong, base_timestamp: cython.longlong, append_time: object) -> None:
        self.count, self.base_timestamp = count, base_timestamp
        self.marked = append_time is not None
        self.append_time = NO_TIMESTAMP if append_time is None else append_time
        self.seen = self.taken = self.last = 0
        self.oldest = self.newest = NO_TIMESTAMP
        self.keyless = False
        self.in_order = True
        self.item = Item()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step(self, item: Item) -> cython.int:
        takes: cython.longlong
        timestamp: cython.longlong
        while self.seen < self.count:
            takes = record_bytes(self.data, self.at, self.end)
            if takes < 0:
                return BAD_RECORD
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if read_record(item, self.data, self.at, self.end) < 0:
                return BAD_RECORD
            timestamp = self.append_time if self.marked else added(self.base_timestamp, item.timestamp)
            self.note(item.offset, timestamp, item.key_size < 0)
            self.at += takes
            self.taken += takes
        return DONE if self.at == self.end else BAD_COUNT

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def note(self, delta: cython.longlong, timestamp: cython.longlong, keyless: cython.bint) -> cython.void:
        if timestamp != NO_TIMESTAMP:
            self.newest = max(self.newest, timestamp)
            self.oldest = timestamp if self.oldest == NO_TIMESTAMP else min(self.oldest, timestamp)
        if keyless:
            self.keyless = True
        if delta != self.seen:
            self.in_order = False
        self.seen += 1

    def skip(self, delta: cython.longlong, timestamp_delta: cython.longlong, keyless: cython.bint) -> None:
        """Take note of a record that the caller has read itself."""
        self.note(delta, self.append_time if self.marked else added(self.base_timestamp, timestamp_delta), keyless)

    def finish(self) -> tuple[int, int, bool, bool, int]:
        """Return oldest and newest timestamp, whether one has no key, whether deltas are 0, 1, 2 ..., opened bytes.

        Raises: InvalidRecord when records are missing.
        """
        if self.seen != self.count:
            raise fault(BAD_COUNT, self.last)
        return self.oldest, self.newest, self.keyless, self.in_order, self.taken
