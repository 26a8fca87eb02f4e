"""The course of a classic rebalance: how long it waits for members, and what happens to those that do not come.

    join phase   an Empty group waits group.initial.rebalance.delay.ms, again if members arrived meanwhile, but never
                 longer than the largest rebalance timeout; any other group waits until all members have
                 joined, or for the largest rebalance timeout
    sync phase   all members must ask for their assignment within the largest rebalance timeout
    session      a member that sends neither heartbeat nor commit is removed, unless a request of it is parked here

Source: Kafka 3.9, GroupMetadataManager.
"""

from collections.abc import Callable

from ....network.admission.remembered_names import RememberedNames
from ....protocol.errors import ApiError, ErrorCode
from ....protocol.plural import describe_duration, plural
from ...scheduling.keyed_timers import Timers
from ..group_logger import GroupLogger
from ..group_record_log import GroupRecordLog
from ..group_settings import GroupSettings
from .group import ClassicGroup
from .member import ClassicMember, join_error, sync_error
from .state_table import ClassicGroupState

MOST_PENDING_MEMBERS = 5_000
"""The most member ids that are handed out and not used yet, at 3 kB each; fewer if names are long. It is enough, since
clients join with them within milliseconds."""


def _session_key(group: ClassicGroup, member_id: str) -> tuple[str, str, str]:
    return "session", group.group_id, member_id


def _join_phase_key(group: ClassicGroup) -> tuple[str, str]:
    return "join phase", group.group_id


def _sync_phase_key(group: ClassicGroup) -> tuple[str, str]:
    return "sync phase", group.group_id


