"""What a connection survives, and what it is closed for."""

import asyncio
import gc
import logging
import socket
import struct
import weakref
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.core import SLOW_REQUEST_MS
from stepdown.broker.metrics.metrics import Metrics
from stepdown.broker.metrics.request_metrics import RequestMeter
from stepdown.network import turn
from stepdown.network.admission.shared_by_connections import (
    RequestRules,
    SharedByConnections,
    make_unread_answers_budget,
)
from stepdown.network.answerer import CloseConnection, Reply
from stepdown.network.connection import Connection
from stepdown.network.memory_budget import MemoryBudget
from stepdown.network.peer import Peer
from stepdown.network.sender import Sender
from stepdown.network.transport import PlainTransport
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.frame import FrameParser
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.records.builder import build_batch
from support.client import RawClient
from support.clock import ManualClock, settle
from support.deadline import DEADLINE_S
from support.fetching import create, fetch, parked, produce, records
from support.running import running_broker, until

RULES = RequestRules(min_bytes_a_second=65_536, max_bytes_without_records=1 << 25)
NARROW = {"socket_send_buffer_bytes": 16384}
ANSWERS_SHARE = {"stepdown_request_memory_bytes": 400_000}
"""Long answers may have half of it."""
"""The kernel takes little of a response ahead of its reader, however long the reader lets it wait."""


async def connect(broker: Broker) -> RawClient:
    return await RawClient.connect(broker.address.host, broker.address.port, client_id="probe")


def header(key: int, version: int, client_id: bytes = b"probe") -> bytes:
    return struct.pack(">hhih", key, version, 7, len(client_id)) + client_id


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(struct.pack(">i", -5), "-5", id="negative-size"),
        pytest.param(struct.pack(">i", 200_000_000), "200000000", id="size-above-the-limit"),
        pytest.param(framed(header(3, 99)), "Metadata", id="unknown-version"),
        pytest.param(framed(header(999, 0)), "999", id="unknown-api"),
        pytest.param(framed(header(4, 0)), "4", id="api-of-another-listener"),
        pytest.param(
            framed(header(3, 1) + struct.pack(">i", 1 << 30)), "Metadata v1", id="array-longer-than-the-frame"
        ),
        pytest.param(framed(b"\0\1"), "header", id="no-whole-header"),
        pytest.param(framed(b""), "header", id="empty-frame"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", "HTTP", id="http"),
    ],
)
async def test_bytes_that_cannot_be_read_close_the_connection_with_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes, said: str
) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        with caplog.at_level(logging.WARNING, logger="stepdown"):
            await client.send_raw(data)
            assert await client.read_frame() is None
        lines = [record.getMessage() for record in caplog.records if "closing" in record.getMessage()]
        assert len(lines) == 1
        assert said in lines[0]
        async with await connect(broker) as other:
            assert (await other.send(ApiVersionsRequest(), 0)).error_code == 0


