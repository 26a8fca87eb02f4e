"""Finds items that a request names more than once, in turns: it may name very many."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

from ...network.turn import Turn

T = TypeVar("T", bound=Hashable)


class TopicWithPartitions(Protocol):
    """A topic of a request, with some of its partitions."""

    @property
    def name(self) -> str: ...

    @property
    def partition_indexes(self) -> Sequence[int]: ...


async def find_repeated_names(names: Iterable[T], turn: Turn) -> set[T]:
    """The names that come more than once."""
    seen: set[T] = set()
    repeated: set[T] = set()
    for name in names:
        (repeated if name in seen else seen).add(name)
        await turn.next()
    return repeated


async def merge_topics(topics: Iterable[TopicWithPartitions], turn: Turn) -> dict[str, dict[int, None]]:
    """Each topic once, by its name, with each of its partitions once, in the order of the request."""
    merged: dict[str, dict[int, None]] = {}
    for topic in topics:
        indexes = merged.setdefault(topic.name, {})
        for index in topic.partition_indexes:
            indexes[index] = None
            await turn.next()
        await turn.next()
    return merged
