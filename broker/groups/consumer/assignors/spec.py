"""What an assignor is given and what it returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from ..member import Assignment


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec:
    """A member: existing topics that it subscribes to, and what it was to own before."""

    topics: frozenset[UUID]
    instance_id: str | None = None
    current: Assignment = field(default_factory=dict)


# Members by id, and the number of partitions of each topic, to what each member is to own.
Assignor = Callable[[Mapping[str, MemberSpec], Mapping[UUID, int]], dict[str, Assignment]]


def has_one_subscription(members: Mapping[str, MemberSpec]) -> bool:
    return len({member.topics for member in members.values()}) <= 1
