"""ConsumerGroupHeartbeat: how members of the consumer protocol join, stay, and leave (KIP-848).

    member epoch   0 joins, > 0 goes on, -1 leaves, -2 leaves for now (a static member keeps what it owns)

The answer has an assignment when the request was a full one, or when the member's assignment has changed.
Source: Kafka 3.9, GroupMetadataManager.consumerGroupHeartbeat.
"""

from dataclasses import replace
from typing import Final

from ....protocol.errors import ApiError, ErrorCode
from ....protocol.messages import consumer_group_heartbeat as wire
from ....protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from ..caller import Caller
from ..consumer_group_store import ConsumerGroupStore
from .changes import ChangeWithResponse, GroupChange
from .group import ConsumerGroup
from .member import LEFT_FOR_NOW, Assignment, ConsumerMember, sort_topics

JOINS: Final = 0
LEAVES: Final = -1
NOT_GIVEN: Final = -1
FIRST_VERSION_WITH_OWN_MEMBER_ID: Final = 1


class ConsumerHeartbeats:
    """Answers ConsumerGroupHeartbeat requests."""

    def __init__(self, consumers: ConsumerGroupStore) -> None:
        self._consumers = consumers
        self._settings = consumers.settings

    def heartbeat(self, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> ConsumerGroupHeartbeatResponse:
        """Returns the response to the member. Raises: ApiError."""
        self.ensure_valid(request, caller.version)
        if request.member_epoch in (LEAVES, LEFT_FOR_NOW):
            return self._leave(request)
        return self._consumers.store_and_respond(self.plan_heartbeat(request, caller))

    # Requests that make no sense

    def ensure_valid(self, request: ConsumerGroupHeartbeatRequest, version: int) -> None:
        """Raises: ApiError for a request that makes no sense."""
        fault = _find_fault(request, version)
        if fault is not None:
            raise ApiError(fault, ErrorCode.INVALID_REQUEST)
        assignor = request.server_assignor
        if assignor is not None and assignor not in self._settings.assignors:
            offered = ", ".join(self._settings.assignors)
            raise ApiError(f"there is no assignor {assignor!r}, only {offered}", ErrorCode.UNSUPPORTED_ASSIGNOR)

    # Members that stay

    def plan_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, caller: Caller
    ) -> ChangeWithResponse[ConsumerGroupHeartbeatResponse]:
        """Plans the change and the response for a valid request of a member that stays. It only reads, so any thread
        may call it. Raises: ApiError."""
        consumers = self._consumers
        joins = request.member_epoch == JOINS
        change = consumers.begin_change(request.group_id, may_create=joins)
        consumers.check_max_size(change.group, request.member_id)
        owned = _partitions_of(request)
        before = self._find_or_make_member(change, request, owned, joins=joins)
        after = _apply_request(before, request, caller)
        member = consumers.planner.advance_member(change, before, after, owned, consumers.now_ms(), caller.may_see)
        wants_assignment = joins or _is_full_request(request) or member.assigned != before.assigned
        response = ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._settings.consumer_heartbeat_interval_ms,
            assignment=_to_wire_assignment(member.assigned) if wants_assignment else None,
        )

        def finish() -> ConsumerGroupHeartbeatResponse:
            consumers.timeouts.watch_session(change.group, member)
            if member.progress != before.progress:
                consumers.timeouts.watch_revocation(change.group, member)
            return response

        return ChangeWithResponse(change, finish)

    def _find_or_make_member(
        self, change: GroupChange, request: ConsumerGroupHeartbeatRequest, owned: Assignment | None, *, joins: bool
    ) -> ConsumerMember:
        group = change.group
        member_id = request.member_id or self._settings.random_id()
        if request.instance_id is not None:
            return self._find_or_replace_static(change, member_id, request, owned, joins=joins)
        member = group.members.get(member_id)
        if member is None:
            if not joins:
                raise _make_unknown_member_error(group, member_id)
            member = ConsumerMember(member_id=member_id)
        _check_epoch(member, request.member_epoch, owned)
        return member

    def _find_or_replace_static(
        self,
        change: GroupChange,
        member_id: str,
        request: ConsumerGroupHeartbeatRequest,
        owned: Assignment | None,
        *,
        joins: bool,
    ) -> ConsumerMember:
        group = change.group
        present = group.static_member(request.instance_id)
        if joins and present is None:
            return group.members.get(member_id) or ConsumerMember(member_id=member_id)
        if present is None:
            raise _make_unknown_member_error(group, request.instance_id or "")
        if joins:
            if present.epoch != LEFT_FOR_NOW:
                message = f"instance {request.instance_id} of group {group.group_id} is held by {present.member_id}"
                raise ApiError(message, ErrorCode.UNRELEASED_INSTANCE_ID)
            successor = replace(present, member_id=member_id, epoch=0, previous_epoch=0)
            self._consumers.planner.replace_static_member(change, present, successor)
            change.stored.append(lambda: self._consumers.timeouts.unwatch(group, present.member_id))
            return successor
        _check_holder(group, present, member_id)
        _check_epoch(present, request.member_epoch, owned)
        return present

    # Members that go

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        group = self._consumers.get(request.group_id)
        if request.instance_id is None:
            member = group.members.get(request.member_id)
        else:
            member = group.static_member(request.instance_id)
        if member is None:
            raise _make_unknown_member_error(group, request.member_id)
        _check_holder(group, member, request.member_id)
        if request.member_epoch == LEFT_FOR_NOW:
            self._leave_for_now(group, member)
        else:
            self._consumers.logger.log_info(group.group_id, "%s leaves", member.member_id)
            self._consumers.remove_member(group, member)
        return ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)

    def _leave_for_now(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """The member keeps what it owns until its session ends, or its successor comes."""
        self._consumers.logger.log_info(group.group_id, "static member %s leaves and may come back", member.member_id)
        change = GroupChange(group)
        gone = replace(member, epoch=LEFT_FOR_NOW, revoking={})
        change.records.append(gone.assignment_record(group.group_id))
        self._consumers.store_change(change)


def _is_full_request(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the request has all fields: a member sends them again after it lost a response."""
    says_all = request.subscribed_topic_names is not None and request.topic_partitions is not None
    return says_all and request.rebalance_timeout_ms != NOT_GIVEN


def _find_fault(request: ConsumerGroupHeartbeatRequest, version: int) -> str | None:
    """Returns what is wrong with the request, None if nothing is."""
    epoch = request.member_epoch
    if not request.group_id:
        return "the group id is empty"
    if request.instance_id is not None and not request.instance_id.strip():
        return "the instance id is empty"
    if request.rack_id is not None and not request.rack_id.strip():
        return "the rack id is empty"
    if epoch < LEFT_FOR_NOW:
        return f"there is no member epoch {epoch}"
    has_to_have_id = epoch != JOINS or version >= FIRST_VERSION_WITH_OWN_MEMBER_ID
    if has_to_have_id and not request.member_id.strip():
        return "the member id is empty"
    if epoch == JOINS:
        return _find_fault_of_join(request)
    if epoch == LEFT_FOR_NOW and request.instance_id is None:
        return "who leaves for now needs an instance id"
    return None


def _find_fault_of_join(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == NOT_GIVEN:
        return "who joins has to give a rebalance timeout"
    if request.topic_partitions is None or request.topic_partitions:
        return "who joins owns no partitions, and has to say so"
    if not request.subscribed_topic_names and not request.subscribed_topic_regex:
        return "who joins has to subscribe to something"
    return None


def _check_epoch(member: ConsumerMember, epoch: int, owned: Assignment | None) -> None:
    """Takes the previous epoch too if the member owns only what it may: then the last response was lost."""
    if epoch == member.epoch:
        return
    if epoch < member.epoch and epoch == member.previous_epoch and _is_subset(owned, member.assigned):
        return
    message = f"member {member.member_id} is at epoch {member.epoch}, not {epoch}: it has to begin anew"
    raise ApiError(message, ErrorCode.FENCED_MEMBER_EPOCH)


def _check_holder(group: ConsumerGroup, member: ConsumerMember, member_id: str) -> None:
    if member.member_id != member_id:
        message = f"instance {member.instance_id} of group {group.group_id} is {member.member_id} now, not {member_id}"
        raise ApiError(message, ErrorCode.FENCED_INSTANCE_ID)


def _is_subset(owned: Assignment | None, assigned: Assignment) -> bool:
    return owned is not None and all(
        partitions <= assigned.get(topic_id, frozenset()) for topic_id, partitions in owned.items()
    )


def _make_unknown_member_error(group: ConsumerGroup, member_id: str) -> ApiError:
    return ApiError(f"group {group.group_id} has no member {member_id!r}", ErrorCode.UNKNOWN_MEMBER_ID)


def _apply_request(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> ConsumerMember:
    """The member with the fields that the request sets; the others stay."""
    topics, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=request.instance_id or member.instance_id,
        rack_id=request.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == NOT_GIVEN else timeout_ms,
        assignor=request.server_assignor or member.assignor,
        topics=member.topics if topics is None else sort_topics(topics),
        topic_regex=member.topic_regex if pattern is None else pattern or None,
        client_id=caller.client_id,
        client_host=caller.host,
        classic=None,
    )


def _partitions_of(request: ConsumerGroupHeartbeatRequest) -> Assignment | None:
    if request.topic_partitions is None:
        return None
    return {each.topic_id: frozenset(each.partitions) for each in request.topic_partitions}


def _to_wire_assignment(assigned: Assignment) -> wire.Assignment:
    return wire.Assignment(
        topic_partitions=tuple(
            wire.TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in assigned.items()
        )
    )
