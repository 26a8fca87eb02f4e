"""Handles long requests in chunks of a few hundred items, yielding to the event loop in between.

Only APIs whose items are answered each for itself and in the order asked. The answers of the parts become one; what an
answer says beside its items (a throttle time, an error of the whole request) is that of the first part. What a request
names more than once is found before it is cut, since its parts do not show it.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...protocol.api import ApiKey

ITEMS_A_PART = 250

Names = Callable[[Any], Iterable[Hashable]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The arrays that are cut and joined: `items` of the request, `answers` of the response; in each of them `inner`,
    and `inner_answers`, where items have items of their own. `names` gives what may not be named twice in a request.
    With `name_of`, an item that is named again is answered once; `once` does it for items of items.
    """

    items: str
    answers: str
    inner: str = ""
    inner_answers: str = ""
    names: Names | None = None
    name_of: Callable[[Any], Hashable] | None = None
    once: Callable[[Sequence[Any]], Sequence[Any]] | None = None

    def is_long(self, request: Any) -> bool:
        """Whether a request has more than one part."""
        items = getattr(request, self.items)
        if len(items) > ITEMS_A_PART or not self.inner:
            return len(items) > ITEMS_A_PART
        return sum(1 + len(getattr(item, self.inner)) for item in items) > ITEMS_A_PART

    def cut(self, request: Any) -> Iterator[tuple[Any, bool]]:
        """The parts of a request; with each, whether its first item goes on with the last one of the part before."""
        part: list[Any] = []
        size, goes_on = 0, False
        for item in self._distinct(getattr(request, self.items)):
            pieces = list(self._pieces(item))
            for at, (piece, weight) in enumerate(pieces):
                if size + weight > ITEMS_A_PART and part:
                    yield replace(request, **{self.items: tuple(part)}), goes_on
                    part, size, goes_on = [], 0, at > 0
                part.append(piece)
                size += weight
        yield replace(request, **{self.items: tuple(part)}), goes_on

    def _distinct(self, items: Sequence[Any]) -> Iterator[Any]:
        if self.once is not None:
            items = self.once(items)
        seen: set[Hashable] = set()
        for item in items:
            if self.name_of is not None:
                name = self.name_of(item)
                if name in seen:
                    continue
                seen.add(name)
            yield item

    def _pieces(self, item: Any) -> Iterator[tuple[Any, int]]:
        """The item, or what it is cut to; and how many items each of that is."""
        inner: Sequence[Any] = getattr(item, self.inner) if self.inner else ()
        if len(inner) < ITEMS_A_PART:
            yield item, 1 + len(inner)
            return
        for at in range(0, len(inner), ITEMS_A_PART - 1):
            piece = inner[at : at + ITEMS_A_PART - 1]
            yield replace(item, **{self.inner: piece}), ITEMS_A_PART

    def joined(self, responses: Sequence[tuple[Any, bool]]) -> Any:
        """One response of those to the parts. What an item's pieces answer is put together once, not piece by piece."""
        answers: list[Any] = []
        inner: list[Any] = []

        def close_last() -> None:
            if inner:
                answers[-1] = replace(answers[-1], **{self.inner_answers: tuple(inner)})
                inner.clear()

        for response, goes_on in responses:
            found = list(getattr(response, self.answers))
            if goes_on and answers and found:
                if not inner:
                    inner += getattr(answers[-1], self.inner_answers)
                inner += getattr(found.pop(0), self.inner_answers)
            if found:
                close_last()
            answers += found
        close_last()
        return replace(responses[0][0], **{self.answers: tuple(answers)})


def named_twice(names: Iterable[Hashable]) -> frozenset[Hashable]:
    """Those that come more than once."""
    return frozenset(name for name, times in Counter(names).items() if times > 1)


def partitions_once(topics: Sequence[Any]) -> tuple[Any, ...]:
    """The topics with `partition_indexes`, each topic and each of its partitions once."""
    by_name: dict[str, tuple[Any, dict[int, None]]] = {}
    for topic in topics:
        indexes = dict.fromkeys(topic.partition_indexes)
        known = by_name.setdefault(topic.name, (topic, indexes))[1]
        if known is not indexes:
            known.update(indexes)
    return tuple(replace(topic, partition_indexes=tuple(indexes)) for topic, indexes in by_name.values())


def partitions_named(request: Any) -> Iterator[tuple[str, int]]:
    """Topic and index of each partition that a ListOffsets asks for."""
    return ((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions)


def resources_named(request: Any) -> Iterator[tuple[int, str]]:
    """Type and name of each resource that is to be altered."""
    return ((resource.resource_type, resource.resource_name) for resource in request.resources)


def described(resource: Any) -> Hashable:
    """What a DescribeConfigs asks of which resource."""
    return resource.resource_type, resource.resource_name, tuple(resource.configuration_keys or ())


_BY_PARTITION = Parts(items="topics", answers="topics", inner="partitions", inner_answers="partitions")

PARTS: dict[ApiKey, Parts] = {
    ApiKey.LIST_OFFSETS: replace(_BY_PARTITION, names=partitions_named),
    ApiKey.OFFSET_COMMIT: _BY_PARTITION,
    ApiKey.DELETE_RECORDS: _BY_PARTITION,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _BY_PARTITION,
    ApiKey.DESCRIBE_PRODUCERS: Parts(
        items="topics",
        answers="topics",
        inner="partition_indexes",
        inner_answers="partitions",
        once=partitions_once,
    ),
    ApiKey.FIND_COORDINATOR: Parts(items="coordinator_keys", answers="coordinators"),
    ApiKey.DESCRIBE_CONFIGS: Parts(items="resources", answers="results", name_of=described),
    ApiKey.ALTER_CONFIGS: Parts(items="resources", answers="responses", names=resources_named),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Parts(items="resources", answers="responses", names=resources_named),
    ApiKey.DESCRIBE_GROUPS: Parts(items="groups", answers="groups", name_of=str),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Parts(items="group_ids", answers="groups", name_of=str),
    ApiKey.DELETE_GROUPS: Parts(items="groups_names", answers="results", name_of=str),
    ApiKey.DESCRIBE_TRANSACTIONS: Parts(items="transactional_ids", answers="transaction_states", name_of=str),
}

LONG_ANSWERS = frozenset(
    {
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.LIST_GROUPS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.OFFSET_FETCH,
    }
)
"""A few bytes may ask for megabytes of these: few are made at once, and what is not read of them is charged."""
