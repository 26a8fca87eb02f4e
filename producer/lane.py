"""The short way of the commonest records: a value alone, for a topic whose leaders are known, into an open batch.

It leads where `Intake.take` leads, by fewer steps. `Intake` opens a lane behind a record that found nobody in line, and
closes all of them when somebody has to stand in one; a lane is of no use once metadata changed. It opens no batch: a
record that needs a new one goes the long way.
"""

from collections.abc import Callable

from .accumulator import Accumulator
from .built_in import BuiltIn
from .delivery import Callback, Delivery
from .metadata import Metadata
from .partitioners import TopicView
from .records import NO_HEADERS


class Lane:
    """For one topic, while its metadata is what it is now."""

    __slots__ = ("_accumulator", "_built_in", "_generation", "_metadata", "_topic", "_view", "_wake")

    def __init__(
        self,
        view: TopicView,
        built_in: BuiltIn,
        accumulator: Accumulator,
        metadata: Metadata,
        wake: Callable[[], None],
    ) -> None:
        self._view, self._topic, self._built_in = view, view.topic, built_in
        self._accumulator, self._wake = accumulator, wake
        self._metadata, self._generation = metadata, metadata.generation

    @property
    def of_use(self) -> bool:
        """Whether metadata is still what it was."""
        return self._metadata.generation == self._generation

    def send(self, value: bytes, now_ms: int, callback: Callback | None) -> Delivery | None:
        """The delivery of a record that is in a batch; None: it has to go the long way."""
        built_in = self._built_in
        stay = built_in.stay
        if stay is None or stay.batch is None or self._metadata.generation != self._generation:
            return None
        batch, topic = stay.batch, self._topic
        delivery = Delivery(topic, now_ms, -1, len(value), callback)
        grown = batch.take((now_ms, None, value, NO_HEADERS, 0, delivery))
        if not grown:
            return None
        self._metadata.used[topic] = now_ms
        stay.produced_bytes += grown
        if batch.buffer.full or stay.produced_bytes >= built_in.most_bytes:
            self._accumulator.look_at_stay(built_in, stay, self._view)
            if self._accumulator.stirred:
                self._accumulator.stirred = False
                self._wake()
        return delivery
