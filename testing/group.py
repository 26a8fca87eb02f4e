"""A consumer group as a test sees it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..protocol.coordinator.consumer_protocol import assigned_partitions
from ..protocol.errors import ErrorCode
from ..protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from ..protocol.messages.describe_groups import DescribedGroupMember, DescribeGroupsRequest
from .wire_client import KafkaError, WireClient

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member and the partitions it was given."""

    member_id: str
    client_id: str
    partitions: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """`state` is Kafka's: Empty, PreparingRebalance, CompletingRebalance, Assigning, Reconciling, Stable, Dead."""

    name: str
    state: str
    members: Sequence[Member]


def describe_group(wire: WireClient, name: str) -> Group:
    """The group, of either protocol; Dead without members where there is none. Raises: KafkaError, OSError."""
    node = wire.coordinator(name)
    (found,) = wire.call(DescribeGroupsRequest(groups=(name,)), 5, node=node).groups
    if found.error_code and found.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
        raise KafkaError(f"group {name}", found.error_code)
    if found.group_state == "Dead":
        return _of_consumer_protocol(wire, node, name)
    members = [_classic_member(each, found.protocol_type) for each in found.members]
    return Group(name=name, state=found.group_state, members=members)


def _classic_member(member: DescribedGroupMember, protocol_type: str) -> Member:
    partitions = assigned_partitions(protocol_type, member.member_assignment)
    return Member(member_id=member.member_id, client_id=member.client_id, partitions=partitions)


def _of_consumer_protocol(wire: WireClient, node: int, name: str) -> Group:
    (found,) = wire.call(ConsumerGroupDescribeRequest(group_ids=(name,)), node=node).groups
    if found.error_code:
        return Group(name=name, state="Dead", members=())
    members = [
        Member(
            member_id=each.member_id,
            client_id=each.client_id,
            partitions=[
                (part.topic_name, index) for part in each.assignment.topic_partitions for index in part.partitions
            ],
        )
        for each in found.members
    ]
    return Group(name=name, state=found.group_state, members=members)
