"""`uniform`: all members get equally many partitions, as far as their subscriptions allow, and keep what they had.

    1. Each member keeps those of its partitions that it still subscribes to and that exist.
    2. If all have the same subscription, a member keeps at most its share; those with most keep the odd partitions.
    3. Each free partition goes to the subscriber that has the fewest.
    4. If subscriptions differ, partitions move from members with many to members with few while that evens them out.

Balance comes before stickiness. Source: Kafka 3.9, UniformAssignor; there, which members get the odd partition depends
on the order of a hash map, here it costs no more moves than needed.
"""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace, nlargest
from typing import Final
from uuid import UUID

from ..member import Assignment
from .spec import MemberSpec, has_one_subscription, subscribers_by_topic

Partition = tuple[UUID, int]
Owned = dict[str, set[Partition]]
OfTopic = dict[str, list[Partition]]
Readers = Mapping[UUID, Sequence[str]]
Ranked = tuple[int, str]

MOST_ROUNDS: Final = 16
"""How often all topics are balanced: a few times suffice, unless subscriptions make long chains."""


def assign_uniformly(members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> dict[str, Assignment]:
    """Returns each member's target assignment."""
    owned = _keep_current(members, partitions)
    readers = subscribers_by_topic(members, members, partitions)
    is_even = has_one_subscription(members)
    if is_even:
        _trim_to_share(owned, sum(count for topic_id, count in partitions.items() if readers[topic_id]))
    _assign_free_partitions(owned, readers, partitions)
    if not is_even:
        _balance(owned, readers)
    return {member_id: _as_assignment(owned[member_id]) for member_id in members}


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
        surplus = len(mine) - share - (at < odd)
        if surplus > 0:
            mine.difference_update(nlargest(surplus, mine))


def _assign_free_partitions(owned: Owned, readers: Readers, partitions: Mapping[UUID, int]) -> None:
    """Topics with few subscribers come first, so that members with many topics take what is left."""
    taken = set[Partition]().union(*owned.values())
    last: Sequence[str] = ()
    by_size: list[Ranked] = []
    for topic_id in sorted(partitions, key=lambda each: (len(readers[each]), each.int)):
        if readers[topic_id] is not last:
            last = readers[topic_id]
            by_size = _heap_by_size(owned, last)
        for index in range(partitions[topic_id] if last else 0):
            if (topic_id, index) not in taken:
                size, poorest = by_size[0]
                owned[poorest].add((topic_id, index))
                heapreplace(by_size, (size + 1, poorest))


def _balance(owned: Owned, readers: Readers) -> None:
    """Every move makes the sum of squares smaller. A member keeps more than others if they do not read its topics."""
    by_topic = _group_by_topic(owned)
    for _ in range(MOST_ROUNDS):
        moves = sum(_balance_topic(owned, by_topic.get(topic_id, {}), readers[topic_id]) for topic_id in readers)
        if not moves:
            return


def _group_by_topic(owned: Owned) -> dict[UUID, OfTopic]:
    found: dict[UUID, OfTopic] = {}
    for member_id, partitions in owned.items():
        for partition in sorted(partitions):
            found.setdefault(partition[0], {}).setdefault(member_id, []).append(partition)
    return found


def _balance_topic(owned: Owned, mine: OfTopic, readers: Sequence[str]) -> int:
    """Moves partitions of a topic from readers with many to readers with few; returns how many moved. `mine`: the
    topic's partitions by reader, which change with `owned`."""
    if not readers or max(len(owned[each]) for each in readers) - min(len(owned[each]) for each in readers) < 2:
        return 0
    givers = [(-len(owned[each]), each) for each in readers if mine.get(each)]
    heapify(givers)
    takers = _heap_by_size(owned, readers)
    moved: list[tuple[str, Partition]] = []
    while givers:
        giver, taker = givers[0][1], takers[0][1]
        if -givers[0][0] != len(owned[giver]):  # it took some meanwhile
            heapreplace(givers, (-len(owned[giver]), giver))
        elif takers[0][0] != len(owned[taker]):
            heapreplace(takers, (len(owned[taker]), taker))
        elif len(owned[giver]) - len(owned[taker]) < 2:
            break
        else:
            partition = mine[giver].pop()
            owned[giver].discard(partition)
            owned[taker].add(partition)
            moved.append((taker, partition))
            heapreplace(takers, (len(owned[taker]), taker))
            if mine[giver]:
                heapreplace(givers, (-len(owned[giver]), giver))
            else:
                heappop(givers)
    for taker, partition in moved:
        insort(mine.setdefault(taker, []), partition)
    return len(moved)


def _heap_by_size(owned: Owned, readers: Iterable[str]) -> list[Ranked]:
    """A heap of readers; the one with the fewest partitions comes first."""
    ranked = [(len(owned[each]), each) for each in readers]
    heapify(ranked)
    return ranked


def _as_assignment(owned: Iterable[Partition]) -> Assignment:
    by_topic: dict[UUID, set[int]] = {}
    for topic_id, index in owned:
        by_topic.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in by_topic.items()}
