"""Stores the changes of consumer groups: opens a group for a change, appends the change's records, and applies them.

Members whose time runs out are removed by a change as well (`member_timeouts.py`). A group of the classic protocol is
upgraded when a change of it is opened, and downgraded when only classic members stay.

Source: Kafka 3.9, GroupMetadataManager.
"""

from typing import TypeVar

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.plural import describe_duration, plural
from ..scheduling.keyed_timers import Timers
from .classic.group import ClassicGroup
from .classic.rebalance import Rebalancer
from .consumer.changes import ChangeWithResponse, GroupChange, GroupChangePlanner
from .consumer.group import ConsumerGroup
from .consumer.member import ConsumerMember
from .consumer.member_timeouts import MemberTimeouts
from .error_mapping import to_group_error
from .group_record_log import GroupRecordLog
from .group_registry import GroupRegistry
from .group_settings import GroupSettings
from .migration.group_converter import GroupConverter
from .state.replay import Replay

R = TypeVar("R")
MOST_EXPRESSIONS = 10
"""The most expressions in one group: each is matched with all topics when the group's topics are looked at."""


class ConsumerGroupStore:
    """Changes consumer groups, for requests of both protocols."""

    def __init__(
        self,
        settings: GroupSettings,
        groups: GroupRegistry,
        timers: Timers,
        record_log: GroupRecordLog,
        replay: Replay,
        rebalancer: Rebalancer,
        planner: GroupChangePlanner,
        converter: GroupConverter,
    ) -> None:
        self.settings = settings
        self.planner = planner
        self.timeouts = MemberTimeouts(settings, timers, self._remove_expired_member)
        self._groups = groups
        self._timers = timers
        self._record_log = record_log
        self._replay = replay
        self._rebalancer = rebalancer
        self.logger = rebalancer.logger
        self._converter = converter
        self.rebalances = 0

    def now_ms(self) -> int:
        return self._timers.now_ms()

    # Groups

    def get(self, group_id: str, absent: ErrorCode = ErrorCode.GROUP_ID_NOT_FOUND) -> ConsumerGroup:
        """Returns the consumer group. Raises: ApiError `absent`."""
        group = self._groups.find(group_id)
        if not isinstance(group, ConsumerGroup):
            raise ApiError(f"there is no consumer group {group_id!r}", absent)
        return group

    def expressions_to_match(self, group_id: str, new: str | None) -> set[str]:
        """The expressions that a heartbeat will match: its own, and the group's if it brings one or a refresh is due.

        Raises: ApiError INVALID_REGULAR_EXPRESSION for a new one if the group has `MOST_EXPRESSIONS`.
        """
        found = set()
        group = self._groups.find(group_id)
        if isinstance(group, ConsumerGroup) and (new or group.refresh_at_ms <= self.now_ms()):
            found = {member.topic_regex for member in group.members.values() if member.topic_regex}
        if new and new not in found:
            if len(found) >= MOST_EXPRESSIONS:
                raise ApiError(
                    f"the members of group {group_id} subscribe by {len(found)} expressions, {MOST_EXPRESSIONS} are "
                    "allowed",
                    ErrorCode.INVALID_REGULAR_EXPRESSION,
                )
            found.add(new)
        return found

    def begin_change(self, group_id: str, *, may_create: bool) -> GroupChange:
        """Opens a change of the group, which is new or upgraded from a classic one if need be. Raises: ApiError."""
        group = self._groups.find(group_id)
        if isinstance(group, ConsumerGroup):
            return GroupChange(group)
        if not may_create:
            raise ApiError(f"there is no consumer group {group_id!r}", ErrorCode.GROUP_ID_NOT_FOUND)
        if group is None:
            return GroupChange(ConsumerGroup(group_id))
        if group.is_empty:
            return self._begin_upgrade(group, ConsumerGroup(group_id))
        return self._begin_upgrade(group, self._converter.upgrade(group))

    def _begin_upgrade(self, classic: ClassicGroup, group: ConsumerGroup) -> GroupChange:
        change = GroupChange(group, prelude=[*classic.tombstones(), *self._converter.upgrade_records(group)])

        def release() -> None:
            self._converter.fail_waiting_requests(classic)
            self._rebalancer.cancel_timers(classic)
            for member in group.classic_members():
                self.timeouts.watch_session(group, member)

        change.stored.append(release)
        return change

    def check_max_size(self, group: ConsumerGroup, member_id: str) -> None:
        """Raises: ApiError GROUP_MAX_SIZE_REACHED."""
        if len(group.members) >= self.settings.consumer_max_size and member_id not in group.members:
            message = f"group {group.group_id} has its {plural(self.settings.consumer_max_size, 'member')}"
            raise ApiError(message, ErrorCode.GROUP_MAX_SIZE_REACHED)

    def store_and_respond(self, plan: ChangeWithResponse[R]) -> R:
        """Stores the change and returns the response. Raises: ApiError, with nothing changed."""
        self.store_change(plan.change)
        return plan.finish()

    def store_change(self, change: GroupChange) -> None:
        """Writes the records of a change, then applies them. Raises: ApiError, with nothing changed."""
        group, epoch = change.group, change.group.epoch
        if change.prelude or change.records:
            if not change.encoded:
                change.encode_records()
            try:
                stored = self._record_log.append_encoded_records(group.group_id, change.encoded)
            except ApiError as error:
                raise ApiError(str(error), to_group_error(error)) from error
            self._groups.put(group)
            first_offset = stored.first_offset + len(change.prelude)
            for record_offset, record in enumerate(change.records, first_offset):
                self._replay.apply(record, record_offset)
        if change.refresh_at_ms is not None:
            group.refresh_at_ms = change.refresh_at_ms
        if group.epoch > epoch:
            self.rebalances += 1
            self.logger.log_info(group.group_id, f"epoch %d has {plural(len(group.members), 'member')}", group.epoch)
        for act in change.stored:
            act()

    # Members

    def _remove_expired_member(self, group: ConsumerGroup, member_id: str, failure: str, timeout_ms: int) -> None:
        member = group.members.get(member_id)
        if member is None or self._groups.find(group.group_id) is not group:
            return
        self.logger.log_info(
            group.group_id, f"%s {failure} for {describe_duration(timeout_ms)}, it is removed", member_id
        )
        try:
            self.remove_member(group, member)
        except ApiError as error:
            self.logger.warn(group.group_id, "%s could not be removed: %s", member_id, error)
            self.timeouts.watch_session(group, member)

    def remove_member(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Removes a member. If only classic members stay, the group may become a classic one. Raises: ApiError."""
        if self._converter.is_to_downgrade(group, member):
            self._downgrade(group, member)
            return
        change = GroupChange(group)
        self.planner.remove_members(change, [member])
        change.stored.append(lambda: self.timeouts.unwatch(group, member.member_id))
        self.store_change(change)

    def _downgrade(self, group: ConsumerGroup, leaving: ConsumerMember) -> None:
        classic = self._converter.downgrade(group, leaving, self.now_ms())
        self._record_log.append(group.group_id, [*group.tombstones(), classic.to_record()])
        self.timeouts.unwatch_all(group)
        self._groups.put(classic)
        for member in classic.members.values():
            self._rebalancer.keep_alive(classic, member)
        self._rebalancer.prepare_rebalance(classic, "only members of the classic protocol are left")
