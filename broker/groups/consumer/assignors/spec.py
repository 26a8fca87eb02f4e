"""The input and the result of an assignor."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from ..member import Assignment


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec:
    """A member. `topics`: the existing ones that it subscribes to. `current`: its target assignment so far."""

    topics: frozenset[UUID]
    instance_id: str | None = None
    current: Assignment = field(default_factory=dict)


# Takes the members by id and each topic's number of partitions; returns each member's target assignment.
Assignor = Callable[[Mapping[str, MemberSpec], Mapping[UUID, int]], dict[str, Assignment]]


def has_one_subscription(members: Mapping[str, MemberSpec]) -> bool:
    return len({member.topics for member in members.values()}) <= 1


def subscribers_by_topic(
    members: Iterable[str], specs: Mapping[str, MemberSpec], topics: Iterable[UUID]
) -> dict[UUID, Sequence[str]]:
    """The subscribers of each topic, in the order of `members`; topics with the same subscribers share one sequence."""
    by_subscription: dict[frozenset[UUID], list[int]] = {}
    order = list(members)
    for at, member_id in enumerate(order):
        by_subscription.setdefault(specs[member_id].topics, []).append(at)
    shared: dict[tuple[int, ...], Sequence[str]] = {}
    readers = {}
    for topic_id in topics:
        found = tuple(at for at, subscription in enumerate(by_subscription) if topic_id in subscription)
        if found not in shared:
            lists = list(by_subscription.values())
            shared[found] = [order[place] for place in sorted(place for at in found for place in lists[at])]
        readers[topic_id] = shared[found]
    return readers
