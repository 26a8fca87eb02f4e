"""Two brokers asked the same at the same time: their answers are compared once names that each makes are translated.

An actor is a connection to each. Where one broker lets it wait, as after a JoinGroup, the other has to do so too.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self
from uuid import UUID

from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.end_txn import EndTxnRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.schema import schema_of

from .client import RawClient
from .deadline import DEADLINE_S

NOT_YET = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)

PARKED_S = 0.05  # no answer from either for so long,
PINGS = 30  # nor while so many other requests are answered: both wait for something to happen
SETTLE_S = 0.005
OWN_NUMBERS = ("producer_id", "session_id")
MADE_NAME = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Differs(AssertionError):
    """What one broker said and the other did not."""


class Unknowable(Exception):
    """Kafka chose by chance, or failed in itself: nothing that comes after can be compared."""


@dataclass(frozen=True, slots=True)
class Name:
    """Stands in requests for what each broker calls by a name, or number, of its own."""

    text: str


@dataclass(kw_only=True)
class Side:
    """One of the brokers, and what it calls things."""

    host: str
    port: int
    groups: Sequence[str] = ()  # what others there are is left out of lists
    values: dict[str, Any] = field(default_factory=dict)
    clients: list[RawClient] = field(default_factory=list)
    last: Any = None  # the answer that came last, as it came

    @classmethod
    def at(cls, address: str) -> Self:
        host, _, port = address.rpartition(":")
        return cls(host=host, port=int(port))

    async def ping(self) -> None:
        await self.clients[-1].send(ApiVersionsRequest(), 0)

    async def connect(self, count: int) -> None:
        """For so many actors, and for pings."""
        for number in range(count + 1):
            self.clients.append(await RawClient.connect(self.host, self.port, client_id=f"actor-{number}"))

    async def close(self) -> None:
        for client in self.clients:
            await client.close()

    def spoken(self, value: Any) -> Any:
        """The request with this side's own values for the names in it."""
        if isinstance(value, Name):
            return self.values[value.text]
        if hasattr(type(value), "__schema__"):
            return replace(value, **{part.name: self.spoken(getattr(value, part.name)) for part in fields(value)})
        if isinstance(value, list | tuple):
            return [self.spoken(item) for item in value]
        return value

    def heard(self, value: Any, left_out: frozenset[str]) -> Any:
        """The answer as plain values, with the common names for this side's; lists are ordered by content."""
        if hasattr(type(value), "__schema__"):
            names = (part.name for part in schema_of(type(value)).fields if part.name not in left_out)
            return {name: self._of_field(name, getattr(value, name), left_out) for name in names}
        if isinstance(value, list | tuple):
            items = _merged([self.heard(item, left_out) for item in value if not self._foreign(item)])
            return sorted(items, key=lambda item: json.dumps(item, sort_keys=True, default=str))
        if isinstance(value, memoryview):
            return bytes(value).hex()
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, str | UUID):
            return self._common(value)
        return value

    def _of_field(self, name: str, value: Any, left_out: frozenset[str]) -> Any:
        return self._common(value) if name in OWN_NUMBERS else self.heard(value, left_out)

    def _common(self, value: Any) -> Any:
        for text, own in self.values.items():
            if own == value and type(own) is type(value):
                return f"<{text}>"
        if isinstance(value, UUID):
            return "<new>" if value.int else value
        return MADE_NAME.sub("<new>", value) if isinstance(value, str) else value

    def _foreign(self, item: Any) -> bool:
        """Whether it is about a group of another walk."""
        return bool(self.groups) and getattr(item, "group_id", self.groups[0]) not in self.groups


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that neither broker has answered yet."""

    what: str
    learns: Mapping[str, str]
    tasks: Sequence[asyncio.Task[Any]]


@dataclass(kw_only=True)
class SideBySide:
    """Asks both sides the same. `learns` maps a name to the field of the answer that tells each side's value for it."""

    sides: tuple[Side, Side]
    left_out: frozenset[str]
    pending: dict[int, Pending] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    async def ask(
        self, actor: int, request: Any, version: int, *, learns: Mapping[str, str] | None = None, may_wait: bool = True
    ) -> Any:
        """The common answer, or None while neither has one, which only requests that `may_wait` do."""
        tasks = []
        for side in self.sides:
            made = side.spoken(request)
            tasks.append(asyncio.create_task(_answer(side.clients[actor], made, version)))
        what = f"{actor}: v{version} {request}"
        self.pending[actor] = Pending(what, learns or {}, tasks)
        await asyncio.wait(tasks, timeout=PARKED_S if may_wait else DEADLINE_S, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(PINGS):
            if any(task.done() for task in tasks):
                break
            await asyncio.gather(*(side.ping() for side in self.sides))
        answer = await self._collect(actor)
        if may_wait:
            await self.settle()
        return answer

    async def close(self) -> None:
        """Hangs up; what still waits is not waited for."""
        for pending in self.pending.values():
            for task in pending.tasks:
                task.cancel()
            await asyncio.gather(*pending.tasks, return_exceptions=True)
        for side in self.sides:
            await side.close()

    async def settle(self) -> None:
        """Collects what has been answered meanwhile."""
        await asyncio.sleep(SETTLE_S)
        for actor in list(self.pending):
            await self._collect(actor)

    async def _collect(self, actor: int) -> Any:
        pending = self.pending[actor]
        if not any(task.done() for task in pending.tasks):
            self.log.append(f"{pending.what} waits")
            return None
        _, late = await asyncio.wait(pending.tasks, timeout=DEADLINE_S)
        if late:
            which, done = ("Kafka", "we do") if pending.tasks[0] in late else ("we", "Kafka does")
            answered = next(task.result() for task in pending.tasks if task not in late)
            raise Differs(self._story(f"{which} do not answer, {done}: {answered}", pending.what))
        del self.pending[actor]
        answers = [task.result() for task in pending.tasks]
        for side, answer in zip(self.sides, answers, strict=True):
            side.last = answer
        for name, field_name in pending.learns.items():
            for side, answer in zip(self.sides, answers, strict=True):
                value = getattr(answer, field_name, None)
                if value not in (None, "", -1, 0) or name.startswith("producer"):
                    side.values.setdefault(name, value)
        theirs, mine = (side.heard(answer, self.left_out) for side, answer in zip(self.sides, answers, strict=True))
        self.log.append(f"{pending.what} -> {theirs}")
        if theirs != mine and _is_unknowable(theirs, mine):
            raise Unknowable
        if theirs != mine:
            raise Differs(self._story("\n".join(differences("", theirs, mine)), pending.what))
        return theirs

    def _story(self, difference: str, what: str) -> str:
        return "\n".join([*self.log[-30:], "", what, difference])


def _merged(items: list[Any]) -> list[Any]:
    """Fetch answers a topic twice where others come between; here it counts once."""
    if not items or not isinstance(items[0], dict) or not items[0].keys() >= {"topic", "topic_id", "partitions"}:
        return items
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item in items:
        entry = found.setdefault((str(item.get("topic")), str(item["topic_id"])), {**item, "partitions": []})
        entry["partitions"] += item["partitions"]
        entry["partitions"].sort(key=lambda part: json.dumps(part, sort_keys=True, default=str))
    return list(found.values())


def differences(path: str, theirs: Any, mine: Any) -> Iterator[str]:
    """A line for each place where they differ."""
    if isinstance(theirs, dict) and isinstance(mine, dict) and theirs.keys() == mine.keys():
        for key in theirs:
            yield from differences(f"{path}.{key}", theirs[key], mine[key])
    elif isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        for index, (one, other) in enumerate(zip(theirs, mine, strict=True)):
            yield from differences(f"{path}[{index}]", one, other)
    elif theirs != mine:
        yield f"{path}: Kafka {theirs}, we {mine}"


def _is_unknowable(theirs: Any, mine: Any) -> bool:
    """Who leads after a leader is gone is a matter of hashes; what Kafka's coordinator trips over it calls -1."""
    if not isinstance(theirs, dict) or not isinstance(mine, dict):
        return False
    return (
        any(theirs.get(name) != mine.get(name) for name in ("leader", "protocol_name"))
        or theirs.get("error_code") == ErrorCode.UNKNOWN_SERVER_ERROR
    )


async def coordinators_ready(side: Side) -> None:
    """Return when groups and transactional ids have a coordinator that answers, and producers get ids."""
    client = side.clients[0]
    probes: tuple[tuple[Any, int], ...] = (
        (InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 0),
        (FindCoordinatorRequest(key="any", key_type=0), 1),
        (HeartbeatRequest(group_id="any", generation_id=1, member_id="none"), 0),
        (FindCoordinatorRequest(key="any", key_type=1), 1),
        (EndTxnRequest(transactional_id="any", producer_id=1, producer_epoch=0, committed=True), 0),
    )
    async with asyncio.timeout(DEADLINE_S):
        for request, version in probes:
            while (await client.send(request, version)).error_code in NOT_YET:
                pass


async def _answer(client: RawClient, request: Any, version: int) -> Any:
    correlation_id = await client.begin(request, version)
    try:
        return await client.finish(request, version, correlation_id)
    except ConnectionError:
        return "hung up"
