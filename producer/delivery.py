# cython: language_level=3
"""The Delivery that `send` returns, and the RecordMetadata that it ends with.

Compiled by Cython, as each record has one; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from operator import attrgetter

import cython

from .errors import FOREIGN_FAULTS
from .outcome import UNKNOWN_OFFSET

COMPILED: bool = cython.compiled

_by_index = attrgetter("index")


class RecordMetadata:
    """Where a record was written. -1: unknown (the offset with acks=0, or of a duplicate); the size of null."""

    def __init__(self, *, topic, partition, offset, timestamp, serialized_key_size=-1, serialized_value_size=-1):
        self.topic, self.partition, self.offset, self.timestamp = topic, partition, offset, timestamp
        self.serialized_key_size, self.serialized_value_size = serialized_key_size, serialized_value_size

    def _values(self):
        sizes = self.serialized_key_size, self.serialized_value_size
        return self.topic, self.partition, self.offset, self.timestamp, *sizes

    def __eq__(self, other):
        return self._values() == other._values() if type(other) is RecordMetadata else NotImplemented

    def __hash__(self):
        return hash(self._values())

    def __reduce__(self):
        return _metadata_of, self._values()

    def __repr__(self):
        return (
            f"RecordMetadata(topic={self.topic!r}, partition={self.partition}, offset={self.offset}, "
            f"timestamp={self.timestamp}, serialized_key_size={self.serialized_key_size}, "
            f"serialized_value_size={self.serialized_value_size})"
        )


def _metadata_of(topic, partition, offset, timestamp, key_size, value_size):
    return RecordMetadata(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp=timestamp,
        serialized_key_size=key_size,
        serialized_value_size=value_size,
    )


Callback = Callable[[RecordMetadata, object], object]


class Delivery:
    """Awaiting it gives the RecordMetadata, or raises the ProducerError that the record ended with.

    asyncio treats it as a Future: `wait`, `gather`, `shield`, `as_completed`, `wait_for`, done callbacks. Cancelling it
    ends the waits, but its record is sent nevertheless. `accepted` waits only until the record is in a batch, which
    gives the back-pressure of `buffer.memory` and `max.block.ms`.

    It refers to its batch. The batch refers to it, as one of its `listeners`, only if it is awaited or has a callback,
    so a delivery that the application drops is freed at once.

    `_refusal`: error and partition of a record that is in no batch.
    """

    def __init__(
        self,
        topic: str,
        timestamp: cython.longlong,
        key_size: cython.Py_ssize_t,
        value_size: cython.Py_ssize_t,
        callback: object,
    ) -> None:
        self.topic, self.callback = topic, callback
        self.timestamp, self.key_size, self.value_size = timestamp, key_size, value_size
        self._begin()

    def _begin(self):
        self.batch = self.waiters = self._refusal = self._done_callbacks = None
        self.index = -1
        self._listens = self.callback is not None
        self._cancelled = self._asyncio_future_blocking = False

    # --- what asyncio.Future has ---

    def done(self):
        return self._cancelled or self._has_ended()

    def cancelled(self):
        return self._cancelled

    def cancel(self, msg=None):
        """Ends the waits for it; returns False if it was done. The record is sent nevertheless, and its callback
        called.
        """
        if self.done():
            return False
        self._cancelled = True
        self._wake_and_call_back()
        return True

    def _make_cancelled_error(self):
        """A method of Future that `asyncio.gather` calls."""
        return asyncio.CancelledError()

    def result(self):
        """The metadata. Raises: the error, CancelledError, InvalidStateError while it is open."""
        error = self.exception()
        if error is not None:
            raise error
        return self.metadata()

    def exception(self):
        """The error, or None. Raises: CancelledError, InvalidStateError while it is open."""
        if self._cancelled:
            raise asyncio.CancelledError
        if not self._has_ended():
            raise asyncio.InvalidStateError("the record is on its way")
        return self.error()

    def add_done_callback(self, fn, *, context=None):
        if self.done():
            asyncio.get_running_loop().call_soon(fn, self, context=context)
            return
        if self._done_callbacks is None:
            self._done_callbacks = []
        self._listen_to_batch()
        self._done_callbacks.append((fn, context))

    def remove_done_callback(self, fn):
        """Removes the callback; returns how often it was there."""
        added = self._done_callbacks or []
        self._done_callbacks = [(each, context) for each, context in added if each != fn]
        return len(added) - len(self._done_callbacks)

    def get_loop(self):
        return asyncio.get_running_loop()

    def __await__(self):
        while not self.done():
            yield from self._make_waiter()
        return self.result()

    # --- what is known ---

    def error(self):
        """The error that it failed with; None if it succeeded or is open."""
        if self._refusal is not None:
            return self._refusal[0]
        outcome = self._outcome()
        if outcome is None or outcome.error is None:
            return None
        return (outcome.failures or {}).get(self.index, outcome.error)

    def metadata(self):
        """Returns what is known now, and never waits; offset and timestamp are -1 until the record is written, and if
        it failed."""
        outcome = self._outcome()
        if outcome is None or outcome.error is not None:
            return self._make_metadata_without_offset(self._partition())
        return self._make_metadata(self._partition(), outcome.base_offset, outcome.append_time)

    def _make_metadata(
        self, partition: cython.longlong, base_offset: cython.longlong, append_time: cython.longlong
    ) -> RecordMetadata:
        known: RecordMetadata = RecordMetadata.__new__(RecordMetadata)
        known.topic, known.partition = self.topic, partition
        known.offset = base_offset + self.index if base_offset >= 0 else UNKNOWN_OFFSET
        known.timestamp = append_time if append_time >= 0 else self.timestamp
        known.serialized_key_size, known.serialized_value_size = self.key_size, self.value_size
        return known

    def _make_metadata_without_offset(self, partition: cython.longlong) -> RecordMetadata:
        return RecordMetadata(topic=self.topic, partition=partition, offset=UNKNOWN_OFFSET, timestamp=-1)

    async def accepted(self):
        """Waits until the record is in a batch or was refused, even when it was cancelled. Returns the delivery."""
        while self.batch is None and self._refusal is None:
            await self._make_waiter()
        return self

    # --- what its batch and the queues call ---

    def enter_batch(self, batch: object, index: cython.Py_ssize_t):
        """Takes note of the record's batch and its index there; wakes the waits of `accepted`."""
        self.batch = batch
        self.index = index
        if self._listens:
            batch.listeners.append(self)
        if self.waiters:
            self._wake()

    def refuse(self, error, partition):
        """Fails a record that is in no batch."""
        self._refusal = (error, partition)
        self._finish(self._make_metadata_without_offset(partition), error)

    def _finish(self, metadata: RecordMetadata, error: object):
        """Calls the callback and wakes the waits. Called once, when the result is known."""
        if self.callback is not None:
            try:
                self.callback(metadata, error)
            except FOREIGN_FAULTS as fault:  # code of the application must not break the sender
                where = f"{self.topic}-{metadata.partition}"
                context = {"message": f"a callback for {where} failed", "exception": fault}
                asyncio.get_running_loop().call_exception_handler(context)
        self._wake_and_call_back()

    def find_batch(self):
        """The current batch of the record: after a split, the child."""
        while self.batch is not None and self.batch.children:
            for child in self.batch.children:
                if self.index < child.count:
                    break
                self.index -= child.count
            self.batch = child
        return self.batch

    # --- inside ---

    def _wake_and_call_back(self):
        if self.waiters:
            self._wake()
        if self._done_callbacks is not None:
            added, self._done_callbacks = self._done_callbacks, None
            loop = asyncio.get_running_loop()
            for fn, context in added:
                loop.call_soon(fn, self, context=context)

    def _wake(self):
        waiters, self.waiters = self.waiters, None
        for waiter in waiters or ():
            if not waiter.done():
                waiter.set_result(None)

    def _listen_to_batch(self):
        """Adds itself to the listeners of its batch."""
        if not self._listens:
            self._listens = True
            batch = self.find_batch()
            if batch is not None:
                batch.listeners.append(self)

    def _make_waiter(self):
        """A future that is done when the record gets into a batch, or ends."""
        waiter = asyncio.get_running_loop().create_future()
        self._listen_to_batch()
        if self.waiters is None:
            self.waiters = []
        self.waiters.append(waiter)
        return waiter

    def _has_ended(self):
        return self._refusal is not None or self._outcome() is not None

    def _outcome(self):
        if self.batch is None:
            return None
        outcome = self.batch.outcome
        if outcome is None and self.batch.children:
            outcome = self.find_batch().outcome
        return outcome

    def _partition(self):
        if self.batch is not None:
            return self.batch.partition
        return self._refusal[1] if self._refusal is not None else -1


def finish_all(listeners, partition: cython.longlong, outcome):
    """Finishes the listening deliveries of a batch, in the order of the records."""
    base_offset: cython.longlong = outcome.base_offset
    append_time: cython.longlong = outcome.append_time
    error = outcome.error
    failures: dict = outcome.failures or {}
    last: cython.Py_ssize_t = -1
    delivery: Delivery
    for delivery in listeners:
        if delivery.index < last:
            listeners.sort(key=_by_index)
            break
        last = delivery.index
    for delivery in listeners:
        if error is None:
            delivery._finish(delivery._make_metadata(partition, base_offset, append_time), None)
        else:
            delivery._finish(delivery._make_metadata_without_offset(partition), failures.get(delivery.index, error))
