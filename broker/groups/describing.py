"""Groups as DescribeGroups and ConsumerGroupDescribe show them."""

from ...protocol.messages import consumer_group_describe as wire
from ...protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from .classic.group import ClassicGroup
from .classic.member import ClassicMember
from .classic.state_table import ClassicGroupState
from .consumer.group import ConsumerGroup
from .consumer.member import Assignment, ConsumerMember
from .migration.group_converter import FindName

CLASSIC_MEMBER = 0
CONSUMER_MEMBER = 1


def describe_classic(group: ClassicGroup, operations: int) -> DescribedGroup:
    """State and members; protocol, metadata and assignments only while the group is Stable."""
    is_stable = group.state is ClassicGroupState.STABLE
    protocol = group.protocol_name if is_stable else None
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=tuple(_describe_classic_member(member, protocol) for member in group.members.values()),
        authorized_operations=operations,
    )


def _describe_classic_member(member: ClassicMember, protocol: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.metadata(protocol),
        member_assignment=b"" if protocol is None else member.assignment,
    )


def describe_unknown_classic(group_id: str, operations: int) -> DescribedGroup:
    """Shows a group that does not exist as Dead."""
    return DescribedGroup(group_id=group_id, group_state=ClassicGroupState.DEAD.value, authorized_operations=operations)


def describe_consumer(
    group: ConsumerGroup, operations: int, default_assignor: str, find_name: FindName
) -> wire.DescribedGroup:
    """State, epochs and members, each with its assignment and its target assignment."""
    return wire.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.choose_assignor(group.members.values()) or default_assignor,
        members=tuple(_describe_consumer_member(group, member, find_name) for member in group.members.values()),
        authorized_operations=operations,
    )


def _describe_consumer_member(group: ConsumerGroup, member: ConsumerMember, find_name: FindName) -> wire.Member:
    return wire.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        subscribed_topic_regex=member.topic_regex or "",
        assignment=_with_topic_names(member.assigned, find_name),
        target_assignment=_with_topic_names(group.target_of(member), find_name),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _with_topic_names(assignment: Assignment, find_name: FindName) -> wire.Assignment:
    """Topics that are gone are left out."""
    named = ((topic_id, find_name(topic_id), partitions) for topic_id, partitions in assignment.items())
    return wire.Assignment(
        topic_partitions=tuple(
            wire.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=tuple(sorted(partitions)))
            for topic_id, name, partitions in named
            if name is not None
        )
    )
