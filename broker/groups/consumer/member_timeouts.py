"""The times within which a member of a consumer group has to act.

    session     to send a heartbeat: group.consumer.session.timeout.ms (a classic member: its own timeout)
    rebalance   to give partitions back: its rebalance timeout
    join, sync  for a classic member, to rejoin when it has to, and to sync after the join: its rebalance timeout

A member whose time runs out is removed (`consumer_group_store.py`).

Source: Kafka 3.9, GroupMetadataManager.
"""

from collections.abc import Callable
from typing import Literal

from ...scheduling.keyed_timers import Timers
from ..group_settings import GroupSettings
from .group import ConsumerGroup
from .member import ConsumerMember, MemberState

Watch = Literal["session", "rebalance", "join", "sync"]
WATCHES: tuple[Watch, ...] = ("session", "rebalance", "join", "sync")

# The group, the member's id, what it failed to do, and within how many milliseconds.
Expired = Callable[[ConsumerGroup, str, str, int], None]


class MemberTimeouts:
    """Keeps the timers of all members. `expired` is called for a member whose time ran out, once for each timer."""

    def __init__(self, settings: GroupSettings, timers: Timers, expired: Expired) -> None:
        self._settings = settings
        self._timers = timers
        self._expired = expired

    def watch_session(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Restarts the member's session timer."""
        timeout_ms = self._settings.consumer_session_timeout_ms
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        self.watch(group, member.member_id, "session", timeout_ms, "was not heard of")

    def watch_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Starts the timer of a member that has to give partitions back; cancels it for any other."""
        key = ("rebalance", group.group_id, member.member_id)
        if member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._timers.cancel(key)
            return
        epoch = member.epoch

        def expire() -> None:
            now = group.members.get(member.member_id)
            if now is not None and now.epoch == epoch:
                self._expired(group, member.member_id, f"stayed at epoch {epoch}", member.rebalance_timeout_ms)

        self._timers.schedule(key, member.rebalance_timeout_ms, expire)

    def watch(self, group: ConsumerGroup, member_id: str, what: Watch, timeout_ms: int, failure: str) -> None:
        self._timers.schedule(
            (what, group.group_id, member_id), timeout_ms, self._make_expiry(group, member_id, failure, timeout_ms)
        )

    def watch_if_not_yet(
        self, group: ConsumerGroup, member_id: str, what: Watch, timeout_ms: int, failure: str
    ) -> None:
        self._timers.schedule_if_absent(
            (what, group.group_id, member_id), timeout_ms, self._make_expiry(group, member_id, failure, timeout_ms)
        )

    def _make_expiry(self, group: ConsumerGroup, member_id: str, failure: str, timeout_ms: int) -> Callable[[], None]:
        return lambda: self._expired(group, member_id, failure, timeout_ms)

    def unwatch(self, group: ConsumerGroup, member_id: str, *what: Watch) -> None:
        for each in what or WATCHES:
            self._timers.cancel((each, group.group_id, member_id))

    def watch_all(self, group: ConsumerGroup) -> None:
        """Starts the timers of a group that was loaded: each member has a whole session."""
        for member in group.members.values():
            self.watch_session(group, member)
            self.watch_revocation(group, member)

    def unwatch_all(self, group: ConsumerGroup) -> None:
        for member_id in group.members:
            self.unwatch(group, member_id)
