"""A member of a classic consumer group, without I/O or clock: join, sync, heartbeat, commit, leave.

The leader assigns partitions as Kafka's range assignor does, so a group may also have Java consumers of the defaults.
A member that joins again gives up its partitions. Source: KIP-62, KIP-345, KIP-394; Kafka 3.9, AbstractCoordinator,
ConsumerCoordinator, RangeAssignor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..protocol.api import ApiKey, spec_of_request
from ..protocol.coordinator.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerSubscription,
    decode_assignment,
    encode_subscription,
)
from ..protocol.coordinator.range_assignor import assign_by_range, subscribers_by_topic
from ..protocol.errors import ErrorCode, MalformedFrame
from ..protocol.messages.heartbeat import HeartbeatRequest
from ..protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from ..protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from ..protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from .errors import KafkaError, MalformedAnswer
from .operation import Ask, Coordinator, Operation, TopicPartition
from .operations.offsets import NO_GENERATION, commit_offsets
from .operations.partition_leaders import PartitionLeaders

RANGE = "range"
SUBSCRIPTION_VERSION = 1
SEVERAL_MEMBERS_FROM = 3  # of LeaveGroup
JOIN_TIMEOUT_S = 330.0
"""Other members may take five minutes to join again, the default in Java."""
JOIN_AGAIN = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.REBALANCE_IN_PROGRESS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipSettings:
    """What a member says when it joins. `instance_id`: of a static member."""

    group: str
    topics: Sequence[str]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    instance_id: str | None = None


class GroupMember:
    """Its operations raise KafkaError for errors that joining again does not fix.

    `generation`: the group's generation in which it got its partitions. `member_id`: "" until the group gives it one.
    """

    def __init__(self, membership: MembershipSettings, leaders: PartitionLeaders | None = None) -> None:
        """`leaders` learns the leaders of the topics that this member assigns as the group's leader."""
        self._membership = membership
        self._leaders = leaders or PartitionLeaders()
        self._to = Coordinator(membership.group, looked_up_first=True)
        self.forget_member_id()

    def forget_member_id(self) -> None:
        """Makes the next `join` that of a new member."""
        self.member_id, self.generation = "", NO_GENERATION

    def join(self) -> Operation[list[TopicPartition] | None]:
        """Joins and syncs; returns the partitions of this member, None if it has to join again at once."""
        joined = yield self._make_ask(self._join_request(), JOIN_TIMEOUT_S)
        self.member_id = joined.member_id or self.member_id
        if not self._check_code("joining", joined.error_code):
            return None
        self.generation = joined.generation_id
        synced = yield self._make_ask((yield from self._sync_request(joined)), JOIN_TIMEOUT_S)
        if not self._check_code("joining", synced.error_code):
            return None
        try:
            assigned = decode_assignment(bytes(synced.assignment)).assigned_partitions
        except MalformedFrame as fault:
            group = self._membership.group
            raise MalformedAnswer(f"the leader of group {group} sent no assignment: {fault}") from fault
        return [(each.topic, partition) for each in assigned for partition in each.partitions]

    def heartbeat(self) -> Operation[bool]:
        """Sends a heartbeat; returns False if the member has to join again."""
        request = HeartbeatRequest(
            group_id=self._membership.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._membership.instance_id,
        )
        answer = yield self._make_ask(request)
        return self._check_code("staying", answer.error_code)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> Operation[dict[TopicPartition, str]]:
        """Commits offsets; returns the errors by partition. A rebalance is no error: the member joins again."""
        outcomes = yield from commit_offsets(
            self._membership.group,
            offsets,
            generation=self.generation,
            member_id=self.member_id,
            is_looked_up=True,
        )
        names = {f"{topic}-{partition}": (topic, partition) for topic, partition in offsets}
        failed = {names[each.name]: each.error for each in outcomes if each.failed and each.name in names}
        if ErrorCode.UNKNOWN_MEMBER_ID.name in failed.values():
            self.forget_member_id()
        return {each: error for each, error in failed.items() if error != ErrorCode.REBALANCE_IN_PROGRESS.name}

    def leave(self) -> Operation[None]:
        """Leaves the group. A static member stays in it until its session times out."""
        member_id, group = self.member_id, self._membership.group
        self.forget_member_id()
        if not member_id or self._membership.instance_id is not None:
            return

        def make_request(version: int) -> LeaveGroupRequest:
            if version < SEVERAL_MEMBERS_FROM:
                return LeaveGroupRequest(group_id=group, member_id=member_id)
            return LeaveGroupRequest(group_id=group, members=(MemberIdentity(member_id=member_id),))

        yield Ask(key=ApiKey.LEAVE_GROUP, make_request=make_request, to=self._to)

    def _make_ask(self, request: Any, timeout_s: float | None = None) -> Ask:
        key = ApiKey(spec_of_request(request).key)
        return Ask(key=key, make_request=lambda version: request, to=self._to, timeout_s=timeout_s)

    def _check_code(self, doing: str, code: int) -> bool:
        """Returns True without an error, False for one that joining again fixes. Raises: KafkaError for others."""
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.forget_member_id()
        if code and code not in JOIN_AGAIN:
            raise KafkaError(f"{doing} group {self._membership.group}", code)
        return not code

    def _join_request(self) -> JoinGroupRequest:
        wanted = self._membership
        subscription = encode_subscription(ConsumerSubscription(topics=sorted(wanted.topics)), SUBSCRIPTION_VERSION)
        return JoinGroupRequest(
            group_id=wanted.group,
            session_timeout_ms=wanted.session_timeout_ms,
            rebalance_timeout_ms=wanted.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=wanted.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=(JoinGroupRequestProtocol(name=RANGE, metadata=subscription),),
        )

    def _sync_request(self, joined: JoinGroupResponse) -> Operation[SyncGroupRequest]:
        assignments: tuple[SyncGroupRequestAssignment, ...] = ()
        if joined.leader == joined.member_id and not joined.skip_assignment:
            counts = yield from self._leaders.refresh_and_count_partitions(sorted(subscribers_by_topic(joined.members)))
            assignments = assign_by_range(joined.members, counts)
        return SyncGroupRequest(
            group_id=self._membership.group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=self._membership.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=RANGE,
            assignments=assignments,
        )
