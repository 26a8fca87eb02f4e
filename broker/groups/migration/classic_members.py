"""Members that speak the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup there.

The broker makes their assignments. The member epoch is their generation; there is no leader. A member has to rejoin
when the group has a newer epoch, when it has to give partitions back, and when partitions it waits for are free.
Source: Kafka 3.9, GroupMetadataManager.classicGroupJoinToConsumerGroup and its siblings.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ....protocol.coordinator.consumer_protocol import PROTOCOL_TYPE, ConsumerSubscription, decode_subscription
from ....protocol.errors import ApiError, ErrorCode, MalformedFrame
from ....protocol.messages.heartbeat import HeartbeatRequest
from ....protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ....protocol.messages.leave_group import MemberIdentity, MemberResponse
from ....protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ..caller import Caller
from ..classic.group import UNKNOWN_MEMBER
from ..classic.join import FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP
from ..classic.member import join_error
from ..consumer.changes import ChangeWithResponse, GroupChange
from ..consumer.group import NOT_OWNED, ConsumerGroup
from ..consumer.member import NOTHING, Assignment, ConsumerMember, MemberState, sort_topics
from ..consumer_group_store import ConsumerGroupStore
from .group_converter import GroupConverter, classic_metadata

log = logging.getLogger(__name__)


class ClassicMembersInConsumerGroup:
    """Answers classic members of consumer groups."""

    def __init__(self, consumers: ConsumerGroupStore, converter: GroupConverter) -> None:
        self._consumers = consumers
        self._converter = converter

    # JoinGroup

    def join(self, request: JoinGroupRequest, caller: Caller) -> JoinGroupResponse:
        """Returns the member's generation. Raises: ApiError."""
        return self._consumers.store_and_respond(self.plan_join(request, caller))

    def plan_join(self, request: JoinGroupRequest, caller: Caller) -> ChangeWithResponse[JoinGroupResponse]:
        """Plans the change and the response. It only reads, so any thread may call it. Raises: ApiError."""
        consumers = self._consumers
        group = consumers.get(request.group_id, ErrorCode.UNKNOWN_MEMBER_ID)  # the client then joins again
        member_id = request.member_id or consumers.settings.random_id()
        consumers.check_max_size(group, member_id)
        if not group.supports_classic(request.protocol_type, [each.name for each in request.protocols]):
            message = f"group {group.group_id} does not know a protocol of {member_id}"
            raise ApiError(message, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        is_new = request.member_id == UNKNOWN_MEMBER
        change = GroupChange(group)
        if is_new and request.group_instance_id is None and caller.version >= FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP:
            return ChangeWithResponse(change, lambda: join_error(ErrorCode.MEMBER_ID_REQUIRED, member_id))
        before = self._find_or_make_member(change, member_id, request, is_new=is_new)
        subscription = _decode_subscription(request)
        _check_may_see(subscription.topics, caller)
        after = _apply_request(before, request, subscription, caller)
        owned = self._converter.assignment_by_id(subscription.owned_partitions)
        member = consumers.planner.advance_member(change, before, after, owned, consumers.now_ms(), caller.may_see)

        def finish() -> JoinGroupResponse:
            self._watch_member(group, member)
            return JoinGroupResponse(
                member_id=member.member_id,
                generation_id=member.epoch,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=request.protocols[0].name,
            )

        return ChangeWithResponse(change, finish)

    def _find_or_make_member(
        self, change: GroupChange, member_id: str, request: JoinGroupRequest, *, is_new: bool
    ) -> ConsumerMember:
        group, instance_id = change.group, request.group_instance_id
        present = group.static_member(instance_id)
        if instance_id is None or (is_new and present is None):
            return group.members.get(member_id) or ConsumerMember(member_id=member_id)
        if present is None:
            raise ApiError(f"group {group.group_id} has no member {instance_id}", ErrorCode.UNKNOWN_MEMBER_ID)
        if is_new:
            successor = replace(present, member_id=member_id, epoch=0, previous_epoch=0)
            self._consumers.planner.replace_static_member(change, present, successor)
            forerunner = present.member_id
            change.stored.append(lambda: self._consumers.timeouts.unwatch(group, forerunner))
            return successor
        if present.member_id != member_id:
            message = f"instance {instance_id} of group {group.group_id} is {present.member_id}, not {member_id}"
            raise ApiError(message, ErrorCode.FENCED_INSTANCE_ID)
        return present

    def _watch_member(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        timeouts = self._consumers.timeouts
        timeouts.unwatch(group, member.member_id, "join", "rebalance")
        timeouts.watch_session(group, member)
        timeouts.watch(group, member.member_id, "sync", member.rebalance_timeout_ms, "did not ask for its assignment")

    # SyncGroup and Heartbeat

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest) -> SyncGroupResponse:
        """The assignment of the member. Raises: ApiError."""
        member = self._check_member(group, request.member_id, request.group_instance_id, request.generation_id)
        classic = member.classic
        if classic is None:
            raise RuntimeError("a checked member speaks the classic protocol")
        protocol = classic.supported_protocols[0]
        for asked, agreed in ((request.protocol_type, PROTOCOL_TYPE), (request.protocol_name, protocol.name)):
            if asked is not None and asked != agreed:
                message = f"member {member.member_id} joined with {agreed}, not {asked}"
                raise ApiError(message, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._watch_rejoin(group, member)
            message = f"group {group.group_id} is at epoch {group.epoch}, {member.member_id} has to rejoin"
            raise ApiError(message, ErrorCode.REBALANCE_IN_PROGRESS)
        self._consumers.timeouts.unwatch(group, member.member_id, "sync")
        self._consumers.timeouts.watch_session(group, member)
        return SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=self._converter.encode_assignment(member.assigned, protocol.metadata),
        )

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest) -> ErrorCode:
        """Restarts the member's session; returns whether it may go on or has to rejoin. Raises: ApiError."""
        member = self._check_member(group, request.member_id, request.group_instance_id, request.generation_id)
        self._consumers.timeouts.watch_session(group, member)
        has_to_rejoin = (
            member.epoch < group.epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (member.state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_partitions(group, member))
        )
        if not has_to_rejoin:
            return ErrorCode.NONE
        self._watch_rejoin(group, member)
        return ErrorCode.REBALANCE_IN_PROGRESS

    def _watch_rejoin(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        timeout_ms = member.rebalance_timeout_ms
        self._consumers.timeouts.watch_if_not_yet(group, member.member_id, "join", timeout_ms, "did not rejoin")

    def _check_member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
    ) -> ConsumerMember:
        member = _find_member(group, member_id, instance_id)
        if generation != member.epoch:
            message = f"generation {generation} of {member.member_id}, which is at {member.epoch}"
            raise ApiError(message, ErrorCode.ILLEGAL_GENERATION)
        return member

    # LeaveGroup

    def leave(self, group: ConsumerGroup, leaving: Sequence[MemberIdentity]) -> tuple[MemberResponse, ...]:
        """Removes members. Returns each member's response. Raises: ApiError when the change could not be written."""
        gone: dict[str, ConsumerMember] = {}
        responses = tuple(_leave(group, member, gone) for member in leaving)
        if gone:
            change = GroupChange(group)
            self._consumers.planner.remove_members(change, gone.values())
            self._consumers.store_change(change)
            for member_id in gone:
                self._consumers.timeouts.unwatch(group, member_id)
        return responses


