"""How the leader of a classic group deals out partitions by the range assignor (Kafka 3.9, RangeAssignor)."""

from collections.abc import Iterable, Mapping, Sequence

from ..errors import MalformedFrame
from ..messages.join_group import JoinGroupResponseMember
from ..messages.sync_group import SyncGroupRequestAssignment
from .consumer_protocol import ConsumerAssignment, ConsumerTopicPartitions, decode_subscription, encode_assignment

ASSIGNMENT_VERSION = 1


def subscribers_by_topic(members: Iterable[JoinGroupResponseMember]) -> dict[str, list[str]]:
    """The ids of the members that want each topic; who sent no subscription wants none."""
    wanted: dict[str, list[str]] = {}
    for member in members:
        try:
            topics = decode_subscription(member.metadata).topics
        except MalformedFrame:
            topics = ()
        for topic in topics:
            wanted.setdefault(topic, []).append(member.member_id)
    return wanted


def assign_by_range(
    members: Sequence[JoinGroupResponseMember], partition_counts: Mapping[str, int]
) -> tuple[SyncGroupRequestAssignment, ...]:
    """What the leader sends with SyncGroup: an assignment for each member, of nothing too."""
    dealt: dict[str, list[ConsumerTopicPartitions]] = {member.member_id: [] for member in members}
    for topic, subscribers in sorted(subscribers_by_topic(members).items()):
        for member_id, partitions in range_assignment(partition_counts[topic], subscribers).items():
            dealt[member_id].append(ConsumerTopicPartitions(topic=topic, partitions=partitions))
    return tuple(
        SyncGroupRequestAssignment(
            member_id=member_id,
            assignment=encode_assignment(ConsumerAssignment(assigned_partitions=each), ASSIGNMENT_VERSION),
        )
        for member_id, each in dealt.items()
    )


def range_assignment(partitions: int, members: Iterable[str]) -> dict[str, list[int]]:
    """Neighbouring partitions for each member, in the order of their ids; the first ones get what is left over."""
    ordered = sorted(members)
    each, over = divmod(partitions, len(ordered))
    shares, first = {}, 0
    for index, member in enumerate(ordered):
        size = each + (index < over)
        shares[member] = list(range(first, first + size))
        first += size
    return shares
