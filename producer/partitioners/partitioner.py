"""Who chooses a partition: the protocol of a partitioner, and the three that KIP-480 describes.

    Sticky          keyed records by hash, others to one partition until it opens a new batch   DefaultPartitioner
    UniformSticky   all records to one partition until it opens a new batch                      UniformSticky…
    RoundRobin      one after the other                                                          RoundRobinPartitioner

Source: KIP-480; Kafka 3.9, StickyPartitionCache. The sender asks `partition`; when that partition's last batch has no
room, it calls `on_new_batch` and asks again, once. So the first record without a key draws twice, and RoundRobin, asked
twice for each record that opens a batch, steps by two: with one record per batch it leaves out half of the partitions.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .murmur2 import partition_for_key

_MASK = 0x7FFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """What a partitioner may know of a topic: how many partitions, and those with a leader in ascending order."""

    topic: str
    partitions: int
    available: Sequence[int]


class Partitioner(Protocol):
    """Chooses. A negative answer is refused; one beyond the topic's partitions waits until it expires."""

    def partition(self, view: TopicView, key: bytes | None, value: bytes | None) -> int: ...

    def on_new_batch(self, view: TopicView, previous: int) -> None: ...


class StickyChoice:
    """The partition that each topic sticks to."""

    def __init__(self, draws: random.Random | None = None) -> None:
        self._draws = draws or random.Random()
        self._chosen: dict[str, int] = {}

    def current(self, view: TopicView) -> int:
        chosen = self._chosen.get(view.topic)
        return self.next(view, -1) if chosen is None else chosen

    def next(self, view: TopicView, previous: int) -> int:
        """The choice after a batch was opened for `previous`: a new one if that is the choice, or there is none."""
        chosen = self._chosen.get(view.topic)
        if chosen is None or chosen == previous:
            self._chosen[view.topic] = chosen = self._draw(view, chosen)
        return chosen

    def _draw(self, view: TopicView, old: int | None) -> int:
        if not view.available:
            return self._draws.randrange(view.partitions)
        others = [partition for partition in view.available if partition != old]
        return self._draws.choice(others) if others else view.available[0]


class Sticky:
    """Keys by hash; the rest sticks."""

    def __init__(self, draws: random.Random | None = None) -> None:
        self._choice = StickyChoice(draws)

    def partition(self, view: TopicView, key: bytes | None, value: bytes | None) -> int:
        return self._choice.current(view) if key is None else partition_for_key(key, view.partitions)

    def on_new_batch(self, view: TopicView, previous: int) -> None:
        self._choice.next(view, previous)


class UniformSticky(Sticky):
    """Everything sticks, keys or not."""

    def partition(self, view: TopicView, key: bytes | None, value: bytes | None) -> int:
        return self._choice.current(view)


class RoundRobin:
    """Each call of `partition` takes the next one with a leader, or of all if none has one."""

    def __init__(self) -> None:
        self._counters: dict[str, int] = {}

    def partition(self, view: TopicView, key: bytes | None, value: bytes | None) -> int:
        counter = self._counters.get(view.topic, 0)
        self._counters[view.topic] = counter + 1
        counter &= _MASK
        if view.available:
            return view.available[counter % len(view.available)]
        return counter % view.partitions

    def on_new_batch(self, view: TopicView, previous: int) -> None:
        """Nothing sticks, so nothing changes."""


BY_NAME: dict[str, type[Sticky] | type[RoundRobin]] = {
    "sticky": Sticky,
    "uniform-sticky": UniformSticky,
    "round-robin": RoundRobin,
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": Sticky,
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": UniformSticky,
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": RoundRobin,
}
"""What `partitioner.class` may say."""
