"""A member of a classic consumer group on a given clock: it joins, heartbeats, works and leaves, and reads nothing.

Its settings have the names and defaults of Kafka's consumer: `group.id`, `group.instance.id`, `session.timeout.ms`,
`heartbeat.interval.ms`, `max.poll.interval.ms`; and `topics`. Partitions are dealt out by range, and eagerly: who joins
again gives up what it had. Source: Kafka 3.9, AbstractCoordinator; KIP-62, KIP-345, KIP-394.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...network.clock import Clock
from ...producer.network.connections import Connect
from ...producer.network.tcp import TcpConnect
from ...protocol.coordinator.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerSubscription,
    decode_assignment,
    encode_subscription,
)
from ...protocol.coordinator.range_assignor import assign_by_range, subscribers_by_topic
from ...protocol.errors import ErrorCode
from ...protocol.messages.heartbeat import HeartbeatRequest
from ...protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from ...protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ...protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ..wire_client import KafkaError, check
from .coordinator_client import CoordinatorClient

DEFAULTS: Mapping[str, Any] = {
    "group.id": None,
    "topics": None,
    "group.instance.id": None,
    "session.timeout.ms": 45_000,
    "heartbeat.interval.ms": 3_000,
    "max.poll.interval.ms": 300_000,
}
SUBSCRIPTION_VERSION = 1
LAST_BY_NAME = 9  # of Metadata
NO_GENERATION = -1
JOIN_AGAIN = (
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
)


class GroupMember:
    """`generation` is that of the group when it was last dealt out, `partitions` what this member has of it."""

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Any],
        bootstrap: str,
        clock: Clock,
        tell: Callable[[str], None],
        connect: Connect | None = None,
    ) -> None:
        """Raises: KeyError for a setting that there is not or that is missing."""
        given = {**DEFAULTS, **settings}
        for key in given:
            if key not in DEFAULTS or (given[key] is None and key != "group.instance.id"):
                raise KeyError(
                    f"{key} of member {name}: there are {', '.join(DEFAULTS)}; group.id and topics are needed"
                )
        self.name, self.group = name, given["group.id"]
        self._topics: Sequence[str] = sorted(given["topics"])
        self._instance: str | None = given["group.instance.id"]
        self._session_ms, self._heartbeat_ms = given["session.timeout.ms"], given["heartbeat.interval.ms"]
        self._max_poll_ms = given["max.poll.interval.ms"]
        self._coordinator = CoordinatorClient(bootstrap, self.group, name, clock, connect or TcpConnect())
        self._clock, self._tell = clock, tell
        self._task: asyncio.Task[None] | None = None
        self._member_id = ""
        self._busy_since = self._busy_until = 0
        self.generation = NO_GENERATION
        self.partitions: list[str] = []

    # What a scenario has it do

    def join(self) -> None:
        """It is in the group, or tries to be, until it leaves or crashes."""
        assert self._task is None, f"{self.name} has joined already"
        self._tell(f"{self.name} joins {self.group}")
        self._task = asyncio.ensure_future(self._run())

    def work(self, for_ms: int) -> None:
        """It handles records for so long, and only heartbeats meanwhile."""
        self._tell(f"{self.name} works for {for_ms} ms without a poll")
        self._busy_since = self._clock.now_ms()
        self._busy_until = self._busy_since + for_ms

    def leave(self) -> None:
        """It closes, as a consumer does: a static member stays in the group until its session is over."""
        self._stop_running(f"{self.name} leaves {self.group}")
        self._task = asyncio.ensure_future(self._end())

    def crash(self) -> None:
        """Its connection is gone, and nobody says so to the group."""
        self._stop_running(f"{self.name} crashes")
        self._forget()

    async def close(self) -> None:
        """Ends it without a word."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._coordinator.disconnect()

    # Its life

    async def _run(self) -> None:
        try:
            while True:
                if await self._is_joined():
                    await self._stay()
        except KafkaError as error:
            self._tell(str(error))

    async def _end(self) -> None:
        with suppress(OSError):
            await self._leave_group(self._coordinator.ask_once)
        self._forget()

    def _stop_running(self, why: str) -> None:
        assert self._task is not None, f"{self.name} has not joined"
        self._tell(why)
        self._task.cancel()
        self._task = None

    async def _is_joined(self) -> bool:
        """Whether joining and syncing succeeded; if not, it is to be tried again at once."""
        self.partitions = []
        joined = await self._coordinator.ask(self._join_request())
        if self._has_to_join_again(joined.error_code):
            self._member_id = joined.member_id
            return False
        check(f"{self.name} joins {self.group}", joined)
        self._member_id, self.generation = joined.member_id, joined.generation_id
        synced = await self._coordinator.ask(await self._sync_request(joined))
        if self._has_to_join_again(synced.error_code):
            return False
        check(f"{self.name} syncs with {self.group}", synced)
        assigned = decode_assignment(bytes(synced.assignment)).assigned_partitions
        self.partitions = [f"{each.topic}-{index}" for each in assigned for index in each.partitions]
        self._tell(f"{self.name} has {', '.join(self.partitions) or 'nothing'} in generation {self.generation}")
        return True

    async def _stay(self) -> None:
        """Returns when it has to join again, and has the time to."""
        must_join = False
        while not must_join or self._is_busy():
            await self._clock.sleep(self._until_next_ms())
            if self._is_busy() and self._clock.now_ms() >= self._busy_since + self._max_poll_ms:
                self._tell(f"{self.name} has not polled for max.poll.interval.ms, {self._max_poll_ms} ms")
                await self._leave_group(self._coordinator.ask)
                await self._clock.sleep(self._busy_until - self._clock.now_ms())
                return
            if self._member_id:
                beat = HeartbeatRequest(
                    group_id=self.group,
                    generation_id=self.generation,
                    member_id=self._member_id,
                    group_instance_id=self._instance,
                )
                answer = await self._coordinator.ask(beat)
                if self._has_to_join_again(answer.error_code):
                    must_join = True
                else:
                    check(f"{self.name} in {self.group}", answer)

    def _is_busy(self) -> bool:
        return self._clock.now_ms() < self._busy_until

    def _until_next_ms(self) -> int:
        """To the next heartbeat, or to what happens before."""
        if not self._is_busy():
            return int(self._heartbeat_ms)
        now_ms = self._clock.now_ms()
        next_ms: int = min(now_ms + self._heartbeat_ms, self._busy_until, self._busy_since + self._max_poll_ms)
        return max(0, next_ms - now_ms)

    def _has_to_join_again(self, code: int) -> bool:
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id, self.partitions = "", []
        return code in JOIN_AGAIN

    async def _leave_group(self, ask: Callable[[Any], Awaitable[Any]]) -> None:
        if self._member_id and self._instance is None:
            await ask(LeaveGroupRequest(group_id=self.group, members=(MemberIdentity(member_id=self._member_id),)))
        self._member_id, self.partitions = "", []

    def _forget(self) -> None:
        self._coordinator.disconnect()
        self._task = None
        self._member_id, self.partitions, self.generation = "", [], NO_GENERATION
        self._busy_until = 0

    # Requests

    def _join_request(self) -> JoinGroupRequest:
        subscription = encode_subscription(ConsumerSubscription(topics=self._topics), SUBSCRIPTION_VERSION)
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self._session_ms,
            rebalance_timeout_ms=self._max_poll_ms,
            member_id=self._member_id,
            group_instance_id=self._instance,
            protocol_type=PROTOCOL_TYPE,
            protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription),),
        )

    async def _sync_request(self, joined: JoinGroupResponse) -> SyncGroupRequest:
        assignments: tuple[SyncGroupRequestAssignment, ...] = ()
        if joined.leader == joined.member_id and not joined.skip_assignment:
            assignments = await self._assign(joined)
        return SyncGroupRequest(
            group_id=self.group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=self._instance,
            protocol_type=PROTOCOL_TYPE,
            protocol_name="range",
            assignments=assignments,
        )

    async def _assign(self, joined: JoinGroupResponse) -> tuple[SyncGroupRequestAssignment, ...]:
        return assign_by_range(joined.members, await self._partition_counts(subscribers_by_topic(joined.members)))

    async def _partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        asked = tuple(MetadataRequestTopic(name=name) for name in sorted(topics))
        answer = await self._coordinator.ask(MetadataRequest(topics=asked), LAST_BY_NAME)
        return {topic.name or "": len(topic.partitions) for topic in answer.topics}
