# cython: language_level=3
"""What `send` gives back: a promise of one record's place in the log, cheap while nobody awaits it.

Compiled by Cython, since one is made for each record; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import asyncio

import cython

from .accumulator.batch_outcome import UNKNOWN_OFFSET, RecordMetadata, guarded

COMPILED: bool = cython.compiled


class Delivery:
    """Awaiting it gives the RecordMetadata, or raises the ProducerError that the record ended with.

    It knows its batch, not the batch it, unless somebody is to be told: then it is one of the batch's `listeners`. A
    delivery that its sender drops is gone at once. `accepted` waits only until the record has its place in a batch:
    that is the back-pressure of `buffer.memory` and `max.block.ms`. `refusal`: the error and the partition of a record
    that got into no batch.
    """

    def __init__(
        self,
        topic: str,
        timestamp: cython.longlong,
        key_size: cython.Py_ssize_t,
        value_size: cython.Py_ssize_t,
        callback: object,
    ) -> None:
        self.topic = topic
        self.timestamp = timestamp
        self.key_size = key_size
        self.value_size = value_size
        self.callback = callback
        self.batch = self.waiters = self.refusal = None
        self.index = -1

    def done(self):
        return self.refusal is not None or self._outcome() is not None

    def error(self):
        """What it failed with; None when it succeeded or is open."""
        if self.refusal is not None:
            return self.refusal[0]
        outcome = self._outcome()
        if outcome is None or outcome.error is None:
            return None
        return (outcome.failures or {}).get(self.index, outcome.error)

    def metadata(self):
        """What is known now; offset and timestamp are -1 for a record that failed."""
        outcome = self._outcome()
        failed = outcome is None or outcome.error is not None
        offset, timestamp = UNKNOWN_OFFSET, -1 if failed else self.timestamp
        if outcome is not None and not failed:
            offset = outcome.base_offset + self.index if outcome.base_offset >= 0 else UNKNOWN_OFFSET
            timestamp = outcome.append_time if outcome.append_time >= 0 else self.timestamp
        return RecordMetadata(
            topic=self.topic,
            partition=self._partition(),
            offset=offset,
            timestamp=timestamp,
            serialized_key_size=-1 if failed else self.key_size,
            serialized_value_size=-1 if failed else self.value_size,
        )

    async def accepted(self):
        """Itself, when the record lies in a batch or was refused."""
        while self.batch is None and self.refusal is None:
            await self._news()
        return self

    def __await__(self):
        while not self.done():
            yield from self._news()
        error = self.error()
        if error is not None:
            raise error
        return self.metadata()

    def _news(self):
        """What is done when the record got into a batch, or to its end."""
        waiter = asyncio.get_running_loop().create_future()
        if self.waiters is None:
            self.waiters = []
            batch = self.follow()
            if batch is not None and self.callback is None:
                batch.listeners.append(self)
        self.waiters.append(waiter)
        return waiter

    def lie_in(self, batch: object, index: cython.Py_ssize_t):
        """Takes note of the batch that the record is in, and of its place there; wakes who waited for that."""
        self.batch = batch
        self.index = index
        if self.callback is not None:
            batch.listeners.append(self)
        if self.waiters:
            self.wake()

    def wake(self):
        """Lets those look again who wait for news."""
        waiters, self.waiters = self.waiters, None
        for waiter in waiters or ():
            if not waiter.done():
                waiter.set_result(None)

    def refuse(self, error, partition):
        """Ends a record that got into no batch."""
        self.refusal = (error, partition)
        self.finish()

    def finish(self):
        """Tells the callback and whoever awaits. Called once, when the end is known."""
        if self.callback is not None:
            guarded(self.callback, self.metadata(), self.error())
        if self.waiters:
            self.wake()

    def follow(self):
        """The batch that has the record, now: where its batch was split, the child."""
        while self.batch is not None and self.batch.children:
            for child in self.batch.children:
                if self.index < child.count:
                    break
                self.index -= child.count
            self.batch = child
        return self.batch

    def _outcome(self):
        batch = self.follow()
        return None if batch is None else batch.outcome

    def _partition(self):
        if self.batch is not None:
            return self.batch.partition
        return self.refusal[1] if self.refusal is not None else -1