def _leave(group: ConsumerGroup, leaving: MemberIdentity, gone: dict[str, ConsumerMember]) -> MemberResponse:
    code, member_id = ErrorCode.NONE, leaving.member_id
    try:
        member = _find_member(group, member_id, leaving.group_instance_id, by_instance=member_id == UNKNOWN_MEMBER)
        gone[member.member_id] = member
        member_id = member.member_id
    except ApiError as error:
        code = error.code
    return MemberResponse(member_id=member_id, group_instance_id=leaving.group_instance_id, error_code=code)


def _find_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, *, by_instance: bool = False
) -> ConsumerMember:
    """The classic member; `by_instance`: its member id does not matter. Raises: ApiError 25 or 82."""
    member = group.members.get(member_id) if instance_id is None else group.static_member(instance_id)
    if member is None or member.classic is None:
        message = f"group {group.group_id} has no classic member {instance_id or member_id!r}"
        raise ApiError(message, ErrorCode.UNKNOWN_MEMBER_ID)
    if member.member_id != member_id and not by_instance:
        message = f"instance {instance_id} of group {group.group_id} is {member.member_id}, not {member_id}"
        raise ApiError(message, ErrorCode.FENCED_INSTANCE_ID)
    return member


def _waits_for_partitions(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether others still own partitions of the member's target assignment."""
    target: Assignment = group.targets.get(member.member_id, NOTHING)
    return any(
        group.owner_epoch(topic_id, partition) != NOT_OWNED
        for topic_id, partitions in target.items()
        for partition in partitions - member.assigned.get(topic_id, frozenset())
    )


def _decode_subscription(request: JoinGroupRequest) -> ConsumerSubscription:
    try:
        return decode_subscription(request.protocols[0].metadata)
    except MalformedFrame as fault:
        message = f"the subscription of protocol {request.protocols[0].name} cannot be read: {fault}"
        raise ApiError(message, ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from fault


def _check_may_see(topics: Iterable[str], caller: Caller) -> None:
    """Raises: ApiError for a topic that the client may not describe: the broker would assign it."""
    for topic in topics:
        if not caller.may_see(topic):
            raise ApiError(f"DESCRIBE is not allowed on TOPIC {topic}", ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _apply_request(
    member: ConsumerMember, request: JoinGroupRequest, subscription: ConsumerSubscription, caller: Caller
) -> ConsumerMember:
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=sort_topics(subscription.topics),
        client_id=caller.client_id,
        client_host=caller.host,
        classic=classic_metadata(request.session_timeout_ms, request.protocols),
    )
