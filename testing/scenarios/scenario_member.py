"""A member of a classic consumer group on a given clock: it joins, heartbeats, works and leaves, and reads nothing.

Its settings have the names and defaults of Kafka's consumer: `group.id`, `group.instance.id`, `session.timeout.ms`,
`heartbeat.interval.ms`, `max.poll.interval.ms`; and `topics`. Source: Kafka 3.9, AbstractCoordinator; KIP-62, KIP-345.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ...client.async_client import AsyncClient
from ...client.errors import ClientError, KafkaError
from ...client.group_member import GroupMember, MembershipSettings
from ...client.operation import Operation
from ...client.tcp_connect import Connect
from ...config.keys.endpoints import parse_host_port
from ...network.clock import Clock

T = TypeVar("T")
DEFAULTS: Mapping[str, Any] = {
    "group.id": None,
    "topics": None,
    "group.instance.id": None,
    "session.timeout.ms": 45_000,
    "heartbeat.interval.ms": 3_000,
    "max.poll.interval.ms": 300_000,
}
RETRY_MS = 100
FOR_EVER = 1 << 30
SILENCE_S = 1e6  # only the scenario's clock moves: real time must not end a wait


class ScenarioMember:
    """`generation`: of the last assignment. `partitions`: those assigned to this member."""

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Any],
        bootstrap: str,
        clock: Clock,
        tell: Callable[[str], None],
        connect: Connect | None = None,
    ) -> None:
        """Raises: KeyError for an unknown or a missing setting."""
        given = {**DEFAULTS, **settings}
        for key in given:
            if key not in DEFAULTS or (given[key] is None and key != "group.instance.id"):
                raise KeyError(
                    f"{key} of member {name}: there are {', '.join(DEFAULTS)}; group.id and topics are needed"
                )
        self.name, self.group = name, given["group.id"]
        self._heartbeat_ms, self._max_poll_ms = given["heartbeat.interval.ms"], given["max.poll.interval.ms"]
        self._member = GroupMember(
            MembershipSettings(
                group=self.group,
                topics=given["topics"],
                session_timeout_ms=given["session.timeout.ms"],
                rebalance_timeout_ms=self._max_poll_ms,
                instance_id=given["group.instance.id"],
            )
        )
        self._addresses = [parse_host_port(each) for each in bootstrap.split(",")]
        self._clock, self._tell, self._connect = clock, tell, connect
        self._client = self._make_client()
        self._task: asyncio.Task[None] | None = None
        self._busy_since = self._busy_until = 0
        self.partitions: list[str] = []

    @property
    def generation(self) -> int:
        return self._member.generation

    # Actions of a scenario

    def join(self) -> None:
        """Starts a task that joins, and stays in the group until the member leaves or crashes."""
        assert self._task is None, f"{self.name} has joined already"
        self._tell(f"{self.name} joins {self.group}")
        self._task = asyncio.ensure_future(self._run())

    def work(self, for_ms: int) -> None:
        """Simulates handling records for that time: the member sends heartbeats, but does not poll."""
        self._tell(f"{self.name} works for {for_ms} ms without a poll")
        self._busy_since = self._clock.now_ms()
        self._busy_until = self._busy_since + for_ms

    def leave(self) -> None:
        """Leaves as a closing consumer does: a static member stays in the group until its session expires."""
        self._stop_running(f"{self.name} leaves {self.group}")
        self._task = asyncio.ensure_future(self._leave_group())

    def crash(self) -> None:
        """Closes the connection without leaving the group."""
        self._stop_running(f"{self.name} crashes")
        self._reset_membership()

    async def close(self) -> None:
        """Ends the member without leaving the group."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._client.close()

    # The member's loop

    async def _run(self) -> None:
        try:
            while True:
                if await self._try_join():
                    await self._send_heartbeats_until_rejoin()
        except KafkaError as error:
            self._tell(f"{self.name}, {error}")

    async def _leave_group(self) -> None:
        with suppress(ClientError):
            await self._client.run(self._member.leave())
        self._reset_membership()

    def _stop_running(self, why: str) -> None:
        assert self._task is not None, f"{self.name} has not joined"
        self._tell(why)
        self._task.cancel()
        self._task = None

    async def _try_join(self) -> bool:
        """Joins and syncs. Returns whether that succeeded; if not, the caller tries again at once."""
        self.partitions = []
        assigned = await self._retry_until_answered(self._member.join)
        if assigned is None:
            return False
        self.partitions = [f"{topic}-{index}" for topic, index in assigned]
        self._tell(f"{self.name} has {', '.join(self.partitions) or 'nothing'} in generation {self.generation}")
        return True

    async def _send_heartbeats_until_rejoin(self) -> None:
        """Sends heartbeats; returns when the member has to join again and is not busy."""
        must_join = False
        while not must_join or self._is_busy():
            await self._clock.sleep(self._until_next_ms())
            if self._is_busy() and self._clock.now_ms() >= self._busy_since + self._max_poll_ms:
                self._tell(f"{self.name} has not polled for max.poll.interval.ms, {self._max_poll_ms} ms")
                self.partitions = []
                await self._retry_until_answered(self._member.leave)
                await self._clock.sleep(self._busy_until - self._clock.now_ms())
                return
            if self._member.member_id and not await self._retry_until_answered(self._member.heartbeat):
                must_join = True
                self.partitions = self.partitions if self._member.member_id else []

    def _is_busy(self) -> bool:
        return self._clock.now_ms() < self._busy_until

    def _until_next_ms(self) -> int:
        """Returns the ms until the next heartbeat, the end of work, or max.poll.interval.ms, whichever is first."""
        if not self._is_busy():
            return int(self._heartbeat_ms)
        now_ms = self._clock.now_ms()
        next_ms: int = min(now_ms + self._heartbeat_ms, self._busy_until, self._busy_since + self._max_poll_ms)
        return max(0, next_ms - now_ms)

    async def _retry_until_answered(self, operation: Callable[[], Operation[T]]) -> T:
        """Returns the result of the operation; starts it again until a broker answers."""
        while True:
            try:
                return await self._client.run(operation())
            except OSError:
                await self._clock.sleep(RETRY_MS)

    def _make_client(self) -> AsyncClient:
        return AsyncClient(
            self._addresses,
            client_id=self.name,
            timeout_s=SILENCE_S,
            tries=FOR_EVER,
            clock=self._clock,
            connect=self._connect,
        )

    def _reset_membership(self) -> None:
        self._client.close()
        self._client = self._make_client()
        self._task = None
        self._member.forget_member_id()
        self.partitions = []
        self._busy_until = 0
