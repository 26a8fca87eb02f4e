"""Broken frames of either side end that client's connection with a line; nothing hangs, grows or leaves a trace."""

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from stepdown.config import HostPort
from stepdown.gateway import upstream
from stepdown.gateway.addresses import broker_ports
from stepdown.gateway.gateway import PATIENCE_MS, Gateway
from stepdown.gateway.sessions.broker_links import BrokerLinks
from stepdown.gateway.upstream import BOOTSTRAP, UpstreamFailed
from stepdown.network.peer import Peer
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_request, encode_response
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResource, DescribeAclsResponse
from stepdown.protocol.messages.fetch import FetchRequest, ForgottenTopic
from stepdown.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.schema import encode
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.fetching import create, fetch, produce, records
from support.gateway import gateway_to, running_gateway
from support.running import until

VERSIONS = struct.pack(">hi", 0, 6) + b"".join(
    struct.pack(">hhh", *each) for each in ((0, 0, 11), (1, 4, 17), (2, 1, 9), (3, 0, 12), (18, 0, 4), (29, 1, 3))
)
"""An ApiVersions answer as Kafka 4 gives it."""


@asynccontextmanager
async def gateway_to_broken(
    answer: Callable[[bytes], bytes], clock: ManualClock | None = None, **settings: object
) -> AsyncIterator[Gateway]:
    """A gateway to a broker that tells its versions, and answers everything else as it is told."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            while True:
                frame = await reader.readexactly(struct.unpack(">i", await reader.readexactly(4))[0])
                if frame[:2] == b"\0\x12":
                    body = frame[4:8] + VERSIONS
                    writer.write(struct.pack(">i", len(body)) + body)
                else:
                    writer.write(answer(frame))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    gateway = gateway_to(f"127.0.0.1:{port}", clock, brokers="1=127.0.0.1:1", **settings)
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop(drain_ms=0)
        server.close()
        for writer in writers:
            writer.transport.abort()


BROKEN = {
    "another request's answer": lambda frame: struct.pack(">ii", 4, 99),
    "a negative size": lambda frame: struct.pack(">ii", -5, 0),
    "no room for a header": lambda frame: struct.pack(">ii", 3, 0),
    "a size without end": lambda frame: struct.pack(">i", 0x7FFFFFFF) + frame[4:8],
    "half a body": lambda frame: struct.pack(">i", 9) + frame[4:8] + b"\0\0\0\7\0",
    "more items than bytes": lambda frame: struct.pack(">i", 12) + frame[4:8] + b"\x7f\xff\xff\xff" * 2,
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize(
    ("request_value", "version"), [(MetadataRequest(topics=()), 1), (fetch("t"), 1)], ids=["rewritten", "translated"]
)
async def test_a_broken_answer_ends_the_client_with_a_line(
    caplog: pytest.LogCaptureFixture, answer: Callable[[bytes], bytes], request_value: object, version: int
) -> None:
    async with gateway_to_broken(answer) as gateway:
        async with await RawClient.connect("127.0.0.1", gateway.address.port) as client:
            await client.begin(request_value, version)
            assert await client.read_frame() is None
        await until(lambda: not sum(value for _, value in gateway.metrics.closed_connections.rows() if value) < 1)
    assert "closing 127.0.0.1" in caplog.text
    assert "Traceback" not in caplog.text


async def test_an_answer_that_the_version_asked_has_no_place_for_ends_the_client_with_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A trace: rules with a prefix, which a client of DescribeAcls 0 does not know, and for which it has not asked."""
    rules = DescribeAclsResponse(resources=(DescribeAclsResource(pattern_type=4),))

    def answer(frame: bytes) -> bytes:
        correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
        return b"".join(map(bytes, encode_response(API[ApiKey.DESCRIBE_ACLS], 1, correlation_id, rules)))  # type: ignore[arg-type]

    async with gateway_to_broken(answer) as gateway:
        async with await RawClient.connect("127.0.0.1", gateway.address.port) as client:
            await client.begin(DescribeAclsRequest(), 0)
            assert await client.read_frame() is None
        await until(lambda: any(value for _, value in gateway.metrics.closed_connections.rows()))
    assert "pattern_type: 4 cannot be sent" in caplog.text
    assert "Traceback" not in caplog.text


