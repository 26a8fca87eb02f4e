"""The group member of `stepdown consume --group`: it sends heartbeats and commits between fetches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from ...client.group_member import JOIN_AGAIN, GroupMember, MembershipSettings
from ...client.operation import TopicPartition
from ...client.operations.offsets import committed_offsets
from ...client.operations.partition_leaders import PartitionLeaders
from ..support.command_client import CommandClient
from ..support.failures import CommandFailure

SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 60_000
HEARTBEAT_SECONDS = 3.0
COMMIT_SECONDS = 5.0
TRIES = 100
MENDED_BY_JOINING = frozenset(code.name for code in JOIN_AGAIN)


class GroupMembership:
    """One member. It is in the group between `join` and `leave`.

    Raises: CommandFailure from every method.
    """

    def __init__(self, client: CommandClient, leaders: PartitionLeaders, group: str, topics: Iterable[str]) -> None:
        self._client, self._group = client, group
        membership = MembershipSettings(
            group=group,
            topics=sorted(topics),
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        )
        self._member = GroupMember(membership, leaders)
        self._beat_at = self._committed_at = 0.0
        self._done: dict[TopicPartition, int] = {}
        self.must_join = True

    def join(self) -> dict[TopicPartition, int | None]:
        """Joins, and returns the assigned partitions with the offset that the group has committed, or None."""
        for _ in range(TRIES):
            assigned = self._client.run(self._member.join())
            if assigned is not None:
                self.must_join = False
                self._beat_at = self._committed_at = time.monotonic()
                self._done = self._client.run(committed_offsets(self._group))
                return {topic_partition: self._done.get(topic_partition) for topic_partition in assigned}
        raise CommandFailure(f"group {self._group} keeps rebalancing", "`stepdown groups describe` shows its members.")

    def send_heartbeat_if_due(self) -> None:
        """Sends a heartbeat if three seconds have passed, and sets `must_join` if the group rebalances."""
        now = time.monotonic()
        if now - self._beat_at < HEARTBEAT_SECONDS:
            return
        self._beat_at = now
        self.must_join = not self._client.run(self._member.heartbeat())

    def commit(self, positions: Mapping[TopicPartition, int], *, now: bool = False) -> None:
        """Commits the positions that have changed, if five seconds have passed or with `now`."""
        moment = time.monotonic()
        if not now and moment - self._committed_at < COMMIT_SECONDS:
            return
        self._committed_at = moment
        moved = {each: offset for each, offset in positions.items() if self._done.get(each) != offset}
        if not moved:
            return
        failed = self._client.run(self._member.commit(moved))
        self._done |= {each: offset for each, offset in moved.items() if each not in failed}
        for (topic, partition), error in failed.items():
            if error not in MENDED_BY_JOINING:
                raise CommandFailure(f"the offset of {topic}-{partition} cannot be committed: {error}")
            self.must_join = True

    def leave(self) -> None:
        """Leaves the group, so that the others do not wait for this member."""
        self._client.run(self._member.leave())
