"""`range`: each subscriber of a topic gets consecutive partitions, the first subscribers one more if need be.

Members are taken in the order of their instance ids, then those without by member id; so with equal subscriptions and
equally large topics a member gets the same partitions of each (co-partitioning). Source: Kafka 3.9, RangeAssignor.
"""

from collections.abc import Mapping
from uuid import UUID

from ..member import Assignment
from .spec import MemberSpec, subscribers_by_topic


def assign_ranges(members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> dict[str, Assignment]:
    """Returns each member's target assignment."""
    order = sorted(members, key=lambda member_id: _sort_key(member_id, members[member_id]))
    assigned: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in order}
    readers_by_topic = subscribers_by_topic(order, members, partitions)
    for topic_id, count in partitions.items():
        readers = readers_by_topic[topic_id]
        start = 0
        for at, member_id in enumerate(readers[:count]):
            end = start + count // len(readers) + (at < count % len(readers))
            assigned[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(assigned)


def _sort_key(member_id: str, member: MemberSpec) -> tuple[bool, str]:
    if member.instance_id is not None:
        return False, member.instance_id
    return True, member_id
