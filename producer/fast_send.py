# cython: language_level=3
"""The fast path of a record from `send` into a batch.

    FastSend    `send` itself: thread, serializers, header encoding, then the topic's FastAppend or the slow path
    FastAppend  one topic: the partition of a key, the open batch of a partition, the queue for memory

`accumulator/appender.py` makes a FastAppend after a record that did not have to wait; it ends when metadata changes. It
opens no batch: a record that needs a new one takes the slow path, through `Appender`.

Compiled by Cython; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import cython

from .pending_record import WAITING_BYTES
from .record_encoding import NO_HEADERS

if cython.compiled:
    from cython.cimports.cpython.pythread import PyThread_get_thread_ident as get_ident
    from cython.cimports.stepdown.producer.delivery import Delivery
    from cython.cimports.stepdown.producer.partitioners.murmur2 import partition_for_key
    from cython.cimports.stepdown.producer.partitioners.sticky_partition import StickyPartition
    from cython.cimports.stepdown.producer.pending_record import PendingRecord
    from cython.cimports.stepdown.producer.producer_clock import ProducerClock
    from cython.cimports.stepdown.producer.record_encoding import encode_headers, most_bytes
    from cython.cimports.stepdown.protocol.records.growing_batch import GrowingBatch
else:
    from threading import get_ident

    from ..protocol.records.growing_batch import GrowingBatch
    from .delivery import Delivery
    from .partitioners.murmur2 import partition_for_key
    from .partitioners.sticky_partition import StickyPartition
    from .pending_record import PendingRecord
    from .producer_clock import ProducerClock
    from .record_encoding import encode_headers, most_bytes

COMPILED: bool = cython.compiled

_WAITING = cython.declare(cython.Py_ssize_t, WAITING_BYTES)
_NO_HEADERS = cython.declare(bytes, NO_HEADERS)


class FastAppend:
    """Appends records to the open batches of one topic, until metadata changes."""

    def __init__(self, view, built_in, accumulator, metadata, queue, wake) -> None:
        settings = accumulator.settings
        self._view, self._topic, self._built_in, self._most_bytes = view, view.topic, built_in, built_in.most_bytes
        self._accumulator, self._memory, self._queue, self._wake = accumulator, accumulator.memory, queue, wake
        self._queues, self._partitions = accumulator.queues_of(view.topic), view.partitions
        self._metadata, self._generation = metadata, metadata.generation
        self._ignores_keys = settings.ignore_keys
        self._most_record_bytes = min(settings.max_request_size, settings.buffer_memory)
        self._max_block_ms = settings.max_block_ms
        self._used_ms = -1

    @property
    def is_current(self):
        """Whether metadata has not changed since."""
        return self._metadata.generation == self._generation

    def send(
        self,
        key: bytes | None,
        value: bytes | None,
        partition: object,
        timestamp: cython.longlong,
        headers: bytes,
        callback: object,
        now_ms: cython.longlong,
    ):
        """Appends a record to a batch or a queue; returns its delivery, or None if it needs the slow path."""
        if self._metadata.generation != self._generation:
            return None
        delivery: Delivery = Delivery.__new__(Delivery)
        delivery.topic, delivery.callback, delivery.timestamp = self._topic, callback, timestamp
        delivery.key_size = -1 if key is None else len(key)
        delivery.value_size = -1 if value is None else len(value)
        delivery._begin()
        if self._queue:
            if not self._try_queue_for_memory(key, value, partition, headers, delivery, now_ms):
                return None
        else:
            if not self._append(key, value, partition, headers, delivery):
                return None
            if self._accumulator.needs_pass:
                self._accumulator.needs_pass = False
                self._wake()
        if now_ms != self._used_ms:
            self._used_ms = now_ms
            self._metadata.used[self._topic] = now_ms
        return delivery

    def _append(
        self, key: bytes | None, value: bytes | None, partition: object, headers: bytes, delivery: Delivery
    ) -> cython.bint:
        """Appends the record to an open batch; returns False if it needs the slow path."""
        at: cython.longlong
        if partition is not None:
            at = partition
            if at >= self._partitions:
                return False
        elif key is None or self._ignores_keys:
            return self._append_sticky(key, value, headers, delivery)
        else:
            at = partition_for_key(key, self._partitions)
        queue = self._queues.get(at)
        if not queue:
            return False
        batch = queue[-1]
        buffer: GrowingBatch = batch.buffer
        if not buffer.append(delivery.timestamp, key, value, headers):
            return False
        delivery.enter_batch(batch, buffer.count - 1)
        if buffer.full:
            self._accumulator.needs_pass = True
        return True

    def _append_sticky(self, key: bytes | None, value: bytes | None, headers: bytes, delivery: Delivery) -> cython.bint:
        choice: StickyPartition = self._built_in.choice
        if choice is None or choice.batch is None:
            return False
        buffer: GrowingBatch = choice.buffer
        grown: cython.Py_ssize_t = buffer.append(delivery.timestamp, key, value, headers)
        if not grown:
            return False
        delivery.enter_batch(choice.batch, buffer.count - 1)
        choice.produced_bytes += grown
        if buffer.full or choice.produced_bytes >= self._most_bytes:
            self._accumulator.end_choice_when_full(self._built_in, choice, self._view)
        return True

    def _try_queue_for_memory(
        self,
        key: bytes | None,
        value: bytes | None,
        partition: object,
        headers: bytes,
        delivery: Delivery,
        now_ms: cython.longlong,
    ) -> cython.bint:
        """Puts the record into the queue for memory; returns False if it waits for a partition, or too many wait."""
        if partition is not None and partition >= self._partitions:
            return False
        bound: cython.longlong = most_bytes(delivery.key_size, delivery.value_size, len(headers))
        if bound > self._most_record_bytes or not self._memory.try_add_queued_bytes(bound + _WAITING):
            return False
        waiting: PendingRecord = PendingRecord.__new__(PendingRecord)
        waiting.topic, waiting.partition, waiting.delivery = self._topic, partition, delivery
        waiting.key, waiting.value, waiting.headers, waiting.bound_bytes = key, value, headers, bound
        waiting.deadline_ms, waiting.short_of, waiting.chosen = now_ms + self._max_block_ms, -1, None
        self._queue.append(waiting)
        self._memory.add_waiting_record()
        return True

    def append_waiting(self, now_ms: cython.longlong):
        """Moves the first waiting records to open batches, while they are of this topic and fit; wakes nobody."""
        queue = self._queue
        left_bytes: cython.longlong = 0
        waited_ms: cython.longlong = 0
        while queue:
            waiting: PendingRecord = queue[0]
            if waiting.topic != self._topic:
                break
            if not self._append(waiting.key, waiting.value, waiting.partition, waiting.headers, waiting.delivery):
                break
            queue.popleft()
            left_bytes += waiting.bound_bytes + _WAITING
            waited_ms += now_ms - waiting.deadline_ms + self._max_block_ms
        if left_bytes:
            self._memory.remove_queued_bytes(left_bytes, waited_ms)


class FastSend:
    """The half of a producer with `send`; the other half has `_send_slowly`, `_append_slowly` and `_serialize`.

    `_fast_appends`: by topic; empty with interceptors, a partitioner of the application, or transactions.
    """

    def send(self, topic, value=None, *, key=None, partition=None, timestamp=None, headers=(), callback=None):
        """Sends a record and returns its delivery, without waiting; await the delivery for the RecordMetadata.

        `timestamp`: ms since 1970.

        Raises: TypeError or ValueError for an invalid argument, Serialization, BufferExhausted when too many
        records wait for memory or metadata, ProducerClosed, WrongState in another thread or, with a transactional id,
        outside of a transaction. All other errors are reported by the delivery and the callback.
        """
        fast: FastAppend = self._fast_appends.get(topic)
        if fast is None or get_ident() != self._thread:
            return self._send_slowly(topic, value, key, partition, timestamp, headers, callback)
        if callback is not None and not callable(callback):
            self._ensure_callable(callback)
        clock = self._clock
        now_ms: cython.longlong
        if type(clock) is ProducerClock:
            now_ms = cython.cast(ProducerClock, clock).now_ms()
        else:
            now_ms = clock.now_ms()
        encoded: bytes = _NO_HEADERS
        stamped: cython.longlong = now_ms
        if headers or self._key_serializer is not None or self._value_serializer is not None:
            if type(headers) is not list and type(headers) is not tuple:
                headers = self._list_headers(headers)
            encoded = encode_headers(headers)
        if partition is not None or timestamp is not None:
            self._ensure_valid(topic, partition, timestamp)
            if timestamp is not None:
                stamped = timestamp
        if self._key_serializer is not None or (key is not None and type(key) is not bytes):
            key = self._serialize(self._key_serializer, topic, headers, key, "key")
        if self._value_serializer is not None or (value is not None and type(value) is not bytes):
            value = self._serialize(self._value_serializer, topic, headers, value, "value")
        delivery = fast.send(key, value, partition, stamped, encoded, callback, now_ms)
        if delivery is None:
            return self._append_slowly(topic, key, value, partition, stamped, encoded, callback, now_ms)
        return delivery
