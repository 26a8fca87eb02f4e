"""The short way of the commonest records: a value alone, for a topic whose leaders are known, into an open batch.

It leads where `Intake.take` leads, by fewer steps. `Intake` opens a lane behind a record that found nobody in line, and
closes all of them when somebody has to wait for metadata; a lane is of no use once metadata changed. It opens no batch:
a record that needs a new one goes the long way. While others wait for memory it ends behind them, and those who waited
go on by a lane into the batch that the first of them opened.
"""

from collections import deque
from collections.abc import Callable

from .accumulator import Accumulator
from .batch import Entry
from .built_in import BuiltIn
from .delivery import Callback, Delivery
from .metadata import Metadata
from .partitioners import TopicView
from .records import LEAST_BOUND, NO_HEADERS
from .waiting import Waiting


class Lane:
    """For one topic, while its metadata is what it is now."""

    __slots__ = (
        "_accumulator",
        "_built_in",
        "_generation",
        "_line",
        "_metadata",
        "_most_bytes",
        "_topic",
        "_view",
        "_wake",
    )

    def __init__(
        self,
        view: TopicView,
        built_in: BuiltIn,
        accumulator: Accumulator,
        metadata: Metadata,
        line: deque[Waiting],
        wake: Callable[[], None],
    ) -> None:
        self._view, self._topic, self._built_in, self._most_bytes = view, view.topic, built_in, built_in.most_bytes
        self._accumulator, self._line, self._wake = accumulator, line, wake
        self._metadata, self._generation = metadata, metadata.generation

    @property
    def of_use(self) -> bool:
        """Whether metadata is still what it was."""
        return self._metadata.generation == self._generation

    def send(self, value: bytes, now_ms: int, callback: Callback | None) -> Delivery | None:
        """The delivery of a record that is in a batch, or in line; None: it has to go the long way."""
        if self._metadata.generation != self._generation:
            return None
        if self._line:
            return self._stand_in_line(value, now_ms, callback)
        stay = self._built_in.stay
        if stay is None or stay.batch is None:
            return None
        batch, topic = stay.batch, self._topic
        grown = batch.append(now_ms, None, value, NO_HEADERS)
        if not grown:
            return None
        delivery = Delivery(topic, now_ms, -1, len(value), callback, batch, batch.count)
        batch.count += 1
        if callback is not None:
            batch.listeners.append(delivery)
        self._metadata.used[topic] = now_ms
        stay.produced_bytes += grown
        if batch.buffer.full or stay.produced_bytes >= self._most_bytes:
            self._accumulator.look_at_stay(self._built_in, stay, self._view)
            if self._accumulator.stirred:
                self._accumulator.stirred = False
                self._wake()
        return delivery

    def _stand_in_line(self, value: bytes, now_ms: int, callback: Callback | None) -> Delivery | None:
        settings, bound = self._accumulator.settings, LEAST_BOUND + len(value)
        if bound > settings.max_request_size or bound > settings.buffer_memory:
            return None
        delivery = Delivery(self._topic, now_ms, -1, len(value), callback)
        entry = now_ms, None, value, NO_HEADERS, bound, delivery
        self._line.append(Waiting(self._topic, None, entry, now_ms + settings.max_block_ms))
        self._accumulator.memory.waiting += 1
        self._metadata.used[self._topic] = now_ms
        return delivery

    def take(self, entry: Entry) -> bool:
        """Whether a record that waited is in a batch; else it has to go the long way. It wakes nobody."""
        stay = self._built_in.stay
        if stay is None or stay.batch is None or not (grown := stay.batch.take(entry)):
            return False
        stay.produced_bytes += grown
        if stay.batch.buffer.full or stay.produced_bytes >= self._most_bytes:
            self._accumulator.look_at_stay(self._built_in, stay, self._view)
        return True