async def test_an_answer_to_a_client_that_has_left_is_not_waited_for() -> None:
    """A request that was read ahead of a client which left before it was looked at kept its connections to the cluster
    for as long as the broker stalled."""
    request = b"".join(map(bytes, encode_request(API[ApiKey.METADATA], 1, 1, "left", MetadataRequest(topics=()))))  # type: ignore[arg-type]
    ours, theirs = socket.socketpair()
    async with gateway_to_broken(lambda frame: b"") as gateway:
        peer = Peer(host="127.0.0.1", port=1, listener="bootstrap")
        peer.note_departure()
        connection, answerer = gateway._make_connection(ours, peer)
        async with asyncio.timeout(DEADLINE_S):
            with pytest.raises(ConnectionResetError):
                await answerer.answer(memoryview(request)[4:], peer)  # type: ignore[misc]
        connection.close()
    theirs.close()


async def test_a_request_does_not_go_on_when_the_cluster_has_hung_up() -> None:
    """A broker that closed the connection while a translation was at something else: the client was hung up on, and the
    translation opened another connection, whose answer nobody could give up any more."""
    lost: list[str] = []
    async with gateway_to_broken(lambda frame: b"") as gateway:
        links = BrokerLinks(gateway._tools, lambda: BOOTSTRAP, lambda: None, lambda: lost.append("hung up"))
        (await links.get_or_open()).connection.connection_lost(None)
        assert lost == ["hung up"]
        with pytest.raises(ConnectionResetError):
            await links.get_or_open()


@pytest.mark.parametrize("seed", range(5))
async def test_mutated_requests_harm_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture, seed: int) -> None:
    noise = random.Random(seed)
    async with running_gateway(tmp_path) as stage, await stage.connect_to_broker() as own:
        await create(own, "orders")
        await produce(own, "orders", build_batch(records(3)))
        for _ in range(60):
            async with await stage.connect() as client:
                version = noise.randrange(4)
                frame = bytearray(client.frame(fetch("orders") if version else MetadataRequest(topics=()), version))
                for _ in range(noise.randrange(1, 4)):
                    frame[noise.randrange(4, len(frame))] = noise.randrange(256)
                await client.send_raw(bytes(frame))
        async with await stage.connect() as client:
            assert (await client.send(MetadataRequest(topics=()), 1)).brokers
    assert "Traceback" not in caplog.text


async def test_stalled_readers_hold_what_the_setting_says(tmp_path: Path) -> None:
    async with running_gateway(tmp_path, answer_memory_bytes=4 << 20) as stage, await stage.connect_to_broker() as own:
        await create(own, "orders")
        for first in range(0, 3000, 300):
            await produce(own, "orders", build_batch(records(300, 1000, first=first)))
        stalled = [await stage.connect() for _ in range(20)]
        request: FetchRequest = fetch("orders", max_bytes=1 << 20)
        for client in stalled:
            await client.begin(request, 1)
        memory = stage.gateway._answer_memory
        await until(lambda: memory.peak_bytes >= 3 << 20)
        assert memory.peak_bytes <= 4 << 20
        for client in stalled:
            await client.close()
        await until(lambda: memory.in_use_bytes == 0 and not memory.waiting_count)


async def test_small_answers_give_their_memory_back(tmp_path: Path) -> None:
    """They leave together with others, and kept what had been claimed for a large one: the budget ran dry."""
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        await produce(own, "orders", build_batch(records(3)))
        for offset in (0, 3):
            for version in range(4):
                await client.send(fetch("orders", offset), version)
        assert stage.gateway._answer_memory.in_use_bytes == 0


