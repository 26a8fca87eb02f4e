"""`uniform`: all members get equally many partitions, as far as their subscriptions allow, and keep what they had.

    1. Each member keeps those of its partitions that it still subscribes to and that exist.
    2. With one subscription for all, a member keeps at most its share; who has most is first to get the odd one.
    3. What is free goes, partition by partition, to the subscriber that has least.
    4. With different subscriptions, partitions move from who has most to who has least while that makes it more even.

Balance comes before stickiness. Source: Kafka 3.9, UniformAssignor; there, which members get the odd partition depends
on the order of a hash map, here it costs no more moves than needed.
"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from ..member import Assignment
from .spec import MemberSpec, has_one_subscription

Partition = tuple[UUID, int]
Owned = dict[str, set[Partition]]


def assign_uniformly(members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> dict[str, Assignment]:
    """What each member is to own."""
    owned = _keep_current(members, partitions)
    is_even = has_one_subscription(members)
    if is_even:
        _trim_to_share(owned, _readable(members, partitions))
    _hand_out(owned, members, partitions)
    if not is_even:
        _level(owned, members)
    return {member_id: _as_assignment(owned[member_id]) for member_id in members}


def _readable(members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> int:
    """The number of partitions that somebody subscribes to."""
    topics = frozenset[UUID]().union(*(member.topics for member in members.values()))
    return sum(count for topic_id, count in partitions.items() if topic_id in topics)


def _keep_current(members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> Owned:
    taken: set[Partition] = set()
    owned: Owned = {}
    for member_id, member in members.items():
        mine = owned[member_id] = set()
        for topic_id, indexes in member.current.items():
            if topic_id in member.topics:
                mine.update((topic_id, index) for index in indexes if index < partitions.get(topic_id, 0))
        mine -= taken
        taken |= mine
    return owned


def _trim_to_share(owned: Owned, total: int) -> None:
    if not owned:
        return
    share, odd = divmod(total, len(owned))
    for at, member_id in enumerate(sorted(owned, key=lambda each: (-len(owned[each]), each))):
        mine = owned[member_id]
        for partition in sorted(mine, reverse=True)[: max(0, len(mine) - share - (at < odd))]:
            mine.discard(partition)


def _hand_out(owned: Owned, members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> None:
    """Topics with few readers first, so that those who can read anything take what is left."""
    taken = set[Partition]().union(*owned.values())
    readers = {
        topic_id: [member_id for member_id, member in members.items() if topic_id in member.topics]
        for topic_id in partitions
    }
    for topic_id in sorted(partitions, key=lambda each: (len(readers[each]), each.int)):
        for index in range(partitions[topic_id] if readers[topic_id] else 0):
            if (topic_id, index) not in taken:
                poorest = min(readers[topic_id], key=lambda each: (len(owned[each]), each))
                owned[poorest].add((topic_id, index))


def _level(owned: Owned, members: Mapping[str, MemberSpec]) -> None:
    """Every move makes the sum of squares smaller, so it ends."""
    while (move := _find_move(owned, members)) is not None:
        giver, taker, partition = move
        owned[giver].discard(partition)
        owned[taker].add(partition)


def _find_move(owned: Owned, members: Mapping[str, MemberSpec]) -> tuple[str, str, Partition] | None:
    by_size = sorted(owned, key=lambda each: (len(owned[each]), each))
    for giver in reversed(by_size):
        for taker in by_size:
            if len(owned[giver]) - len(owned[taker]) < 2:
                break
            movable = [partition for partition in owned[giver] if partition[0] in members[taker].topics]
            if movable:
                return giver, taker, max(movable)
    return None


def _as_assignment(owned: Iterable[Partition]) -> Assignment:
    by_topic: dict[UUID, set[int]] = {}
    for topic_id, index in owned:
        by_topic.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in by_topic.items()}
