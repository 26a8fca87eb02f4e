# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A second thread for the gzip batches of a chunk, while a processor has nothing else to do.

Who converts a chunk takes its batches from the first on, and writes them where they belong; the helper takes them from
the last on, and writes them into a buffer of its own; until all are taken. Then what the helper made is put behind the
rest. What comes out is the same, byte for byte, and ends where it would end without a helper: whatever is out of the
ordinary is left to who asked for help.

There is one helper in a process, for whoever finds it idle. Nobody asks for it while all processors convert already:
a second thread for one chunk would only take turns with the others.
"""

from __future__ import annotations

import os
import threading

import cython

from ...protocol.records.conversion.compressed_batch import SINGLE_BYTES, Singles
from .niceness import be_nice

COMPILED: bool = cython.compiled

GZIP = cython.declare(cython.int, 1)
LEAST_SHARED = cython.declare(cython.Py_ssize_t, 4)
THREAD_NAME = "codec-helper"
NICENESS = 5
"""Who has other work to do, as the thread that answers requests, goes first."""


class Helper:
    """The thread, its buffers, and what it was asked for.

    work, over            locks that are free when there is work, and when it is done
    source, size, target  the stored batches, and the magic that they become
    starts, count         where each of the batches begins, and the last one ends, and how many there are
    taken                 how many are converted or about to be, by either thread; more than there are when all are
    parts                 what it made of each
    """

    def __init__(self) -> None:
        self.singles = SinglesDown()
        self.singles.take_gzip()
        buffer = memoryview(bytearray(2 * SINGLE_BYTES))
        self.buffer, self.scratch, self.room = buffer, sink_of(buffer), len(buffer)
        self.work, self.over = PyThread_allocate_lock(), PyThread_allocate_lock()
        if self.work == cython.NULL or self.over == cython.NULL:
            raise MemoryError("no locks for a thread that helps to convert")
        PyThread_acquire_lock(self.work, WAIT_LOCK)
        PyThread_acquire_lock(self.over, WAIT_LOCK)

    def serve(self) -> None:
        """Work for whoever asks, until the process ends."""
        singles: SinglesDown = self.singles
        down: RecordsDown = singles.down
        item: Item = singles.item
        be_nice(NICENESS)
        with cython.nogil:
            while True:
                PyThread_acquire_lock(self.work, WAIT_LOCK)
                self.work_off(singles, down, item)
                PyThread_release_lock(self.over)

    def work_off(self, singles: SinglesDown, down: RecordsDown, item: Item) -> None:
        """Convert batches from the last on, until all are taken, or there is no more room for what they become."""
        number: cython.Py_ssize_t = self.count
        singles.aim(self.source, self.size, 0, self.target, self.scratch, self.room, 0)
        while taken_of(cython.address(self.taken)) < self.count:
            number -= 1
            if self.make(singles, cython.address(self.parts[number]), self.starts[number], down, item) == NO_ROOM:
                break

    def make(
        self,
        singles: SinglesDown,
        part: cython.pointer(Part),
        at: cython.Py_ssize_t,
        down: RecordsDown,
        item: Item,
    ) -> cython.int:
        """Convert the batch at `at`, if it can be done here; how that ended, as `SinglesDown.one` tells."""
        status: cython.int
        records: cython.longlong = singles.records
        temporary_bytes: cython.longlong = singles.temporary_bytes
        singles.at = at
        part.at = singles.end
        status = singles.one(down, item)
        part.is_made = status == DONE and singles.at > at
        part.size, part.wanted = singles.end - part.at, singles.wanted
        part.records, part.temporary_bytes = singles.records - records, singles.temporary_bytes - temporary_bytes
        return status

    def scan(self, source: Source, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find where batches of gzip begin; return how many there are, up to one of another kind."""
        count: cython.Py_ssize_t = 0
        behind: cython.Py_ssize_t
        while count < MOST_SHARED:
            self.starts[count] = at
            behind = batch_end(source, at, size)
            if behind <= 0 or source[at + MAGIC_OFFSET] != 2 or source[at + ATTRIBUTES_OFFSET + 1] & CODEC_MASK != GZIP:
                break
            self.parts[count].is_made = False
            count += 1
            at = behind
        self.starts[count] = at
        return count

    def share_with(self, singles: SinglesDown, source: object, target: cython.int, out: object) -> None:
        """As `share`, from what Python has."""
        data: cython.const[cython.uchar][::1] = source
        made: cython.uchar[::1] = out
        stored: Source = source_of(data)
        size: cython.Py_ssize_t = len(data)
        sink: Sink = sink_of(made)
        room: cython.Py_ssize_t = len(made)
        down: RecordsDown = singles.down
        item: Item = singles.item
        with cython.nogil:
            self.share(singles, down, item, stored, size, target, sink, room)

    def share(
        self,
        singles: SinglesDown,
        down: RecordsDown,
        item: Item,
        source: Source,
        size: cython.Py_ssize_t,
        target: cython.int,
        sink: Sink,
        room: cython.Py_ssize_t,
    ) -> None:
        """Convert batches from the first on, until all are taken, and put behind them what the helper made.

        Where `singles` are at then, who has no help goes on.
        """
        number: cython.Py_ssize_t = 0
        at: cython.Py_ssize_t
        is_ordinary: cython.bint = True
        singles.aim(source, size, 0, target, sink, room, 0)
        self.count = self.scan(source, 0, size)
        if self.count < LEAST_SHARED:
            return
        self.source, self.size, self.target = source, size, target
        set_to(cython.address(self.taken), 0)
        PyThread_release_lock(self.work)
        while is_ordinary and taken_of(cython.address(self.taken)) < self.count:
            at = singles.at
            is_ordinary = singles.one(down, item) == DONE and singles.at > at
            number += is_ordinary
        set_to(cython.address(self.taken), self.count)
        PyThread_acquire_lock(self.over, WAIT_LOCK)
        while is_ordinary and number < self.count:
            if not self.put_behind(singles, cython.address(self.parts[number]), self.starts[number + 1]):
                at = singles.at
                is_ordinary = singles.one(down, item) == DONE and singles.at > at
            number += 1

    def put_behind(self, singles: SinglesDown, part: cython.pointer(Part), behind: cython.Py_ssize_t) -> cython.bint:
        """Put what the helper made of a batch, which ends at `behind`, where it belongs, if there is as much room as it
        would have taken to make it there."""
        if not part.is_made or singles.end + part.wanted > singles.room:
            return False
        copy(singles.sink, singles.end, self.scratch + part.at, 0, part.size)
        singles.at = behind
        singles.end += part.size
        singles.records += part.records
        singles.temporary_bytes += part.temporary_bytes
        return True


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Help:
    """The helper, once somebody needed one, and how many threads convert chunks now; at `most_converting` of them there
    is a processor left for it."""

    def __init__(self) -> None:
        self.most_converting = processors() - 1
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Begin anew in a process that has none of the threads of its parent."""
        self.helper, self.is_busy, self.converting = None, False, 0

    def take(self) -> Helper | None:
        """Return the helper, to be given back, if it is idle and a processor, too."""
        if self.is_busy or self.converting > self.most_converting:
            return None
        self.is_busy = True  # before another thread has the interpreter
        if self.helper is None:
            try:
                self.hire()
            except (MemoryError, RuntimeError):  # no memory, no more threads: without help it takes longer
                self.most_converting = 0
            finally:
                self.is_busy = self.helper is not None
        return self.helper

    def hire(self) -> None:
        """Make a helper, and the thread in which it works."""
        helper: Helper = Helper()
        threading.Thread(target=helper.serve, name=THREAD_NAME, daemon=True).start()
        self.helper = helper


HELP = Help()


def convert_with_help(singles: SinglesDown, source: object, target: cython.int, out: object):
    """As `convert_singles`, of all the batches in `source`, into `out` from its beginning on.

    Raises: CorruptRecord, InvalidRecord.
    """
    help: Help = HELP
    help.converting += 1
    try:
        helper: Helper | None = help.take() if singles.has_gzip else None
        if helper is None:
            return singles.convert(source, 0, target, out, 0)
        try:
            helper.share_with(singles, source, target, out)
        finally:
            help.is_busy = False
        records: cython.longlong = singles.records
        temporary_bytes: cython.longlong = singles.temporary_bytes
        rest = singles.convert(source, singles.at, target, out, singles.end)
        return Singles(rest.at, rest.end, records + rest.records, temporary_bytes + rest.temporary_bytes)
    finally:
        help.converting -= 1