async def test_fetches_that_the_cluster_lets_wait_hold_no_memory_of_answers(tmp_path: Path) -> None:
    """Each claimed 1 MiB before the cluster had records: 32 old clients that waited, for as long as they said, kept all
    others from their answers."""
    async with running_gateway(tmp_path, answer_memory_bytes=4 << 20) as stage, await stage.connect_to_broker() as own:
        await create(own, "idle")
        await create(own, "orders")
        await produce(own, "orders", build_batch(records(300, 1000)))
        waiting = [await stage.connect() for _ in range(8)]
        for client in waiting:
            await client.begin(fetch("idle", min_bytes=1, max_wait_ms=2**31 - 1), 1)
        async with await stage.connect() as client:
            answer = await client.send(fetch("orders", max_bytes=1 << 20), 1)
        assert len(answer.responses[0].partitions[0].records) > 200_000
        memory = stage.gateway._answer_memory
        await until(lambda: memory.in_use_bytes == 0 and not memory.waiting_count)
        for client in waiting:
            await client.close()


async def test_a_cluster_that_names_ever_new_brokers_is_given_a_thousand_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer could have the gateway listen on 10,000 more, until it had no descriptor left for clients."""
    monkeypatch.setattr(broker_ports, "MOST_KNOWN_BROKERS", 3)
    monkeypatch.setattr(upstream, "MOST_KNOWN_BROKERS", 3)

    def answer(frame: bytes) -> bytes:
        brokers = [MetadataResponseBroker(node_id=node, host="b", port=9) for node in range(10)]
        body = b"".join(encode(MetadataResponse(brokers=brokers, topics=()), 1))  # type: ignore[arg-type]
        return struct.pack(">i", len(body) + 4) + frame[4:8] + body

    async with gateway_to_broken(answer) as gateway:
        async with await RawClient.connect("127.0.0.1", gateway.address.port) as client:
            await client.begin(MetadataRequest(topics=()), 1)
            assert await client.read_frame() is None
        assert len(gateway.ports.ports) == len(gateway.upstream.brokers) == 3


async def test_requests_that_wait_in_the_cluster_leave_the_memory_of_requests_to_others(tmp_path: Path) -> None:
    """They held it for as long as the client had the cluster wait: no request of more than 32 KiB passed meanwhile."""
    many = MetadataRequest(topics=[MetadataRequestTopic(name="x" * 200) for _ in range(300)])
    long = fetch("idle", min_bytes=1, max_wait_ms=2**31 - 1, session_epoch=-1)
    forgotten = tuple(ForgottenTopic(topic="x" * 20_000, partitions=()) for _ in range(10))
    async with running_gateway(tmp_path, stepdown_request_memory_bytes=1_000_000) as stage:
        async with await stage.connect_to_broker() as own:
            await create(own, "idle")
        waiting = [await stage.connect() for _ in range(6)]
        for client in waiting:
            await client.begin(replace(long, forgotten_topics_data=forgotten), 11)
        async with await stage.connect() as client:
            assert (await client.send(many, 1)).brokers
        for client in waiting:
            await client.close()
        await until(lambda: stage.gateway._request_memory.in_use_bytes == 0)


@pytest.mark.parametrize("host", ["a\0b", "x" * 64 + ".example"])
async def test_a_broker_at_a_host_that_no_name_is_cannot_be_reached(host: str) -> None:
    """The name of a host with a NUL in it, or with a label that is too long, left a trace."""
    gateway = gateway_to("127.0.0.1:1", addresses="single")
    gateway.upstream.learn_broker(7, HostPort(host, 9092))
    with pytest.raises(UpstreamFailed, match="no broker answers"):
        await gateway.upstream.connect(7, lambda: None)


async def test_an_answer_that_stalls_leaves_its_memory_to_those_who_wait(caplog: pytest.LogCaptureFixture) -> None:
    """A broker that announced 256 MB and sent no more held as much of the gateway's memory for ever, and all clients
    whose answers are held as a whole waited for it."""
    memory_bytes, clock = 1 << 20, ManualClock()
    topics = [MetadataResponseTopic(name=f"{number:0200}", partitions=()) for number in range(500)]
    whole = b"".join(encode(MetadataResponse(brokers=(), topics=topics), 1))  # type: ignore[arg-type]

    def answer(frame: bytes) -> bytes:
        stalls = b"stalled" in frame
        size = memory_bytes if stalls else len(whole)
        return struct.pack(">i", size + 4) + frame[4:8] + (b"" if stalls else whole)

    async with gateway_to_broken(answer, clock, answer_memory_bytes=memory_bytes) as gateway:
        memory, port = gateway._answer_memory, gateway.address.port
        async with (
            await RawClient.connect("127.0.0.1", port, client_id="stalled") as stalled,
            await RawClient.connect("127.0.0.1", port, client_id="other") as other,
        ):
            await stalled.begin(MetadataRequest(topics=()), 1)
            await until(lambda: memory.in_use_bytes == memory_bytes)
            waiting = await other.begin(MetadataRequest(topics=()), 1)
            await until(lambda: memory.waiting_count == 1)
            await clock.advance(PATIENCE_MS)
            assert len((await other.finish(MetadataRequest(topics=()), 1, waiting)).topics) == len(topics)
            assert await stalled.read_frame() is None
        await until(lambda: memory.in_use_bytes == 0)
    assert "sends an answer of 1048576 bytes too slowly" in caplog.text


async def test_a_request_that_was_read_and_waits_is_charged_as_what_it_became(caplog: pytest.LogCaptureFixture) -> None:
    """Thirty fetches of 20,000 partitions, old ones or such as were split, took 270 MB for as long as they waited."""
    waiting, clock = fetch("x" * 100, partitions=range(400), max_wait_ms=2**31 - 1), ManualClock()
    memory_bytes = 24 * 10_000
    async with gateway_to_broken(lambda frame: b"", clock, stepdown_request_memory_bytes=memory_bytes) as gateway:
        budget, port = gateway._shared.parsed_requests, gateway.address.port
        async with (
            await RawClient.connect("127.0.0.1", port, client_id="first") as first,
            await RawClient.connect("127.0.0.1", port, client_id="second") as second,
        ):
            await first.begin(waiting, 1)
            await until(lambda: bool(budget._reclaimable))
            assert budget.in_use_bytes > memory_bytes / 2
            await second.begin(waiting, 1)
            await until(lambda: budget.waiting_count == 1)
            await clock.advance(PATIENCE_MS)
            assert await first.read_frame() is None
            await until(lambda: not budget.waiting_count)
        await until(lambda: budget.in_use_bytes == 0)
    assert "(client 'first'): its request waits for an answer while others wait for request memory" in caplog.text


async def test_a_request_that_passes_and_waits_is_charged_as_its_bytes() -> None:
    asked = asyncio.Event()

    def answer(frame: bytes) -> bytes:
        asked.set()
        return b""

    async with (
        gateway_to_broken(answer) as gateway,
        await RawClient.connect("127.0.0.1", gateway.address.port) as client,
    ):
        await client.begin(fetch("t", partitions=range(400), session_epoch=-1), 11)
        async with asyncio.timeout(DEADLINE_S):
            await asked.wait()
        assert gateway._shared.parsed_requests.in_use_bytes == 0


async def test_an_answer_that_passes_ends_with_its_client() -> None:
    """A client that left while a broker had stalled within a long answer stayed, with its connection to the broker."""

    def answer(frame: bytes) -> bytes:
        return struct.pack(">i", 1 << 20) + frame[4:8] + bytes(100_000)

    async with gateway_to_broken(answer) as gateway:
        client = await RawClient.connect("127.0.0.1", gateway.address.port)
        await client.begin(fetch("t", session_epoch=-1), 11)
        await client._reader.readexactly(100_000)
        await client.close()
        await until(lambda: not +gateway._connections)
