"""A broker that answers a producer's requests in memory: as it should, by chance, or with damaged bytes.

`HostileBroker(random)` is a `Connect` of the producer's network. A producer is given to it by `producing_hostile`.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from stepdown.producer.accumulator.compression_estimator import CompressionRatios
from stepdown.producer.clock import Clock
from stepdown.producer.injected_dependencies import Dependencies
from stepdown.producer.network.connections import Connections
from stepdown.producer.producer import Producer
from stepdown.producer.settings import ProducerSettings
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import FrameParser, decode_request_header, encode_response
from stepdown.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from stepdown.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from stepdown.protocol.messages.init_producer_id import InitProducerIdResponse
from stepdown.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeResponse
from stepdown.protocol.schema import decode
from support.clock import ManualClock

from .generated import by_chance, damaged


def answer_well(key: ApiKey, version: int, request: Any) -> Any:
    """The response of a broker that leads everything and takes everything."""
    if key is ApiKey.API_VERSIONS:
        offered = (ApiVersion(api_key=k, min_version=s.min_version, max_version=s.max_version) for k, s in API.items())
        return ApiVersionsResponse(api_keys=tuple(offered))
    if key is ApiKey.METADATA:
        parts = tuple(MetadataResponsePartition(partition_index=index, leader_id=1) for index in range(2))
        topics = tuple(MetadataResponseTopic(name=topic.name, partitions=parts) for topic in request.topics)
        return MetadataResponse(brokers=(MetadataResponseBroker(node_id=1, host="127.0.0.1", port=9),), topics=topics)
    if key is ApiKey.PRODUCE:
        topics = tuple(
            TopicProduceResponse(
                name=topic.name,
                partition_responses=tuple(PartitionProduceResponse(index=p.index) for p in topic.partition_data),
            )
            for topic in request.topic_data
        )
        return ProduceResponse(responses=topics)
    if key is ApiKey.INIT_PRODUCER_ID:
        return InitProducerIdResponse(producer_id=7, producer_epoch=0)
    if key is ApiKey.FIND_COORDINATOR:
        if version < 4:
            return FindCoordinatorResponse(node_id=1, host="127.0.0.1", port=9)
        found = tuple(Coordinator(key=key, node_id=1, host="127.0.0.1", port=9) for key in request.coordinator_keys)
        return FindCoordinatorResponse(coordinators=found)
    if key is ApiKey.SASL_HANDSHAKE:
        return SaslHandshakeResponse(mechanisms=("SCRAM-SHA-256",))
    if key is ApiKey.SASL_AUTHENTICATE:
        return SaslAuthenticateResponse(auth_bytes=_go_on(bytes(request.auth_bytes)))
    return API[key].response()


def _go_on(token: bytes) -> bytes:
    """What SCRAM's server says to the first message of a client, and a signature that is wrong to the next."""
    nonce = token.rpartition(b"r=")[2]
    return b"r=" + nonce + b"more,s=c2FsdA==,i=4096" if token.startswith(b"n,,") else b"v=c2FsdA=="


class HostileBroker:
    """`harm` is how often an answer is not the right one. `answered` counts answers by API."""

    def __init__(self, draws: random.Random, harm: float) -> None:
        self.draws, self.harm = draws, harm
        self.answered: dict[ApiKey, int] = {}

    async def __call__(
        self, protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, tls: object
    ) -> None:
        made = protocol()
        made.connection_made(_Wire(self, made))

    def answer(self, frame: memoryview) -> bytes:
        """The frame that comes back for one request."""
        header, body = decode_request_header(frame)
        key, version = ApiKey(header.api_key), header.api_version
        self.answered[key] = self.answered.get(key, 0) + 1
        request = decode(API[key].request, version, body)
        if self.draws.random() >= self.harm:
            return _encode(key, version, header.correlation_id, answer_well(key, version, request))
        if self.draws.random() < 0.5:
            response = by_chance(self.draws, API[key].response, version, bytes)
            return _encode(key, version, header.correlation_id, response)
        whole = _encode(key, version, header.correlation_id, answer_well(key, version, request))
        return damaged(self.draws, whole)


def _encode(key: ApiKey, version: int, correlation_id: int, response: Any) -> bytes:
    return b"".join(encode_response(API[key], version, correlation_id, response))  # type: ignore[arg-type]


class _Wire(asyncio.Transport):
    """A transport whose other end answers each request in the next turn of the loop."""

    def __init__(self, broker: HostileBroker, protocol: Any) -> None:
        super().__init__()
        self._broker, self._protocol = broker, protocol
        self._parser = FrameParser(1 << 24)
        self._closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def write(self, data: Any) -> None:
        self._parser.feed(bytes(data))
        while (frame := self._parser.next_frame()) is not None:
            asyncio.get_running_loop().call_soon(self._deliver, self._broker.answer(frame))

    def _deliver(self, data: bytes) -> None:
        for at in range(0, len(data), 4096):
            if self._closed:
                return
            part = data[at : at + 4096]
            self._protocol.get_buffer(-1)[: len(part)] = part
            self._protocol.buffer_updated(len(part))

    def abort(self) -> None:
        if not self._closed:
            self._closed = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    close = abort


@asynccontextmanager
async def producing_hostile(
    broker: HostileBroker, **settings: Any
) -> AsyncIterator[tuple[Producer, Connections, ManualClock]]:
    """A started producer on a clock that stands still, whose every broker is this one."""
    clock, networks = ManualClock(), []

    def link(of: ProducerSettings, at: Clock, changed: Callable[[], None]) -> Connections:
        networks.append(Connections(of, at, changed, draws=broker.draws, connect=broker))
        return networks[0]

    around = Dependencies(clock=clock, link=link, draws=broker.draws, ratios=CompressionRatios())

    class Facing(Producer):
        def _make_dependencies(self) -> Dependencies:
            return around

    producer = Facing("127.0.0.1:9", **settings)
    await producer.start()
    try:
        yield producer, networks[0], clock
    finally:
        await producer.close(0)
