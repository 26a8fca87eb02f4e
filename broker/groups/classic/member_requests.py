"""Requests of members that have joined a classic group: SyncGroup, Heartbeat, LeaveGroup.

Source: Kafka 3.9, GroupMetadataManager. `state_table.py` has the answer in each state.
"""

import asyncio
from collections.abc import Sequence

from ....protocol.errors import ApiError, ErrorCode
from ....protocol.messages.heartbeat import HeartbeatRequest
from ....protocol.messages.leave_group import MemberIdentity, MemberResponse
from ....protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ..error_mapping import to_group_error
from ..group_record_log import GroupRecordLog
from .group import UNKNOWN_MEMBER, ClassicGroup
from .member import ClassicMember, SyncAnswer
from .rebalance import Rebalancer
from .state_table import HEARTBEAT, SYNC, ClassicGroupState


class MemberRequests:
    """Answers SyncGroup, Heartbeat and LeaveGroup of classic members."""

    def __init__(self, rebalancer: Rebalancer, record_log: GroupRecordLog, store_timeout_ms: int) -> None:
        self._rebalancer = rebalancer
        self._record_log = record_log
        self._store_timeout_ms = store_timeout_ms

    # SyncGroup

    async def sync(self, group: ClassicGroup, request: SyncGroupRequest) -> SyncGroupResponse:
        """Returns the member's assignment, once the leader has sent it. Raises: ApiError."""
        member = self._check_sync(group, request)
        self._rebalancer.end_pending_sync(group, request.member_id)
        if group.state is ClassicGroupState.STABLE:
            return self._sync_response(group, member)
        answer: SyncAnswer = asyncio.get_running_loop().create_future()
        member.answer_sync(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        member.awaiting_sync = answer
        if request.member_id == group.leader_id:
            await self._store_assignment(group, request)
        return await answer

    def _check_sync(self, group: ClassicGroup, request: SyncGroupRequest) -> ClassicMember:
        if group.state is ClassicGroupState.DEAD:
            raise ApiError(f"group {group.group_id} is gone", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        member = group.check_member(request.member_id, request.group_instance_id)
        group.check_generation(request.generation_id)
        for asked, agreed in (
            (request.protocol_type, group.protocol_type),
            (request.protocol_name, group.protocol_name),
        ):
            if asked is not None and agreed is not None and asked != agreed:
                message = f"group {group.group_id} agreed on {agreed}, not {asked}"
                raise ApiError(message, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        refusal = SYNC[group.state]
        if refusal is not None:
            raise ApiError(f"group {group.group_id} is {group.state.value}", refusal)
        return member

    async def _store_assignment(self, group: ClassicGroup, request: SyncGroupRequest) -> None:
        """Stores the leader's assignment, then answers all SyncGroups, unless another rebalance began meanwhile."""
        given = {each.member_id: bytes(each.assignment) for each in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        failure = None
        try:
            stored = self._record_log.append(group.group_id, [group.to_record(assignments)])
            await self._record_log.await_replication(stored, self._store_timeout_ms)
        except ApiError as error:
            self._rebalancer.logger.warn(group.group_id, "its assignment could not be stored: %s", error)
            failure = to_group_error(error)
        if group.state is not ClassicGroupState.COMPLETING_REBALANCE or request.generation_id != group.generation:
            return
        if failure is None:
            self._send_assignments(group, assignments)
        else:
            self._rebalancer.reset_assignments(group, failure)
            self._rebalancer.prepare_rebalance(group, f"{failure.name} while its assignment was stored")

    def _send_assignments(self, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        group.move_to(ClassicGroupState.STABLE, self._rebalancer.now_ms())
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if member.answer_sync(self._sync_response(group, member)):
                self._rebalancer.keep_alive(group, member)

    def _sync_response(self, group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
        )

    # Heartbeat

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest) -> ErrorCode:
        """Returns NONE, or REBALANCE_IN_PROGRESS if the member has to rejoin. Raises: ApiError."""
        if group.state is ClassicGroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        member = group.check_member(request.member_id, request.group_instance_id)
        group.check_generation(request.generation_id)
        answer = HEARTBEAT[group.state]
        if answer is not ErrorCode.UNKNOWN_MEMBER_ID:
            self._rebalancer.keep_alive(group, member)
        return ErrorCode.NONE if answer is None else answer

    # LeaveGroup

    def leave(self, group: ClassicGroup, leaving: Sequence[MemberIdentity]) -> tuple[MemberResponse, ...]:
        """Removes members, then rebalances once. Returns each member's response. Raises: ApiError."""
        if group.state is ClassicGroupState.DEAD:
            raise ApiError(f"group {group.group_id} is gone", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        before = len(group.members)
        responses = tuple(self._leave(group, member) for member in leaving)
        gone = [each.member_id or each.group_instance_id or "" for each in responses if not each.error_code]
        if len(group.members) < before:
            self._rebalancer.rebalance_after_leave(group, "members left: " + ", ".join(gone))
        elif gone:
            self._rebalancer.complete_join_after_pending_leave(group)
        return responses

    def _leave(self, group: ClassicGroup, leaving: MemberIdentity) -> MemberResponse:
        code = ErrorCode.NONE
        try:
            self._remove_member(group, leaving)
        except ApiError as error:
            code = error.code
        return MemberResponse(member_id=leaving.member_id, group_instance_id=leaving.group_instance_id, error_code=code)

    def _remove_member(self, group: ClassicGroup, leaving: MemberIdentity) -> None:
        """Without a member id, finds the static member by its instance id: so an operator removes it."""
        member_id = leaving.member_id
        if member_id in group.pending_members:
            self._rebalancer.cancel_session(group, member_id)
            group.remove_member(member_id)
            return
        if member_id == UNKNOWN_MEMBER:
            member_id = group.static_member_id(leaving.group_instance_id) or UNKNOWN_MEMBER
        member = group.check_member(member_id, leaving.group_instance_id)
        self._rebalancer.logger.log_info(
            group.group_id, "%s leaves (%s)", member_id, leaving.reason or "no reason given"
        )
        self._rebalancer.remove_member(group, member)
