"""Membership of a classic consumer group: join, sync, heartbeat, commit, leave, one request at a time.

The leader deals out partitions as Kafka's range assignor does, so a group may also have Java consumers of the defaults.
Heartbeats are sent between fetches. Source: KIP-62, KIP-394; Kafka 3.9, ConsumerCoordinator and RangeAssignor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...config import HostPort
from ...protocol.api import ApiKey
from ...protocol.coordinator.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerSubscription,
    decode_assignment,
    encode_subscription,
)
from ...protocol.coordinator.range_assignor import assign_by_range, subscribers_by_topic
from ...protocol.errors import ErrorCode, MalformedFrame, error_name
from ...protocol.messages.find_coordinator import FindCoordinatorRequest
from ...protocol.messages.heartbeat import HeartbeatRequest
from ...protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ...protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from ...protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ...protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ..support.broker_client import BrokerClient
from ..support.committed_offsets import committed
from ..support.failures import CommandFailed
from ..support.partition_leaders import PartitionLeaders, TopicPartition

RANGE = "range"
SUBSCRIPTION_VERSION = 1
SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 60_000
ANSWER_SECONDS = 330.0
"""Others in the group may take Java's five minutes to join again."""
HEARTBEAT_SECONDS = 3.0
COMMIT_SECONDS = 5.0
SEVERAL_KEYS_FROM, SEVERAL_MEMBERS_FROM = 4, 3
NO_GENERATION = -1
TRIES = 100
PAUSE_SECONDS = 0.1
MEMBER_GONE = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
JOIN_AGAIN = (*MEMBER_GONE, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS)
COORDINATOR_GONE = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class GroupMembership:
    """One member. It is in the group between `join` and `leave`.

    Raises: CommandFailed from every method.
    """

    def __init__(self, entry: BrokerClient, leaders: PartitionLeaders, group: str, topics: Iterable[str]) -> None:
        self._entry, self._leaders, self._group, self._topics = entry, leaders, group, sorted(topics)
        self._client: BrokerClient | None = None
        self._member_id, self._generation = "", NO_GENERATION
        self._beat_at = self._committed_at = 0.0
        self._done: dict[TopicPartition, int] = {}
        self.must_join = True

    def join(self) -> dict[TopicPartition, int | None]:
        """The partitions that are this member's now, with the offset that the group committed, or None."""
        for _ in range(TRIES):
            answer = self._ask(ApiKey.JOIN_GROUP, lambda version: self._join_request())
            self._member_id = answer.member_id or self._member_id
            if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                continue
            if not self._is_accepted(answer.error_code):
                continue
            self._generation = answer.generation_id
            synced = self._sync(answer)
            if self._is_accepted(synced.error_code):
                return self._joined(synced.assignment)
        raise CommandFailed(f"group {self._group} keeps rebalancing", "`stepdown groups describe` shows its members.")

    def heartbeat(self) -> None:
        """Tells the group that the member lives, if it is time; `must_join` says when the group is being dealt anew."""
        now = time.monotonic()
        if now - self._beat_at < HEARTBEAT_SECONDS:
            return
        self._beat_at = now
        request = HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._member_id)
        answer = self._ask(ApiKey.HEARTBEAT, lambda version: request)
        self.must_join = not self._is_accepted(answer.error_code)

    def commit(self, positions: Mapping[TopicPartition, int], *, now: bool = False) -> None:
        """Commits what has moved, every five seconds or `now`."""
        moment = time.monotonic()
        if not now and moment - self._committed_at < COMMIT_SECONDS:
            return
        self._committed_at = moment
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, partition), offset in positions.items():
            if self._done.get((topic, partition)) != offset:
                entry = OffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offset, committed_metadata=""
                )
                by_topic.setdefault(topic, []).append(entry)
        if not by_topic:
            return
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member_id,
            topics=tuple(OffsetCommitRequestTopic(name=name, partitions=each) for name, each in by_topic.items()),
        )
        answer = self._ask(ApiKey.OFFSET_COMMIT, lambda version: request)
        for topic in answer.topics:
            for each in topic.partitions:
                if each.error_code == ErrorCode.REBALANCE_IN_PROGRESS or self._is_accepted(each.error_code):
                    self._done[topic.name, each.partition_index] = positions[topic.name, each.partition_index]
                else:
                    self.must_join = True

    def leave(self) -> None:
        """The others need not wait for this member any more."""
        if self._client is None or not self._member_id:
            return

        def request(version: int) -> LeaveGroupRequest:
            if version < SEVERAL_MEMBERS_FROM:
                return LeaveGroupRequest(group_id=self._group, member_id=self._member_id)
            return LeaveGroupRequest(group_id=self._group, members=(MemberIdentity(member_id=self._member_id),))

        self._client.call(ApiKey.LEAVE_GROUP, request)
        self._client.close()

    def _join_request(self) -> JoinGroupRequest:
        subscription = encode_subscription(ConsumerSubscription(topics=self._topics), SUBSCRIPTION_VERSION)
        return JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=(JoinGroupRequestProtocol(name=RANGE, metadata=subscription),),
        )

    def _sync(self, joined: Any) -> Any:
        assignments: tuple[SyncGroupRequestAssignment, ...] = ()
        if joined.leader == self._member_id and not joined.skip_assignment:
            assignments = self._assign(joined.members)
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self._generation,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=RANGE,
            assignments=assignments,
        )
        return self._ask(ApiKey.SYNC_GROUP, lambda version: request)

    def _joined(self, assignment: bytes) -> dict[TopicPartition, int | None]:
        self.must_join = False
        self._beat_at = self._committed_at = time.monotonic()
        try:
            assigned = decode_assignment(bytes(assignment)).assigned_partitions
        except MalformedFrame as fault:
            raise CommandFailed(f"the leader of group {self._group} sent no assignment: {fault}") from fault
        topic_partitions = [(each.topic, partition) for each in assigned for partition in each.partitions]
        self._done = committed(self._coordinator(), self._group)
        return {topic_partition: self._done.get(topic_partition) for topic_partition in topic_partitions}

    def _assign(self, members: Sequence[Any]) -> tuple[SyncGroupRequestAssignment, ...]:
        return assign_by_range(members, self._leaders.refresh(subscribers_by_topic(members)))

    def _is_accepted(self, code: int) -> bool:
        """Whether there was no error; False for one that joining again mends."""
        if code in MEMBER_GONE:
            self._member_id, self._generation = "", NO_GENERATION
        if code and code not in JOIN_AGAIN:
            raise CommandFailed(
                f"group {self._group}: {error_name(code)}", "`stepdown groups describe` shows its state."
            )
        return not code

    def _ask(self, key: ApiKey, make_request: Callable[[int], Any]) -> Any:
        """The coordinator's answer; looks for the coordinator again while it is not there."""
        for left in reversed(range(TRIES)):
            answer = self._coordinator().call(key, make_request)
            if getattr(answer, "error_code", 0) not in COORDINATOR_GONE or not left:
                return answer
            self._forget_coordinator()
            time.sleep(PAUSE_SECONDS)
        raise AssertionError("the last try returns")

    def _coordinator(self) -> BrokerClient:
        if self._client is None:
            self._client = self._entry.another(self._find_coordinator(), ANSWER_SECONDS)
        return self._client

    def _forget_coordinator(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _find_coordinator(self) -> HostPort:
        def request(version: int) -> FindCoordinatorRequest:
            if version < SEVERAL_KEYS_FROM:
                return FindCoordinatorRequest(key=self._group)
            return FindCoordinatorRequest(coordinator_keys=(self._group,))

        for left in reversed(range(TRIES)):
            answer = self._entry.call(ApiKey.FIND_COORDINATOR, request)
            found = answer.coordinators[0] if answer.coordinators else answer
            if not found.error_code:
                return HostPort(found.host, found.port)
            if found.error_code not in COORDINATOR_GONE or not left:
                break
            time.sleep(PAUSE_SECONDS)  # the topic of offsets is being created
        raise CommandFailed(f"group {self._group} has no coordinator: {error_name(found.error_code)}")
