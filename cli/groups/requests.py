"""What the `groups` commands ask of a broker, and the answers as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...protocol.api import ApiKey
from ...protocol.coordinator.consumer_protocol import assigned_partitions
from ...protocol.errors import error_name
from ...protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from ...protocol.messages.delete_groups import DeleteGroupsRequest
from ...protocol.messages.describe_groups import DescribeGroupsRequest
from ...protocol.messages.list_groups import ListGroupsRequest
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ...protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ..support.broker_client import BrokerClient
from ..support.failures import CommandFailed
from ..support.partition_leaders import TopicPartition

CONSUMER = "consumer"
STATES_FROM = 4
EARLIEST, LATEST = -2, -1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """A member and the partitions it owns."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: Sequence[TopicPartition] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group; `error` is a wire code's name, "" for none."""

    name: str
    error: str = ""
    state: str = ""
    type: str = ""
    protocol: str = ""
    members: Sequence[GroupMember] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a change went, of a group or of one of its partitions."""

    name: str
    error: str = ""


def list_groups(client: BrokerClient, states: Sequence[str]) -> list[Group]:
    """All groups, or those in one of `states`, by name."""

    def request(version: int) -> ListGroupsRequest:
        if states and version < STATES_FROM:
            raise CommandFailed("this broker is too old to list groups by state", "Leave --state out.")
        return ListGroupsRequest(states_filter=tuple(states))

    response = client.call(ApiKey.LIST_GROUPS, request)
    if response.error_code:
        raise CommandFailed(f"groups cannot be listed: {error_name(response.error_code)}")
    found = (
        Group(name=each.group_id, state=each.group_state, type=each.group_type, protocol=each.protocol_type)
        for each in response.groups
    )
    return sorted(found, key=lambda group: group.name)


def describe(client: BrokerClient, names: Sequence[str]) -> list[Group]:
    """Groups with their members, in the order of `names`."""
    types = {group.name: group.type for group in list_groups(client, ())}
    classic = [name for name in names if types.get(name) != CONSUMER]
    modern = [name for name in names if types.get(name) == CONSUMER]
    found = {group.name: group for group in (*_describe_classic(client, classic), *_describe_modern(client, modern))}
    return [found[name] for name in names]


def _describe_classic(client: BrokerClient, names: Sequence[str]) -> list[Group]:
    if not names:
        return []
    response = client.call(ApiKey.DESCRIBE_GROUPS, lambda version: DescribeGroupsRequest(groups=tuple(names)))
    return [
        Group(
            name=each.group_id,
            error=error_name(each.error_code) if each.error_code else "",
            state=each.group_state,
            type="classic",
            protocol=each.protocol_data or each.protocol_type,
            members=[_classic_member(member, each.protocol_type) for member in each.members],
        )
        for each in response.groups
    ]


def _classic_member(member: Any, protocol_type: str) -> GroupMember:
    partitions = assigned_partitions(protocol_type, member.member_assignment)
    return GroupMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        partitions=partitions,
    )


def _describe_modern(client: BrokerClient, names: Sequence[str]) -> list[Group]:
    if not names:
        return []
    response = client.call(
        ApiKey.CONSUMER_GROUP_DESCRIBE, lambda version: ConsumerGroupDescribeRequest(group_ids=tuple(names))
    )
    return [
        Group(
            name=each.group_id,
            error=error_name(each.error_code) if each.error_code else "",
            state=each.group_state,
            type=CONSUMER,
            protocol=each.assignor_name,
            members=[_modern_member(member) for member in each.members],
        )
        for each in response.groups
    ]


def _modern_member(member: Any) -> GroupMember:
    assigned = member.assignment.topic_partitions
    return GroupMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        partitions=[(each.topic_name, partition) for each in assigned for partition in each.partitions],
    )


def offsets_at(
    client: BrokerClient, topic_partitions: Iterable[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    """Offset of the first record at or after `timestamp`, -1 where there is none; EARLIEST and LATEST are the ends."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in topic_partitions:
        by_topic.setdefault(topic, []).append(partition)
    if not by_topic:
        return {}
    topics = tuple(
        ListOffsetsTopic(
            name=topic,
            partitions=tuple(ListOffsetsPartition(partition_index=each, timestamp=timestamp) for each in partitions),
        )
        for topic, partitions in by_topic.items()
    )
    response = client.call(ApiKey.LIST_OFFSETS, lambda version: ListOffsetsRequest(replica_id=-1, topics=topics))
    return {
        (topic.name, each.partition_index): each.offset
        for topic in response.topics
        for each in topic.partitions
        if not each.error_code
    }


def partitions_of(client: BrokerClient, topic: str) -> list[TopicPartition]:
    """All partitions of a topic."""
    response = client.call(
        ApiKey.METADATA,
        lambda version: MetadataRequest(topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False),
    )
    found = response.topics[0]
    if found.error_code:
        raise CommandFailed(f"topic {topic}: {error_name(found.error_code)}", "`stepdown topics list` shows them all.")
    return sorted((topic, each.partition_index) for each in found.partitions)


def commit(client: BrokerClient, name: str, offsets: Mapping[TopicPartition, int]) -> list[Outcome]:
    """Commit offsets for a group that has no members."""
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in offsets.items():
        entry = OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata="", committed_leader_epoch=-1
        )
        by_topic.setdefault(topic, []).append(entry)
    topics = tuple(OffsetCommitRequestTopic(name=topic, partitions=each) for topic, each in by_topic.items())
    response = client.call(ApiKey.OFFSET_COMMIT, lambda version: OffsetCommitRequest(group_id=name, topics=topics))
    return [
        Outcome(
            name=f"{topic.name}-{each.partition_index}",
            error=error_name(each.error_code) if each.error_code else "",
        )
        for topic in response.topics
        for each in topic.partitions
    ]


def delete(client: BrokerClient, names: Sequence[str]) -> list[Outcome]:
    """Delete groups that have no members."""
    response = client.call(ApiKey.DELETE_GROUPS, lambda version: DeleteGroupsRequest(groups_names=tuple(names)))
    return [
        Outcome(name=each.group_id, error=error_name(each.error_code) if each.error_code else "")
        for each in response.results
    ]
