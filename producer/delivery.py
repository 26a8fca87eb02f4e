"""What `send` gives back: a promise of one record's place in the log, cheap while nobody awaits it."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .errors import ProducerError

if TYPE_CHECKING:
    from .batch import Batch

UNKNOWN_OFFSET = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordMetadata:
    """Where a record went. -1: not known (offset with acks=0, or of a duplicate); sizes of null are -1 too."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    serialized_key_size: int = -1
    serialized_value_size: int = -1


Callback = Callable[[RecordMetadata, ProducerError | None], object]


class Interceptor(Protocol):
    """Sees each record's end, before its callback does."""

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None: ...


class Outcome(NamedTuple):
    """How a batch ended. `append_time` is -1 unless the topic stamps records itself; `failures` is by record."""

    base_offset: int = UNKNOWN_OFFSET
    append_time: int = -1
    error: ProducerError | None = None
    failures: dict[int, ProducerError] | None = None


class Delivery:
    """Awaiting it gives the RecordMetadata, or raises the ProducerError that the record ended with.

    It knows its batch, not the batch it, unless somebody is to be told: then it is one of the batch's `listeners`. A
    delivery that its sender drops is gone at once. `accepted` waits only until the record has its place in a batch:
    that is the back-pressure of `buffer.memory` and `max.block.ms`.
    """

    __slots__ = ("_refusal", "batch", "callback", "index", "key_size", "timestamp", "topic", "value_size", "waiters")

    def __init__(
        self,
        topic: str,
        timestamp: int,
        key_size: int,
        value_size: int,
        callback: Callback | None,
        batch: "Batch | None" = None,
        index: int = -1,
    ) -> None:
        self.topic = topic
        self.timestamp = timestamp
        self.key_size = key_size
        self.value_size = value_size
        self.callback = callback
        self.batch = batch
        self.index = index
        self.waiters: list[asyncio.Future[None]] | None = None
        self._refusal: tuple[ProducerError, int] | None = None

    def done(self) -> bool:
        return self._refusal is not None or self._outcome() is not None

    def error(self) -> ProducerError | None:
        """What it failed with; None when it succeeded or is open."""
        if self._refusal is not None:
            return self._refusal[0]
        outcome = self._outcome()
        if outcome is None or outcome.error is None:
            return None
        return (outcome.failures or {}).get(self.index, outcome.error)

    def metadata(self) -> RecordMetadata:
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

    async def accepted(self) -> "Delivery":
        """Itself, when the record lies in a batch or was refused."""
        while self.batch is None and self._refusal is None:
            await self._news()
        return self

    def __await__(self) -> Generator[object, None, RecordMetadata]:
        while not self.done():
            yield from self._news()
        if (error := self.error()) is not None:
            raise error
        return self.metadata()

    def _news(self) -> "asyncio.Future[None]":
        """What is done when the record got into a batch, or to its end."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.waiters is None:
            self.waiters = []
            batch = self.follow()
            if batch is not None and self.callback is None:
                batch.listeners.append(self)
        self.waiters.append(waiter)
        return waiter

    def wake(self) -> None:
        """Lets those look again who wait for news."""
        waiters, self.waiters = self.waiters, None
        for waiter in waiters or ():
            if not waiter.done():
                waiter.set_result(None)

    def refuse(self, error: ProducerError, partition: int) -> None:
        """Ends a record that got into no batch."""
        self._refusal = (error, partition)
        self.finish()

    def finish(self) -> None:
        """Tells the callback and whoever awaits. Called once, when the end is known."""
        if self.callback is not None:
            _guarded(self.callback, self.metadata(), self.error())
        if self.waiters:
            self.wake()

    def follow(self) -> "Batch | None":
        """The batch that has the record, now: where its batch was split, the child."""
        while self.batch is not None and self.batch.children:
            for child in self.batch.children:
                if self.index < child.count:
                    break
                self.index -= child.count
            self.batch = child
        return self.batch

    def _outcome(self) -> Outcome | None:
        batch = self.follow()
        return None if batch is None else batch.outcome

    def _partition(self) -> int:
        if self.batch is not None:
            return self.batch.partition
        return self._refusal[1] if self._refusal is not None else -1


def telling(interceptors: Sequence[Interceptor], callback: Callback | None) -> Callback:
    """A callback that tells the interceptors first."""

    def tell(metadata: RecordMetadata, error: ProducerError | None) -> None:
        for interceptor in interceptors:
            _guarded(interceptor.on_acknowledgement, metadata, error)
        if callback is not None:
            _guarded(callback, metadata, error)

    return tell


def _guarded(call: Callback, metadata: RecordMetadata, error: ProducerError | None) -> None:
    """User code must not break the sender: what it raises goes to the loop's exception handler."""
    try:
        call(metadata, error)
    except Exception as fault:
        context = {"message": f"a callback for {metadata.topic}-{metadata.partition} failed", "exception": fault}
        asyncio.get_running_loop().call_exception_handler(context)
