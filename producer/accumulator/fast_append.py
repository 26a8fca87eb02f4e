# cython: language_level=3
"""The short way of the commonest records: a value alone, for a topic whose leaders are known, into an open batch.

It does what `Appender.take` does, in fewer steps. `Appender` makes one for a topic behind a record that found nobody in
line, and closes all of them when somebody has to wait for metadata; one is of no use once metadata changed. It opens no
batch: a record that needs a new one goes through `Appender`. While others wait for memory it ends behind them, and
those who waited go on here into the batch that the first of them opened.

Compiled by Cython, since each record takes it; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import cython

from .batch_layout import LEAST_BOUND, NO_HEADERS

if cython.compiled:
    from cython.cimports.stepdown.producer.accumulator.waiting_record import WaitingRecord
    from cython.cimports.stepdown.producer.future import Delivery
    from cython.cimports.stepdown.producer.partitioners.sticky_partition import StickyPartition
    from cython.cimports.stepdown.protocol.records.record_buffer import RecordBuffer
else:
    from ...protocol.records.record_buffer import RecordBuffer
    from ..future import Delivery
    from ..partitioners.sticky_partition import StickyPartition
    from .waiting_record import WaitingRecord

COMPILED: bool = cython.compiled

BOUND = cython.declare(cython.Py_ssize_t, LEAST_BOUND)
PLAIN = cython.declare(bytes, NO_HEADERS)


@cython.final
@cython.cclass
class FastAppend:
    """For one topic, while its metadata is what it is now."""

    _view: object
    _topic: object
    _built_in: object
    _accumulator: object
    _memory: object
    _metadata: object
    _generation: object
    _line: object
    _wake: object
    _most_bytes: cython.longlong
    _most_record_bytes: cython.longlong
    _max_block_ms: cython.longlong
    _used_ms: cython.longlong

    def __init__(self, view, built_in, accumulator, metadata, line, wake) -> None:
        settings = accumulator.settings
        self._view, self._topic, self._built_in, self._most_bytes = view, view.topic, built_in, built_in.most_bytes
        self._accumulator, self._memory, self._line, self._wake = accumulator, accumulator.memory, line, wake
        self._metadata, self._generation = metadata, metadata.generation
        self._most_record_bytes = min(settings.max_request_size, settings.buffer_memory)
        self._max_block_ms = settings.max_block_ms
        self._used_ms = -1

    @property
    def of_use(self):
        """Whether metadata is still what it was."""
        return self._metadata.generation == self._generation

    def send(self, value: bytes, now_ms: cython.longlong, callback: object):
        """The delivery of a record that is in a batch, or in line; None: it has to go the long way."""
        if self._metadata.generation != self._generation:
            return None
        if self._line:
            return self._stand_in_line(value, now_ms, callback)
        stay: StickyPartition = self._built_in.stay
        if stay is None or stay.batch is None:
            return None
        buffer: RecordBuffer = stay.buffer
        grown: cython.Py_ssize_t = buffer.append(now_ms, None, value, PLAIN)
        if not grown:
            return None
        delivery: Delivery = self._delivery(len(value), now_ms, callback)
        delivery.lie_in(stay.batch, buffer.count - 1)
        if self._fills(stay, grown) and self._accumulator.stirred:
            self._accumulator.stirred = False
            self._wake()
        return delivery

    @cython.cfunc
    def _delivery(self, size: cython.Py_ssize_t, now_ms: cython.longlong, callback: object) -> Delivery:
        """A new one of this topic, which is used now."""
        if now_ms != self._used_ms:
            self._used_ms = now_ms
            self._metadata.used[self._topic] = now_ms
        delivery: Delivery = Delivery.__new__(Delivery)
        delivery.topic, delivery.callback = self._topic, callback
        delivery.timestamp, delivery.key_size, delivery.value_size = now_ms, -1, size
        delivery.batch = delivery.waiters = delivery.refusal = None
        delivery.index = -1
        return delivery

    @cython.cfunc
    def _fills(self, stay: StickyPartition, grown: cython.Py_ssize_t) -> cython.bint:
        """Counts what was appended; whether that may have ended the stay."""
        stay.produced_bytes += grown
        if stay.buffer.full or stay.produced_bytes >= self._most_bytes:
            self._accumulator.look_at_stay(self._built_in, stay, self._view)
            return True
        return False

    @cython.cfunc
    def _stand_in_line(self, value: bytes, now_ms: cython.longlong, callback: object):
        bound: cython.longlong = BOUND + len(value)
        if bound > self._most_record_bytes:
            return None
        delivery: Delivery = self._delivery(len(value), now_ms, callback)
        waiting: WaitingRecord = WaitingRecord.__new__(WaitingRecord)
        waiting.topic, waiting.partition, waiting.chosen = self._topic, None, None
        waiting.entry = (now_ms, None, value, PLAIN, bound, delivery)
        waiting.deadline_ms, waiting.short_of = now_ms + self._max_block_ms, -1
        self._line.append(waiting)
        self._memory.waiting += 1
        return delivery

    def follow(self):
        """Lets those into the open batch who head the line and go this way, while there is room. It wakes nobody."""
        line = self._line
        while line:
            waiting: WaitingRecord = line[0]
            if waiting.partition is not None or waiting.entry[1] is not None or waiting.topic != self._topic:
                return
            stay: StickyPartition = self._built_in.stay
            if stay is None or stay.batch is None:
                return
            timestamp, _, value, headers, _, waited = waiting.entry
            grown: cython.Py_ssize_t = stay.buffer.append(timestamp, None, value, headers)
            if not grown:
                return
            delivery: Delivery = waited
            delivery.lie_in(stay.batch, stay.buffer.count - 1)
            self._fills(stay, grown)
            line.popleft()
