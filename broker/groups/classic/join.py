"""JoinGroup to a classic group: who is let in, who has to come back with a member id, and who is answered at once.

A client of JoinGroup v4 and later is first told its member id (KIP-394), so that a join whose answer is lost leaves no
member behind. Older clients and static members (KIP-345) are added at once. Source: Kafka 3.9, GroupMetadataManager.
"""

import asyncio

from ....protocol.errors import ApiError, ErrorCode
from ....protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from ..caller import Caller
from ..error_mapping import to_group_error
from ..group_record_log import GroupRecordLog
from ..group_settings import GroupSettings
from .group import UNKNOWN_MEMBER, ClassicGroup
from .member import ClassicMember, JoinAnswer, join_error
from .rebalance import Rebalancer
from .state_table import ClassicGroupState, Rejoin, decide_rejoin

FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP = 4
FIRST_VERSION_THAT_SKIPS_ASSIGNMENT = 9


def make_completed_answer(response: JoinGroupResponse) -> JoinAnswer:
    answer = make_answer()
    answer.set_result(response)
    return answer


def make_answer() -> JoinAnswer:
    return asyncio.get_running_loop().create_future()


class Joins:
    """Answers JoinGroup requests to classic groups."""

    def __init__(self, settings: GroupSettings, rebalancer: Rebalancer, record_log: GroupRecordLog) -> None:
        self._settings = settings
        self._rebalancer = rebalancer
        self._record_log = record_log

    def join(self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller) -> JoinAnswer:
        """Returns the future of the response: done at once, or when the join phase ends."""
        member_id = request.member_id
        if not self._has_room(group, member_id):
            group.remove_member(member_id)
            return make_completed_answer(join_error(ErrorCode.GROUP_MAX_SIZE_REACHED))
        if group.state is ClassicGroupState.DEAD:
            return make_completed_answer(join_error(ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id))
        if not group.supports_protocols(request.protocol_type, request.protocols):
            return make_completed_answer(join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id))
        if member_id == UNKNOWN_MEMBER:
            return self._join_without_id(group, request, caller)
        return self._join_with_id(group, request, caller)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether the member may join. In the join phase only members that have rejoined count: if the group is too
        large, those that rejoin last are refused.
        """
        member = group.members.get(member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            is_waiting = member is not None and member.awaiting_join is not None
            return is_waiting or group.waiting_join_count < self._settings.max_size
        if group.state in (ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE):
            return member is not None or len(group.members) < self._settings.max_size
        return True

    # Without a member id

    def _join_without_id(self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller) -> JoinAnswer:
        instance_id = request.group_instance_id
        new_id = f"{caller.client_id if instance_id is None else instance_id}-{self._settings.random_id()}"
        if instance_id is not None and group.static_member_id(instance_id) is not None:
            return self._replace_static_member(group, request, caller, new_id)
        if instance_id is None and caller.version >= FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP:
            self._rebalancer.add_pending_member(group, new_id, request.session_timeout_ms)
            return make_completed_answer(join_error(ErrorCode.MEMBER_ID_REQUIRED, new_id))
        return self._add(group, request, caller, new_id)

    def _add(self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, member_id: str) -> JoinAnswer:
        member = ClassicMember(
            member_id,
            instance_id=request.group_instance_id,
            client_id=caller.client_id,
            client_host=caller.host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=request.protocols,
        )
        member.is_new = True
        group.joined_since_delay = True
        answer = make_answer()
        group.add_member(member, request.protocol_type, answer)
        self._rebalancer.start_new_member_session(group, member)
        self._rebalancer.rebalance_after_join(group, f"{member_id} joins{_reason_text(request)}")
        return answer

    def _replace_static_member(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, new_id: str
    ) -> JoinAnswer:
        """Gives a static member that came back without its member id a new one, if possible without a rebalance."""
        old_id = group.static_member_id(request.group_instance_id) or ""
        old_leader = group.leader_id or ""
        instance_id = request.group_instance_id or ""
        self._rebalancer.logger.log_info(group.group_id, "static member %s rejoined as %s", instance_id, new_id)
        self._rebalancer.cancel_session(group, old_id)
        member = group.replace_static_member(request.group_instance_id or "", new_id)
        self._rebalancer.keep_alive(group, member)
        before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        answer = make_answer()
        group.update_member(member, request, answer)
        if group.state is not ClassicGroupState.STABLE:
            self._rebalancer.rebalance_after_join(group, f"static member {new_id} joins{_reason_text(request)}")
        elif group.select_protocol() != group.protocol_name:
            self._rebalancer.prepare_rebalance(
                group, f"static member {new_id} changes the protocol{_reason_text(request)}"
            )
        else:
            self._store_replacement_and_answer(group, member, old_id, old_leader, before, caller)
        return answer

    def _store_replacement_and_answer(
        self,
        group: ClassicGroup,
        member: ClassicMember,
        old_id: str,
        old_leader: str,
        before: tuple[tuple[JoinGroupRequestProtocol, ...], int, int],
        caller: Caller,
    ) -> None:
        """Answers without a rebalance. Before v9 a leader gets its former id as the leader's, and assigns nothing."""
        try:
            self._record_log.append(group.group_id, [group.to_record()])
        except ApiError as error:
            self._rebalancer.logger.warn(
                group.group_id, "static member %s could not be stored: %s", member.member_id, error
            )
            group.answer_join(member, join_error(to_group_error(error), UNKNOWN_MEMBER))
            group.set_protocols(member, before[0])
            _, member.rebalance_timeout_ms, member.session_timeout_ms = before
            self._rebalancer.cancel_session(group, member.member_id)
            self._rebalancer.keep_alive(group, group.replace_static_member(member.instance_id or "", old_id))
            return
        is_leader = group.leader_id == member.member_id
        if caller.version >= FIRST_VERSION_THAT_SKIPS_ASSIGNMENT:
            response = group.join_response(member.member_id, with_members=is_leader, skip_assignment=is_leader)
        else:
            response = group.join_response(member.member_id, with_members=False, leader=old_leader)
        group.answer_join(member, response)

    # With a member id

    def _join_with_id(self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller) -> JoinAnswer:
        member_id = request.member_id
        if member_id in group.pending_members and request.group_instance_id is None:
            return self._add(group, request, caller, member_id)
        try:
            member = group.check_member(member_id, request.group_instance_id)
        except ApiError as error:
            return make_completed_answer(join_error(error.code, member_id))
        is_leader = member_id == group.leader_id
        outcome = decide_rejoin(group.state, is_leader=is_leader, is_unchanged=member.has_protocols(request.protocols))
        if outcome is Rejoin.UNKNOWN:
            return make_completed_answer(join_error(ErrorCode.UNKNOWN_MEMBER_ID, member_id))
        if outcome is Rejoin.SAME_GENERATION:
            return make_completed_answer(group.join_response(member_id, with_members=is_leader))
        answer = make_answer()
        group.update_member(member, request, answer)
        self._rebalancer.rebalance_after_join(group, f"{member_id} rejoins{_reason_text(request)}")
        return answer


def _reason_text(request: JoinGroupRequest) -> str:
    return f" ({request.reason})" if request.reason else ""
