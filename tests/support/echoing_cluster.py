"""A cluster in a thread of its own that answers each request with as many items as were asked for, and their names.

    with EchoingCluster(brokers=3) as cluster:
        cluster.items = 5_000
        await asyncio.to_thread(ask_by_socket, gateway_port, frame)

What the event loop of a test does meanwhile is done by the gateway alone.
"""

import asyncio
import threading
from collections.abc import Mapping
from contextlib import suppress
from socket import create_connection
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from stepdown.gateway.translations.groups import PARTITIONS_A_PART
from stepdown.gateway.upstream import CLIENT_ID
from stepdown.protocol.acls import AclOperation
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.field_declarations import Field
from stepdown.protocol.frame import (
    RequestHeader,
    decode_request_header,
    encode_response,
)
from stepdown.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from stepdown.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from stepdown.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stepdown.protocol.primitives import Primitive
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.protocol.schema import decode, schema_of

from .deadline import DEADLINE_S
from .hostile.mutating_cluster import TAKEN
from .running import until

ALL_OPERATIONS = sum(1 << each for each in AclOperation)
RECORD = [Record(offset=0, timestamp=1, key=None, value=b"x")]
NUMBERED = ("partition", "partition_index", "index", "partition_indexes", "partitions")


def filled(cls: type[Any], version: int, items: int, depth: int, values: Mapping[str, Any]) -> Any:
    """A message whose arrays at `depth` (0: the outermost) have so many items, the deeper ones one. The name of an item
    is its number, so that those of a request are those of its answer. `values`: of fields, by their names."""

    def value_of(field: Field, number: int) -> Any:
        kind = field.item or field.kind
        if field.name in values:
            return values[field.name]
        if kind is Primitive.STRING:
            return f"n{number}"
        if kind is Primitive.UUID:
            return UUID(int=number + 1)
        if kind is Primitive.INT32 and field.name in NUMBERED:
            return number
        return 1 if field.item is not None else field.default

    def made(cls: type[Any], level: int, number: int) -> Any:
        found = {}
        for field in schema_of(cls).fields:
            if version not in field.versions or field.tag is not None:
                continue
            if field.kind is Primitive.ARRAY and field.name not in values:
                numbers = range(items if level == depth else 1)
                found[field.name] = [
                    value_of(field, each) if field.element is None else made(field.element, level + 1, each)
                    for each in numbers
                ]
            elif field.kind is Primitive.STRUCT:
                found[field.name] = made(field.element, level, number)  # type: ignore[arg-type]
            else:
                found[field.name] = value_of(field, number)
        return cls(**found)

    return made(cls, 0, 0)


def request_of(key: int, version: int, items: int, depth: int) -> Any:
    magic = 1 if version else 0
    values = {"records": build_batch(RECORD, magic=magic if version < 3 else 2), "acks": 1, "replica_id": -1}
    values |= {"timestamp": -1, "max_num_offsets": 2, "max_bytes": 1 << 20, "partition_max_bytes": 1 << 20}
    values |= {"commit_timestamp": -1, "session_id": 0, "session_epoch": -1}
    values |= {"transactional_id": None} if key == ApiKey.PRODUCE else {}
    return filled(API[ApiKey(key)].request, version, items, depth, values)


class EchoingCluster:
    """`items`: so many have the arrays of an answer at `depth`; `error` is the code of each."""

    def __init__(self, brokers: int) -> None:
        self.items = 1
        self.depth = self.error = 0
        self.ports: list[int] = []
        self.taken = TAKEN | {ApiKey.JOIN_GROUP: range(2, 10)}  # as 4.0, which alone takes no older ones
        self._brokers = brokers
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._writers: set[asyncio.StreamWriter] = set()
        self._frames: dict[tuple[int, ...], bytes] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(DEADLINE_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(DEADLINE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    async def _start(self) -> None:
        self._servers = [await asyncio.start_server(self._serve, "127.0.0.1", 0) for _ in range(self._brokers)]
        self.ports = [server.sockets[0].getsockname()[1] for server in self._servers]

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        for writer in self._writers:
            writer.transport.abort()
        await until(lambda: not self._writers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    frame = memoryview(await _read_frame(reader))
                    header, body = decode_request_header(frame)
                    answer = self._answer(header, body)
                    writer.write(answer[:4] + header.correlation_id.to_bytes(4, "big") + answer[8:])
                    await writer.drain()
        finally:
            writer.close()
            self._writers.discard(writer)

    def _answer(self, header: RequestHeader, body: memoryview) -> bytes:
        spec = API[ApiKey(header.api_key)]
        items = min(self.items, PARTITIONS_A_PART) if header.client_id == CLIENT_ID else self.items
        which = spec.key, header.api_version, items, self.depth, self.error
        known = self._frames.get(which)
        if known is None:
            response = self._respond(header, body, items)
            known = b"".join(map(bytes, encode_response(spec, header.api_version, 0, response)))  # type: ignore[arg-type]
            if spec.key not in (ApiKey.METADATA, ApiKey.FIND_COORDINATOR):
                self._frames[which] = known
        return known

    def _respond(self, header: RequestHeader, body: memoryview, items: int) -> Any:
        key, version = header.api_key, header.api_version
        spec = API[ApiKey(key)]
        if key == ApiKey.API_VERSIONS:
            ranges = [ApiVersion(api_key=key, min_version=e[0], max_version=e[-1]) for key, e in self.taken.items()]
            return ApiVersionsResponse(api_keys=ranges)
        if key == ApiKey.METADATA:
            return self._describe(decode(spec.request, version, body))
        if key == ApiKey.FIND_COORDINATOR:
            asked = decode(spec.request, version, body)
            found = [Coordinator(key=each, **self._broker_of(each)) for each in asked.coordinator_keys]
            return FindCoordinatorResponse(coordinators=found, **({} if found else self._broker_of(asked.key)))
        values = {"records": build_batch(RECORD, magic=2), "error_code": self.error, "error_message": None}
        values |= {"config_source": 5, "high_watermark": 1, "aborted_transactions": None, "pattern_type": 3}
        values |= {"session_id": 0}
        return filled(spec.response, version, items, self.depth, values)

    def _broker_of(self, name: str) -> dict[str, Any]:
        broker = sum(name.encode()) % len(self.ports)
        return {"node_id": broker, "host": "127.0.0.1", "port": self.ports[broker]}

    def _describe(self, request: Any) -> MetadataResponse:
        brokers = [MetadataResponseBroker(node_id=n, host="127.0.0.1", port=port) for n, port in enumerate(self.ports)]
        indexes = range(self.items if len(request.topics or ()) == 1 else 1)
        partitions = [
            MetadataResponsePartition(partition_index=each, leader_id=each % len(self.ports)) for each in indexes
        ]
        topics = [
            MetadataResponseTopic(
                name=each.name,
                topic_id=each.topic_id,
                partitions=partitions,
                topic_authorized_operations=ALL_OPERATIONS,
            )
            for each in request.topics or ()
        ]
        return MetadataResponse(brokers=brokers, topics=topics)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def ask_by_socket(port: int, frame: bytes) -> bytes:
    """The answer's frame without its size, b"" where the connection was closed; for a thread."""
    with create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as sock, sock.makefile("rb") as file:
        sock.sendall(frame)
        return file.read(int.from_bytes(file.read(4), "big"))
