"""A broker that answers whatever Kafka 4.4 takes with a response made from its declaration, some of them damaged."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any

from stepdown.gateway.upstream import CLIENT_ID
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.frame import RequestHeader, decode_request_header, encode_response
from stepdown.protocol.kafka_releases import versions_of
from stepdown.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from stepdown.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker

from ..mutations import damaged_batch
from ..running import until
from .generated import by_chance, damaged

RELEASE = "4.4"
BROKERS = range(5)
"""Whose ids are in answers; all of them are at the one port."""
ANSWERS = 3
"""That are made of a version, and then sent again and again."""
CUT = 0.2
RARELY = 0.05
TAKEN = {
    int(key): range(versions.start, min(versions.stop, spec.max_version + 1))
    for key, spec in API.items()
    if (versions := versions_of(RELEASE, key)) and versions.start <= spec.max_version
}


class MutatingCluster:
    """`damage`: the share of answers after which a connection is of no more use. Most of them have bytes changed, and
    it is closed; others are cut, and nothing follows. At 0 it tells the truth of itself.

    `stalled`: connections whose answer was cut, and that are still there; `changed` is set when there are more.
    """

    def __init__(self, random: Random, damage: float) -> None:
        self.damage = damage
        self.port = 0
        self.answers = self.cut = self.stalled = 0
        self.changed = asyncio.Event()
        self._random = random
        self._frames: defaultdict[tuple[int, int], list[bytes]] = defaultdict(list)
        self._writers: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            for writer in self._writers:
                writer.transport.abort()
            await until(lambda: not self._writers)

    def forget(self) -> None:
        """Other answers are made from now on."""
        self._frames.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError, ValueError, MalformedFrame):
                while await self._answer_one(reader, writer):
                    pass
        finally:
            writer.close()
            self._writers.discard(writer)

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether other answers may follow."""
        size = int.from_bytes(await reader.readexactly(4), "big", signed=True)
        header, _ = decode_request_header(memoryview(await reader.readexactly(size)))
        frame = self._frame(header)
        self.answers += 1
        is_damaged = self._random.random() < self.damage * (RARELY if header.api_key == ApiKey.API_VERSIONS else 1)
        if not is_damaged:
            writer.write(frame)
            await writer.drain()
        elif header.client_id != CLIENT_ID and self._random.random() < CUT:
            writer.write(frame[: self._random.randrange(len(frame))])
            await self._stall(reader)
        else:
            writer.write(damaged(self._random, frame))
        return not is_damaged

    async def _stall(self, reader: asyncio.StreamReader) -> None:
        """Returns when the other side has hung up."""
        self.cut += 1
        self.stalled += 1
        self.changed.set()
        try:
            while await reader.read(1 << 16):
                pass
        finally:
            self.stalled -= 1

    def _frame(self, header: RequestHeader) -> bytes:
        """Raises: ValueError for what it does not take."""
        key, version = header.api_key, header.api_version
        if version not in TAKEN.get(key, ()):
            raise ValueError(header)
        made = self._frames[key, version] if self.damage else []
        if len(made) < ANSWERS:
            made.append(self._encode(key, version))
        frame = self._random.choice(made)
        return frame[:4] + header.correlation_id.to_bytes(4, "big", signed=True) + frame[8:]

    def _encode(self, key: int, version: int) -> bytes:
        pieces = encode_response(API[ApiKey(key)], version, 0, self._respond(key, version))
        return b"".join(map(bytes, pieces))  # type: ignore[arg-type]

    def _respond(self, key: int, version: int) -> Any:
        if key == ApiKey.API_VERSIONS:
            ranges = [ApiVersion(api_key=key, min_version=each[0], max_version=each[-1]) for key, each in TAKEN.items()]
            return ApiVersionsResponse(api_keys=ranges)
        if key == ApiKey.METADATA and not self.damage:
            brokers = [MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port)]
            return MetadataResponse(brokers=brokers, topics=())
        made = by_chance(self._random, API[ApiKey(key)].response, version, lambda: damaged_batch(self._random))
        return self._place_here(made)

    def _place_here(self, value: Any) -> Any:
        """The value with all brokers at this one."""
        if isinstance(value, tuple | list):
            return tuple(map(self._place_here, value))
        if not is_dataclass(value) or isinstance(value, type):
            return value
        here = {"host": "127.0.0.1", "port": self.port}
        here |= dict.fromkeys(("node_id", "broker_id", "leader_id"), self._random.choice(BROKERS))
        changes = {
            field.name: here[field.name] if field.name in here else self._place_here(getattr(value, field.name))
            for field in fields(value)
        }
        return replace(value, **changes)