class Rebalancer:
    """Moves classic groups from one generation to the next. `on_unused` is called with groups that nobody joined."""

    def __init__(
        self, settings: GroupSettings, timers: Timers, record_log: GroupRecordLog, logger: GroupLogger
    ) -> None:
        self._settings = settings
        self._timers = timers
        self._record_log = record_log
        self.logger = logger
        self.rebalances = 0
        self.on_unused: Callable[[ClassicGroup], None] = lambda group: None
        self.handed_out: RememberedNames[tuple[str, str], ClassicGroup] = RememberedNames(
            MOST_PENDING_MEMBERS, lambda names, group: self._forget_pending(group, names[1])
        )

    def now_ms(self) -> int:
        return self._timers.now_ms()

    # Sessions

    def keep_alive(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Restarts the member's session timer."""
        self._start_session_timer(group, member.member_id, member.session_timeout_ms)

    def start_new_member_session(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Starts a new member's session timer with the time for a join, as it sends no heartbeats until the answer."""
        self.handed_out.pop((group.group_id, member.member_id))
        self._start_session_timer(group, member.member_id, self._settings.new_member_join_timeout_ms)

    def add_pending_member(self, group: ClassicGroup, member_id: str, session_timeout_ms: int) -> None:
        """Remembers a member id that was handed out; the client has to join with it within the session timeout."""
        group.pending_members.add(member_id)
        self._start_session_timer(group, member_id, session_timeout_ms)
        self.handed_out.put((group.group_id, member_id), group)

    def _forget_pending(self, group: ClassicGroup, member_id: str) -> None:
        """A member that comes back later gets UNKNOWN_MEMBER_ID and joins again."""
        if member_id in group.pending_members:
            self.remove_pending_member(group, member_id)
            if group.is_unused:
                self.on_unused(group)

    def _start_session_timer(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        self._timers.schedule(
            _session_key(group, member_id), timeout_ms, lambda: self._expire_session(group, member_id, timeout_ms)
        )

    def _expire_session(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        member = group.members.get(member_id)
        if member_id in group.pending_members:
            self.logger.log_info(
                group.group_id, f"%s did not come back within {describe_duration(timeout_ms)}", member_id
            )
            self.remove_pending_member(group, member_id)
        elif member is not None and not member.is_alive_without_heartbeat:
            waited = describe_duration(timeout_ms)
            self.logger.log_info(group.group_id, f"%s sent no heartbeat for {waited}, it is removed", member_id)
            self.remove_member(group, member)
            self.rebalance_after_leave(group, f"the session of {member_id} expired")

    # Members that go

    def remove_member(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Removes a member. Its parked requests get UNKNOWN_MEMBER_ID, so that a live client joins again."""
        self._timers.cancel(_session_key(group, member.member_id))
        group.answer_join(member, join_error(ErrorCode.UNKNOWN_MEMBER_ID))
        member.answer_sync(sync_error(ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove_member(member.member_id)

    def remove_pending_member(self, group: ClassicGroup, member_id: str) -> None:
        self.handed_out.pop((group.group_id, member_id))
        self._timers.cancel(_session_key(group, member_id))
        group.remove_member(member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE and group.have_all_joined:
            self.complete_join(group)

    def rebalance_after_leave(self, group: ClassicGroup, reason: str) -> None:
        """After members were removed: begins a rebalance, or ends a join phase that waited only for them."""
        if group.state in (ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE):
            self.prepare_rebalance(group, reason)
        else:
            self.complete_join_after_pending_leave(group)

    def complete_join_after_pending_leave(self, group: ClassicGroup) -> None:
        """Ends a join phase that waited only for members that have left."""
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            self._try_to_complete_join(group)

    def cancel_timers(self, group: ClassicGroup) -> None:
        """Cancels all timers of a group that is gone."""
        self._timers.cancel(_join_phase_key(group))
        self._timers.cancel(_sync_phase_key(group))
        for member_id in (*group.members, *group.pending_members):
            self._timers.cancel(_session_key(group, member_id))
            self.handed_out.pop((group.group_id, member_id))

    def cancel_session(self, group: ClassicGroup, member_id: str) -> None:
        self._timers.cancel(_session_key(group, member_id))

    # The join phase

    def rebalance_after_join(self, group: ClassicGroup, reason: str) -> None:
        """After a member was added or updated: begins a rebalance, or ends a join phase that waited only for it."""
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            self._try_to_complete_join(group)
        else:
            self.prepare_rebalance(group, reason)

    def prepare_rebalance(self, group: ClassicGroup, reason: str) -> None:
        """Begins the join phase."""
        if group.state is ClassicGroupState.COMPLETING_REBALANCE:
            self.reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_syncs.clear()
        self._timers.cancel(_sync_phase_key(group))
        was_empty = group.state is ClassicGroupState.EMPTY
        group.move_to(ClassicGroupState.PREPARING_REBALANCE, self._timers.now_ms())
        self.logger.log_info(group.group_id, "prepares to rebalance after generation %d: %s", group.generation, reason)
        if was_empty:
            group.joined_since_delay = False
            delay = self._settings.initial_rebalance_delay_ms
            self._delay_first_rebalance(group, delay, max(group.rebalance_timeout_ms - delay, 0))
        elif group.have_all_joined:
            self.complete_join(group)
        else:
            self._schedule_join_timeout(group)

    def _delay_first_rebalance(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        def expire() -> None:
            if group.joined_since_delay and remaining_ms > 0:
                group.joined_since_delay = False
                delay = min(self._settings.initial_rebalance_delay_ms, remaining_ms)
                self._delay_first_rebalance(group, delay, max(remaining_ms - delay, 0))
            else:
                self.complete_join(group)

        self._timers.schedule(_join_phase_key(group), delay_ms, expire)

    def _try_to_complete_join(self, group: ClassicGroup) -> None:
        if group.have_all_joined and group.previous_state is not ClassicGroupState.EMPTY:
            self.complete_join(group)

    def _schedule_join_timeout(self, group: ClassicGroup) -> None:
        self._timers.schedule(_join_phase_key(group), group.rebalance_timeout_ms, lambda: self.complete_join(group))

    def complete_join(self, group: ClassicGroup) -> None:
        """Ends the join phase with the members that joined. Absent static members stay until their session expires."""
        self._timers.cancel(_join_phase_key(group))
        for member in [each for each in group.members.values() if each.awaiting_join is None and not each.is_static]:
            self.logger.log_info(group.group_id, "%s did not rejoin in time, it is removed", member.member_id)
            self.remove_member(group, member)
        if group.members and not group.elect_joining_leader():
            self.logger.warn(group.group_id, "no member has rejoined, waiting for another rebalance timeout")
            self._schedule_join_timeout(group)
            return
        group.start_generation(self._timers.now_ms())
        self.rebalances += 1
        if group.members:
            self._answer_joins(group)
        else:
            self.logger.log_info(group.group_id, "empty at generation %d", group.generation)
            self.store_empty_group(group)

    def _answer_joins(self, group: ClassicGroup) -> None:
        self.logger.log_info(
            group.group_id, f"generation %d has {plural(len(group.members), 'member')}", group.generation
        )
        for member in tuple(group.members.values()):
            is_leader = member.member_id == group.leader_id
            group.answer_join(member, group.join_response(member.member_id, with_members=is_leader))
            member.is_new = False
            self.keep_alive(group, member)
            group.pending_syncs.add(member.member_id)
        self._timers.schedule(_sync_phase_key(group), group.rebalance_timeout_ms, lambda: self._expire_sync(group))

    def store_empty_group(self, group: ClassicGroup) -> None:
        """If this fails, a restart loads the generation before, whose members then expire."""
        try:
            self._record_log.append(group.group_id, [group.to_record()])
        except ApiError as error:
            self.logger.warn(group.group_id, "its empty state could not be stored: %s", error)

    # The sync phase

    def end_pending_sync(self, group: ClassicGroup, member_id: str) -> None:
        """Notes that the member asked for its assignment; after the last one the sync phase has no timeout."""
        group.pending_syncs.discard(member_id)
        if not group.pending_syncs:
            self._timers.cancel(_sync_phase_key(group))

    def reset_assignments(self, group: ClassicGroup, code: ErrorCode) -> None:
        """Clears all assignments, and answers the parked SyncGroups with an error."""
        for member in group.members.values():
            member.assignment = b""
            if member.answer_sync(sync_error(code)):
                self.keep_alive(group, member)

    def _expire_sync(self, group: ClassicGroup) -> None:
        late = sorted(group.pending_syncs)
        for member_id in late:
            self.logger.log_info(group.group_id, "%s did not ask for its assignment, it is removed", member_id)
            self._timers.cancel(_session_key(group, member_id))
            group.remove_member(member_id)
        if late:
            self.prepare_rebalance(group, "members did not ask for their assignment: " + ", ".join(late))