async def test_the_line_names_client_api_and_version(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        with caplog.at_level(logging.WARNING, logger="stepdown"):
            await client.send_raw(framed(header(1, 4, b"old-app") + b"\0"))
            assert await client.read_frame() is None
        assert "old-app" in caplog.text
        assert "Fetch v4" in caplog.text


async def test_a_frame_may_arrive_byte_by_byte(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        for byte in client.frame(ApiVersionsRequest(), 0):
            await client.send_raw(bytes([byte]))
            await asyncio.sleep(0)
        assert await client.read_frame() is not None


async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        requests: list[tuple[Any, int]] = [(MetadataRequest(topics=None), 1), (ApiVersionsRequest(), 0)] * 50
        sent = [(request, version, await client.begin(request, version)) for request, version in requests]
        for request, version, correlation_id in sent:
            await client.finish(request, version, correlation_id)


async def test_small_answers_to_what_was_read_together_leave_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        sends: list[int] = []
        try_send = PlainTransport.try_send

        def counted(wire: PlainTransport, data: bytes, *, more: bool = False) -> int:
            sends.append(len(data))
            return try_send(wire, data, more=more)

        monkeypatch.setattr(PlainTransport, "try_send", counted)
        monkeypatch.setattr(turn, "TURN_S", 60.0)  # however busy this machine is
        await client.send_raw(client.frame(ApiVersionsRequest(), 0) * 5)
        for _ in range(5):
            assert await client.read_frame() is not None
        assert len(sends) == 1


def shared_of(memory: MemoryBudget) -> SharedByConnections:
    clock = ManualClock()
    return SharedByConnections.of(
        clock, memory, make_unread_answers_budget(clock, memory.limit_bytes), 1_000, lambda: RULES
    )


class Crowded:
    """A connection with its small buffers full of answers to requests that came together; `task` serves it."""

    ANSWER_BYTES, REQUESTS = 4000, 12

    def __init__(self, behind: bytes = b"", memory: MemoryBudget | None = None) -> None:
        ours, self.theirs = socket.socketpair()
        for sock in (ours, self.theirs):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4608)
        self.theirs.setblocking(False)
        wire = PlainTransport(ours, asyncio.get_running_loop())
        sender = Sender(wire, Metrics())
        peer = Peer(host="", port=0, listener="")
        self.connection = Connection(
            wire,
            peer,
            FrameParser(1 << 20),
            sender,
            shared_of(memory or MemoryBudget(99)),
        )
        self.theirs.send(framed(b"any") * self.REQUESTS + behind)
        self.task = asyncio.create_task(self.connection.serve(self))

    def answer(self, frame: memoryview, peer: Peer) -> Reply:
        return Reply([bytes(self.ANSWER_BYTES)], RequestMeter(Metrics(), "Any", 0), began_s=0.0, ready_s=0.0)

    async def read_answers(self, count: int = REQUESTS) -> int:
        """How many bytes of answers come, of all that are due."""
        size, loop = 0, asyncio.get_running_loop()
        async with asyncio.timeout(DEADLINE_S):
            while size < self.ANSWER_BYTES * count and (part := await loop.sock_recv(self.theirs, 65536)):
                size += len(part)
        return size


@pytest.mark.parametrize("late_bytes", [4, 5_000])
async def test_a_request_that_comes_while_answers_wait_for_their_reader_is_answered(
    late_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without another byte from the client, which waits for the answer."""
    monkeypatch.setattr(turn, "TURN_S", 60.0)
    crowded = Crowded()
    await settle()
    crowded.theirs.send(framed(bytes(late_bytes)))
    await settle()
    assert await crowded.read_answers(crowded.REQUESTS + 1) == crowded.ANSWER_BYTES * (crowded.REQUESTS + 1)
    crowded.connection.close()
    await crowded.task


async def test_a_part_of_a_request_that_comes_while_answers_wait_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "TURN_S", 60.0)
    crowded = Crowded()
    await settle()
    crowded.theirs.send(framed(bytes(6_000))[:5_000])
    await settle()
    await crowded.read_answers()
    await until(lambda: crowded.connection._shared.half_frames.in_use_bytes == 5_000)
    crowded.connection.close()
    await crowded.task


async def test_a_long_answer_gives_its_memory_back_if_the_peer_goes_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the answers to earlier requests still wait for it."""
    monkeypatch.setattr(turn, "TURN_S", 60.0)
    memory = MemoryBudget(1 << 20)
    claim, is_ready = memory.try_claim(100_000), asyncio.Event()

    class AnswersLate(Crowded):
        def answer(self, frame: memoryview, peer: Peer) -> Any:
            return super().answer(frame, peer) if bytes(frame) == b"any" else self.answer_late()

        async def answer_late(self) -> Reply:
            await is_ready.wait()
            pieces = [bytes(100), bytes(100_000)]
            return Reply(pieces, RequestMeter(Metrics(), "Any", 0), began_s=0.0, ready_s=0.0, claim=claim)

    crowded = AnswersLate(behind=framed(b"long"))
    await until(lambda: bool(crowded.connection._unsent))
    crowded.theirs.close()
    is_ready.set()
    assert await crowded.task == "lost"
    assert memory.in_use_bytes == 0


async def test_a_drain_does_not_cut_answers_that_the_peer_has_yet_to_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "TURN_S", 60.0)  # all are answered before the drain, however busy this machine is
    crowded = Crowded()
    await settle()
    crowded.connection.drain()
    assert await crowded.read_answers() == crowded.ANSWER_BYTES * crowded.REQUESTS
    assert await crowded.task == "end"
    crowded.theirs.close()


async def test_answers_do_not_wait_for_the_rest_of_a_frame_that_has_to_wait_for_memory() -> None:
    memory = MemoryBudget(1 << 20)
    taken = await memory.claim(1 << 20)
    crowded = Crowded(struct.pack(">i", 400_000) + b"begins", memory)
    await settle()
    taken.release()
    assert await crowded.read_answers() == crowded.ANSWER_BYTES * crowded.REQUESTS
    crowded.theirs.close()
    assert await crowded.task in ("end", "lost")


async def test_an_answer_does_not_wait_for_a_later_request_that_waits(tmp_path: Path) -> None:
    async with running_broker(tmp_path, clock=ManualClock()) as broker, await connect(broker) as client:
        await create(client, "t")
        waiting = client.frame(fetch("t", max_wait_ms=10_000, min_bytes=1), 11)
        await client.send_raw(client.frame(ApiVersionsRequest(), 0) + waiting)
        assert await client.read_frame() is not None
        await parked(broker)


async def test_answers_go_out_before_a_later_frame_closes_the_connection(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await client.send_raw(client.frame(MetadataRequest(topics=None), 1) * 2 + framed(b"\0\1"))
        assert await client.read_frame() is not None
        assert await client.read_frame() is not None
        assert await client.read_frame() is None


async def test_a_silent_connection_is_closed_after_its_time(tmp_path: Path) -> None:
    clock = ManualClock()
    async with (
        running_broker(tmp_path, clock=clock, connections_max_idle_ms=60_000) as broker,
        await connect(broker) as client,
    ):
        await client.send(ApiVersionsRequest(), 0)
        await clock.advance(50_000)
        await client.send(ApiVersionsRequest(), 0)
        await clock.advance(50_000)
        assert broker.connections == 1
        await clock.advance(25_000)
        assert await client.read_frame() is None


async def test_an_unfinished_frame_costs_what_was_sent_of_it(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await client.send_raw(struct.pack(">i", 100_000_000) + bytes(1000))
        await settle()
        (connection,) = broker._server._open
        assert connection._parser.buffered_bytes <= 1004


async def test_the_task_of_a_connection_tells_who_asked_for_what(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await client.send(ApiVersionsRequest(), 0)
        (task,) = broker._server._open.values()
        peer = broker._server.peer_of(task)
        assert peer is not None and peer.latest_request == (ApiKey.API_VERSIONS, 0, 0)
        assert broker._server.peer_of(asyncio.current_task()) is None


async def test_connections_above_the_limit_of_an_address_are_refused(tmp_path: Path) -> None:
    async with running_broker(tmp_path, max_connections_per_ip=1) as broker, await connect(broker) as first:
        await first.send(ApiVersionsRequest(), 0)
        async with await connect(broker) as second:
            assert await second.read_frame() is None
            assert (await first.send(ApiVersionsRequest(), 0)).error_code == 0


async def test_an_unknown_version_of_api_versions_is_answered_in_version_0(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await client.send_raw(framed(header(18, 77) + b"\0"))
        frame = await client.read_frame()
        assert frame is not None
        correlation_id, error, count, key, low, high = struct.unpack(">ihihhh", frame)
        assert (correlation_id, error, count, key, low, high) == (7, 35, 1, 18, 0, 4)


async def test_stopping_hangs_up_on_everybody_and_answers_what_was_asked(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as idle, await connect(broker) as busy:
        await idle.send(ApiVersionsRequest(), 0)
        correlation_id = await busy.begin(ApiVersionsRequest(), 0)
        await busy.finish(ApiVersionsRequest(), 0, correlation_id)
    assert await idle.read_frame() is None
    assert await busy.read_frame() is None


async def test_connections_above_the_limit_wait_for_a_free_place(tmp_path: Path) -> None:
    """At the limit the loop span, trying to accept who waited."""
    async with running_broker(tmp_path, max_connections=1) as broker, await connect(broker) as first:
        await first.send(ApiVersionsRequest(), 0)
        async with await connect(broker) as second:
            correlation_id = await second.begin(ApiVersionsRequest(), 0)
            await settle()
            tries: list[object] = []
            accept = broker._server._accept
            broker._server._accept = lambda *args: tries.append(args) or accept(*args)  # type: ignore[method-assign]
            await settle()
            assert (broker.connections, tries) == (1, [])
            await first.close()
            await second.finish(ApiVersionsRequest(), 0, correlation_id)
            assert len(tries) == 1


async def test_a_limit_that_is_raised_lets_those_in_who_wait(tmp_path: Path) -> None:
    clock = ManualClock()
    async with (
        running_broker(tmp_path, clock=clock, max_connections=1) as broker,
        await connect(broker) as first,
        await connect(broker) as second,
    ):
        await first.send(ApiVersionsRequest(), 0)
        correlation_id = await second.begin(ApiVersionsRequest(), 0)
        await settle()
        change = AlterableConfig(name="max.connections", value="2")
        resource = AlterConfigsResource(resource_type=4, resource_name="", configs=(change,))
        answer = await first.send(IncrementalAlterConfigsRequest(resources=(resource,)), 1)
        assert answer.responses[0].error_code == 0
        await clock.advance(1_000)
        await second.finish(ApiVersionsRequest(), 0, correlation_id)


async def test_who_leaves_while_its_fetch_waits_leaves_nothing_behind(tmp_path: Path) -> None:
    """The connection stayed, with its descriptor, for as long as the client had asked to wait: up to 24 days."""
    async with running_broker(tmp_path, clock=ManualClock()) as broker, await connect(broker) as client:
        await create(client, "t")
        await client.begin(fetch("t", max_wait_ms=(1 << 31) - 1, min_bytes=1), 11)
        await parked(broker)
        await client.close()
        await until(lambda: broker.connections == 0)
        assert len(broker.fetch_purgatory) == 0


async def test_what_was_asked_before_leaving_is_answered(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        sent = [await client.begin(ApiVersionsRequest(), 0) for _ in range(3)]
        client._writer.write_eof()
        for correlation_id in sent:
            await client.finish(ApiVersionsRequest(), 0, correlation_id)
        assert await client.read_frame() is None


async def test_a_slow_reader_is_not_idle(tmp_path: Path) -> None:
    """A response that takes longer to read than connections.max.idle.ms was broken off, again and again."""
    clock = ManualClock()
    small = {**NARROW, "connections_max_idle_ms": 60_000}
    async with running_broker(tmp_path, clock=clock, **small) as broker, await connect(broker) as writer:
        await create(writer, "t")
        for _ in range(8):
            await produce(writer, "t", build_batch(records(1, 1_000_000)))
        loop = asyncio.get_running_loop()
        with await narrow(broker) as reader:
            await loop.sock_sendall(reader, writer.frame(fetch("t", max_bytes=8 << 20), 4))
            size = int.from_bytes(await loop.sock_recv(reader, 4), "big")
            for _ in range(20):
                size -= await taken(reader, 100_000)
                await clock.advance(20_000)
            assert size > 4_000_000, "the response was not long enough for this test"
            assert await taken(reader, size) == size
            await clock.advance(70_000)
            assert await loop.sock_recv(reader, 1) == b""


async def narrow(broker: Broker) -> socket.socket:
    """A connection whose kernel takes little ahead of who reads from it."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    reader.setblocking(False)
    await asyncio.get_running_loop().sock_connect(reader, (broker.address.host, broker.address.port))
    return reader


async def taken(reader: socket.socket, most: int) -> int:
    """Bytes read, all of `most` unless the stream ends."""
    loop, count = asyncio.get_running_loop(), 0
    while count < most and (part := await loop.sock_recv(reader, min(most - count, 65536))):
        count += len(part)
    return count


async def test_a_peer_that_never_reads_is_idle(tmp_path: Path) -> None:
    clock = ManualClock()
    small = {**NARROW, "connections_max_idle_ms": 60_000}
    async with running_broker(tmp_path, clock=clock, **small) as broker, await connect(broker) as writer:
        await create(writer, "t")
        for _ in range(8):
            await produce(writer, "t", build_batch(records(1, 1_000_000)))
        with await narrow(broker) as reader:
            await asyncio.get_running_loop().sock_sendall(reader, writer.frame(fetch("t", max_bytes=8 << 20), 4))
            await until(lambda: any(connection._wire.sent_bytes > 10_000 for connection in broker._server._open))
            for _ in range(6):
                await clock.advance(40_000)
                await writer.send(ApiVersionsRequest(), 0)
            assert broker.connections == 1


async def test_a_request_is_let_go_before_its_answer_is_read(tmp_path: Path) -> None:
    """A peer that did not read kept its request alive here, up to socket.request.max.bytes of it."""
    held: list[weakref.ref[memoryview]] = []

    class Answering:
        async def answer(self, frame: memoryview, peer: Peer) -> Reply:
            held.append(weakref.ref(frame))
            return Reply([bytes(4_000_000)], RequestMeter(Metrics(), "Any", 0), began_s=0.0, ready_s=0.0)

    async with running_broker(tmp_path) as broker:
        broker._dispatcher = Answering()  # type: ignore[assignment]
        async with await connect(broker) as client:
            await client.send_raw(framed(bytes(100_000)))
            await until(lambda: len(held) > 0)
            await settle()
            assert [frame() for frame in held] == [None]


def is_let_go(buffer: bytearray) -> bool:
    """Whether nobody has a view of it."""
    try:
        buffer.clear()
    except BufferError:
        return False
    return True


async def test_a_request_that_is_refused_is_let_go_without_the_collector(tmp_path: Path) -> None:
    """Each that had too many items stayed, up to 32 MiB of it, in the frames of the exception that said so."""
    held: list[bytearray] = []
    names = MetadataRequest(topics=tuple(MetadataRequestTopic(name=f"{number:0200}") for number in range(1_001)))
    election = ElectLeadersRequest(
        topic_partitions=(TopicPartitions(topic="t", partitions=tuple(range(60_000))),), timeout_ms=1
    )

    class Watching:
        def answer(self, frame: memoryview, peer: Peer) -> Reply | Coroutine[Any, Any, Reply]:
            held.append(frame.obj)  # type: ignore[arg-type]
            return dispatcher.answer(frame, peer)

    async with running_broker(tmp_path, stepdown_request_max_items=1_000) as broker:
        dispatcher, broker._dispatcher = broker._dispatcher, Watching()  # type: ignore[assignment]
        async with await connect(broker) as client:
            gc.collect()
            gc.disable()
            try:
                assert (await client.send(election, 2)).error_code == ErrorCode.INVALID_REQUEST
                await client.send_raw(client.frame(names, 4))
                assert await client.read_frame() is None
                assert len(held) == 2
                await until(lambda: all(map(is_let_go, held)))  # a thread may be about to
            finally:
                gc.enable()


async def test_large_requests_wait_for_memory_and_small_ones_do_not(tmp_path: Path) -> None:
    limits = {"queued_max_request_bytes": 1_000_000, "socket_request_max_bytes": 1_000_000}
    async with running_broker(tmp_path, **limits) as broker:
        first, second, small = [await connect(broker) for _ in range(3)]
        await create(small, "t")
        await first.send_raw(struct.pack(">i", 900_000) + bytes(1000))
        await until(lambda: broker.request_memory.in_use_bytes == 900_000)
        await second.send_raw(struct.pack(">i", 900_000) + bytes(1000))
        await until(lambda: broker.request_memory.waiting_count == 1)
        stuck = next(c for c in broker._server._open if c._claims.frame is None and c._parser.pending_frame_bytes)
        await second.send_raw(bytes(300_000))
        await settle()
        assert stuck._parser.buffered_bytes == 1004
        assert (await small.send(ApiVersionsRequest(), 0)).error_code == 0
        await first.close()
        await until(lambda: broker.request_memory.waiting_count == 0)
        assert broker.request_memory.in_use_bytes == 900_000
        await second.close()
        await until(lambda: broker.request_memory.in_use_bytes == 0)


async def test_a_large_request_that_comes_too_slowly_gives_its_memory_to_those_who_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    limits = {"stepdown_request_memory_bytes": 1_000_000, "socket_request_max_bytes": 1_000_000}
    async with running_broker(tmp_path, clock=clock, **limits) as broker:
        slow, honest = [await connect(broker) for _ in range(2)]
        await slow.send_raw(struct.pack(">i", 900_000) + bytes(1000))
        await until(lambda: broker.request_memory.in_use_bytes == 900_000)
        await honest.send_raw(struct.pack(">i", 900_001) + bytes(1000))
        await until(lambda: broker.request_memory.waiting_count == 1)
        holding = next(each for each in broker._server._open if each._claims.frame is not None)
        await clock.advance(SLOW_REQUEST_MS)
        assert holding._parser.buffered_bytes == 0
        assert await slow.read_frame() is None
        await until(lambda: broker.request_memory.in_use_bytes == 900_001)
        assert "too slowly" in caplog.text
        await honest.close()


async def test_long_answers_that_are_not_read_give_their_memory_to_those_who_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each connection that did not read the metadata of 9,000 partitions kept half a megabyte."""
    clock = ManualClock()
    names = tuple(MetadataRequestTopic(name=f"{number:0240}") for number in range(500))
    request, limits = MetadataRequest(topics=names, allow_auto_topic_creation=False), {**NARROW, **ANSWERS_SHARE}
    async with running_broker(tmp_path, clock=clock, **limits) as broker:
        async with await connect(broker) as honest, await connect(broker) as other:
            with await narrow(broker) as stalled:
                await asyncio.get_running_loop().sock_sendall(stalled, honest.frame(request, 4))
                await until(lambda: bool(broker.answer_memory._reclaimable))
                asked = await honest.begin(request, 4)
                await until(lambda: broker.answer_memory.waiting_count == 1)
                assert (await other.send(ApiVersionsRequest(), 0)).error_code == 0
                for _ in range(5):  # more of the answer may go to the kernel at any time, which counts as progress
                    await clock.advance(SLOW_REQUEST_MS)
                assert broker.answer_memory.waiting_count == 0
                assert len((await honest.finish(request, 4, asked)).topics) == len(names)
        assert "reads its answer too slowly" in caplog.text
        assert broker.answer_memory.in_use_bytes == 0


async def test_a_pipelining_client_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    async with running_broker(tmp_path, clock=ManualClock()) as broker, await connect(broker) as client:
        await client.send(ApiVersionsRequest(), 0)
        await client.send_raw(client.frame(fetch("t", max_wait_ms=60_000, min_bytes=1), 4) * 1000)
    answered = 0
    while await client.read_frame() is not None:
        answered += 1
    assert answered < 1000


async def test_a_peer_that_never_stops_sending_leaves_the_others_their_turn() -> None:
    """One that always had the next request ready was read and answered for as long as it lasted."""
    requests = 0
    finished = asyncio.Event()

    class Endless:
        """A wire on which there is always more to be read."""

        sent_bytes = 0

        def try_receive(self, most_bytes: int) -> bytes:
            return framed(bytes(60_000))

        def stop_watching_room(self) -> None: ...

        def close(self) -> None: ...

        def watch(self, on_readable: Callable[[], None]) -> None:
            asyncio.get_running_loop().call_soon(on_readable)

    class Answering:
        def answer(self, frame: memoryview, peer: Peer) -> Reply:
            nonlocal requests
            requests += 1
            if finished.is_set() or requests > 1000:
                raise CloseConnection("enough")
            return Reply(None, meter, 0.0, 0.0)

    meter = RequestMeter(Metrics(), "Any", 0)
    peer, memory = Peer(host="", port=0, listener=""), MemoryBudget(1 << 20)
    shared = shared_of(memory)
    connection = Connection(Endless(), peer, FrameParser(1 << 20), None, shared)  # type: ignore[arg-type]
    serving = asyncio.create_task(connection.serve(Answering()))  # type: ignore[arg-type]
    await until(lambda: requests > 0)
    in_one_turn = requests
    finished.set()
    assert await serving == "fault"
    assert in_one_turn <= turn.MOST_STEPS
