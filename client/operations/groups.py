"""Groups, of the classic and the consumer protocol (KIP-848), with their members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...protocol.api import ApiKey
from ...protocol.coordinator.consumer_protocol import partitions_in_assignment
from ...protocol.errors import ErrorCode, error_name
from ...protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from ...protocol.messages.delete_groups import DeleteGroupsRequest
from ...protocol.messages.describe_groups import DescribeGroupsRequest
from ...protocol.messages.list_groups import ListGroupsRequest
from ..errors import UnsupportedVersion, raise_if_error
from ..operation import Ask, Coordinator, Operation, TopicPartition
from .every_broker import ask_every_broker
from .outcome import Outcome, outcome_of

CONSUMER = "consumer"
DEAD = "Dead"
STATES_FROM = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDescription:
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
    members: Sequence[MemberDescription] = field(default_factory=tuple)


def list_groups(states: Sequence[str] = ()) -> Operation[list[Group]]:
    """The groups of all brokers, or those in one of `states`, by name. Raises: KafkaError."""

    def make_request(version: int) -> ListGroupsRequest:
        if states and version < STATES_FROM:
            raise UnsupportedVersion("this broker is too old to list groups by state")
        return ListGroupsRequest(states_filter=tuple(states))

    found: dict[str, Group] = {}
    for response in (yield from ask_every_broker(ApiKey.LIST_GROUPS, make_request)).values():
        raise_if_error("groups cannot be listed", response)
        for each in response.groups:
            found[each.group_id] = Group(
                name=each.group_id, state=each.group_state, type=each.group_type, protocol=each.protocol_type
            )
    return sorted(found.values(), key=lambda group: group.name)


def describe_groups(names: Sequence[str]) -> Operation[list[Group]]:
    """Groups with their members, in the order of `names`; a group that does not exist is Dead or has an error."""
    found = []
    for name in names:
        group = yield from describe_classic(name)
        if group.state == DEAD or group.error == ErrorCode.GROUP_ID_NOT_FOUND.name:
            modern = yield from _describe_consumer_group(name)
            group = group if modern is None or modern.error else modern
        found.append(group)
    return found


def describe_classic(name: str) -> Operation[Group]:
    """A group by DescribeGroups; Dead if there is no such group of the classic protocol."""
    request = DescribeGroupsRequest(groups=(name,))
    response = yield _ask_coordinator(ApiKey.DESCRIBE_GROUPS, name, request, "groups")
    (found,) = response.groups
    return Group(
        name=found.group_id,
        error=error_name(found.error_code) if found.error_code else "",
        state=found.group_state,
        type="classic",
        protocol=found.protocol_data or found.protocol_type,
        members=[_make_classic_member(member, found.protocol_type) for member in found.members],
    )


def _make_classic_member(member: Any, protocol_type: str) -> MemberDescription:
    partitions = partitions_in_assignment(protocol_type, member.member_assignment)
    return MemberDescription(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        partitions=partitions,
    )


def _describe_consumer_group(name: str) -> Operation[Group | None]:
    """A group by ConsumerGroupDescribe; None if the broker does not know that API."""
    request = ConsumerGroupDescribeRequest(group_ids=(name,))
    try:
        response = yield _ask_coordinator(ApiKey.CONSUMER_GROUP_DESCRIBE, name, request, "groups")
    except UnsupportedVersion:
        return None
    (found,) = response.groups
    return Group(
        name=found.group_id,
        error=error_name(found.error_code) if found.error_code else "",
        state=found.group_state,
        type=CONSUMER,
        protocol=found.assignor_name,
        members=[_make_consumer_member(member) for member in found.members],
    )


def _make_consumer_member(member: Any) -> MemberDescription:
    assigned = member.assignment.topic_partitions
    return MemberDescription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        partitions=[(each.topic_name, partition) for each in assigned for partition in each.partitions],
    )


def delete_groups(names: Sequence[str]) -> Operation[list[Outcome]]:
    """Deletes groups that have no members."""
    outcomes = []
    for name in names:
        response = yield _ask_coordinator(
            ApiKey.DELETE_GROUPS, name, DeleteGroupsRequest(groups_names=(name,)), "results"
        )
        outcomes.append(outcome_of(name, response.results[0]))
    return outcomes


def _ask_coordinator(key: ApiKey, name: str, request: Any, results: str) -> Ask:
    return Ask(
        key=key,
        make_request=lambda version: request,
        to=Coordinator(name),
        error_of=lambda response: getattr(response, results)[0].error_code,
    )
