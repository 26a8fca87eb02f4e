"""Which broker leads a partition, or coordinates a group or a transactional id, as the cluster says.

A result is kept until a client asks for it again by Metadata or FindCoordinator, as clients do when a broker answers
that it is the wrong one. Without a result the request goes to any broker, which answers with the right error.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeAlias
from uuid import UUID

from ...client.errors import ClientError
from ...client.operation import Coordinator, Operation, ask
from ...network.admission.remembered_names import RememberedNames
from ...network.turn import Turn
from ...protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from ..upstream_logins import UpstreamLogin
from .route import LeaderTarget, Target

MOST_TOPICS = 10_000
MOST_COORDINATORS = 10_000
NAMED_BY_ID = 12
"""The version of Metadata from which a topic may be asked for by its id."""
NOT_CREATED = 4
"""The version of Metadata from which a client may forbid that a topic is created."""
Topic: TypeAlias = str | UUID
Login: TypeAlias = UpstreamLogin | None
"""None: the gateway's own."""
RunAs: TypeAlias = Callable[[Operation[Any], Login], Awaitable[Any]]


class BrokerLocator:
    """`run` runs an operation with a login, which needs the rights to see the topic or group. `learn` takes each
    Metadata answer."""

    def __init__(self, run: RunAs, learn: Callable[[MetadataResponse], None]) -> None:
        self._run = run
        self._learn = learn
        self._leaders: dict[Topic, dict[int, int]] = {}
        self._coordinators: RememberedNames[tuple[str, str], int] = RememberedNames(MOST_COORDINATORS)
        self._lookups: dict[tuple[Topic | Coordinator, str], asyncio.Task[None]] = {}

    async def find_brokers(self, targets: Iterable[Target], turn: Turn, login: Login) -> dict[Target, int | None]:
        """As `find_broker`, for each target; a missing topic is looked up once for all of its partitions."""
        found: dict[Target, int | None] = {}
        missing: set[Topic] = set()
        for target in targets:
            await turn.next()
            if target in found:
                continue
            is_missing = isinstance(target, LeaderTarget) and target.topic in missing
            found[target] = None if is_missing else await self.find_broker(target, login)
            if isinstance(target, LeaderTarget) and target.topic not in self._leaders:
                missing.add(target.topic)
        return found

    async def find_broker(self, target: Target, login: Login) -> int | None:
        """The id of the broker of a target, None for any."""
        if isinstance(target, LeaderTarget):
            if target.topic not in self._leaders:
                await self._join_or_start_lookup(target.topic, login, self._look_up_topic(target.topic, login))
            leader = self._leaders.get(target.topic, {}).get(target.partition, -1)
            return leader if leader >= 0 else None
        if isinstance(target, Coordinator):
            names = _key_of_coordinator(target)
            if self._coordinators.get(names) is None:
                await self._join_or_start_lookup(target, login, self._look_up_coordinator(target, login))
            return self._coordinators.get(names)
        return target

    def forget_topics(self, topics: Iterable[Topic] | None) -> None:
        """Forgets the leaders of these topics; None: of all."""
        if topics is None:
            self._leaders.clear()
            return
        for each in topics:
            self._leaders.pop(each, None)

    def forget_coordinators(self, coordinators: Iterable[Coordinator]) -> None:
        for each in coordinators:
            self._coordinators.pop(_key_of_coordinator(each))

    async def _join_or_start_lookup(
        self, what: Topic | Coordinator, login: Login, look_up: Coroutine[Any, Any, None]
    ) -> None:
        """Waits for a running look-up of the same login, or starts one."""
        key = (what, "" if login is None else login.name)
        task = self._lookups.get(key)
        if task is None:
            task = self._lookups[key] = asyncio.create_task(look_up)
            task.add_done_callback(lambda _: self._lookups.pop(key, None))
        else:
            look_up.close()
        await asyncio.shield(task)

    async def _look_up_topic(self, topic: Topic, login: Login) -> None:
        asked = (
            MetadataRequestTopic(name=topic)
            if isinstance(topic, str)
            else MetadataRequestTopic(name=None, topic_id=topic)
        )
        least = NOT_CREATED if isinstance(topic, str) else NAMED_BY_ID
        request = MetadataRequest(topics=(asked,), allow_auto_topic_creation=False)
        try:
            response: MetadataResponse = await self._run(ask(request, within=(least, NAMED_BY_ID)), login)
        except ClientError:
            return
        self._learn(response)
        for found in response.topics:
            if not found.error_code:
                leaders = {each.partition_index: each.leader_id for each in found.partitions}
                if len(self._leaders) >= MOST_TOPICS:
                    del self._leaders[next(iter(self._leaders))]
                self._leaders[topic] = leaders

    async def _look_up_coordinator(self, target: Coordinator, login: Login) -> None:
        request = FindCoordinatorRequest(key=target.name, key_type=target.key_type)
        try:
            response: FindCoordinatorResponse = await self._run(ask(request, within=(1, 3)), login)
        except ClientError:
            return
        if not response.error_code:
            self._coordinators.put(_key_of_coordinator(target), response.node_id)


def _key_of_coordinator(target: Coordinator) -> tuple[str, str]:
    return target.name, str(target.key_type)
