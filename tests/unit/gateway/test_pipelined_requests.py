"""Requests that pass the gateway unchanged go on without waiting for the answers to those before."""

import asyncio
import random
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stepdown.gateway.gateway import Gateway
from stepdown.gateway.sessions.pipelined_requests import MOST_IN_FLIGHT
from stepdown.network.byte_passage import READ_BYTES
from stepdown.protocol.api import API, ApiKey, spec_of_request
from stepdown.protocol.frame import encode_request, encode_response
from stepdown.protocol.messages.fetch import FetchResponse
from stepdown.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.list_groups import ListGroupsRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from stepdown.protocol.records.builder import build_batch
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.fetching import create, fetch, fetched, records
from support.gateway import gateway_to, running_gateway
from support.running import until

SIZE = struct.Struct(">i")
RANGES = struct.pack(">hi", 0, 6) + b"".join(
    struct.pack(">hhh", *each) for each in ((0, 3, 13), (1, 4, 17), (3, 0, 13), (12, 0, 4), (16, 0, 5), (18, 0, 4))
)
NOT_LEADER = 6


class HeldBroker:
    """Takes bytes as they come, and answers when it is told to. `received`: what has come from each client after its
    ApiVersions."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.frames: deque[bytes] = deque()
        self.has_left = False
        self._writer: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = b""
        try:
            while data := await reader.read(READ_BYTES):
                left += data
                while len(left) >= 8 and left[4:6] == b"\0\x12":
                    end = 4 + SIZE.unpack_from(left)[0]
                    if len(left) < end:
                        break
                    body = left[8:12] + RANGES
                    writer.write(SIZE.pack(len(body)) + body)
                    left = left[end:]
                    data = left
                if data and left:
                    self._writer = writer
                    self.received += data
                while len(left) >= 4 and len(left) >= (end := 4 + SIZE.unpack_from(left)[0]):
                    self.frames.append(left[4:end])
                    left = left[end:]
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.has_left = self.has_left or writer is self._writer
            writer.close()

    def answer(self, body: bytes = b"") -> None:
        """Answers the oldest request."""
        self.write(self.frame_of(body))

    def frame_of(self, body: bytes) -> bytes:
        request = self.frames.popleft()
        return SIZE.pack(4 + len(body)) + request[4:8] + body

    def write(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)

    @property
    def unsent_bytes(self) -> int:
        """Of what it has written, what the gateway does not take."""
        assert self._writer is not None
        return self._writer.transport.get_write_buffer_size()

    def end(self) -> None:
        """Hangs up when all that it has written is sent."""
        assert self._writer is not None
        self._writer.close()

    def hang_up(self) -> None:
        assert self._writer is not None
        self._writer.transport.abort()


@asynccontextmanager
async def held_broker(**settings: object) -> AsyncIterator[tuple[HeldBroker, Gateway, RawClient]]:
    """A client of a gateway that passes on the client's next requests as they come."""
    broker = HeldBroker()
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    gateway = gateway_to(address, brokers=f"1={address}", **settings)
    await gateway.start()
    try:
        async with await RawClient.connect("127.0.0.1", gateway.address.port) as client:
            await client.begin(ListGroupsRequest(), 0)
            await until(lambda: any(frame[:2] == b"\0\x10" for frame in broker.frames))
            while broker.frames[0][:2] != b"\0\x10":  # what the gateway asks on its own
                broker.frames.popleft()
            broker.answer(b"\0\0\0\0\0\0")
            assert await client.read_frame()
            broker.received.clear()
            yield broker, gateway, client
    finally:
        await gateway.stop(drain_ms=0)
        server.close()


def producing(size: int = 10, *, acks: int = 1, topic: str = "t") -> ProduceRequest:
    data = PartitionProduceData(index=0, records=build_batch(records(1, size)))
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=(TopicProduceData(name=topic, partition_data=(data,)),)
    )


def encoded(request: Any, version: int, correlation_id: int) -> bytes:
    pieces = encode_request(spec_of_request(request), version, correlation_id, "raw", request)
    return b"".join(map(bytes, pieces))  # type: ignore[arg-type]


def encoded_answer(key: ApiKey, version: int, correlation_id: int, response: Any) -> bytes:
    return b"".join(map(bytes, encode_response(API[key], version, correlation_id, response)))  # type: ignore[arg-type]


async def came(broker: HeldBroker, count: int) -> None:
    async with asyncio.timeout(DEADLINE_S):
        await until(lambda: len(broker.frames) >= count)


async def test_a_request_reaches_the_broker_before_the_one_before_is_answered() -> None:
    """Each waited for the answer to the one before, and the broker for the gateway."""
    async with held_broker() as (broker, gateway, client):
        requests = b"".join(encoded(producing(acks=acks), 7, number) for number, acks in enumerate((1, -1, 0, 1), 7))
        await client.send_raw(requests)
        await came(broker, 4)
        assert bytes(broker.received) == requests
        for frame, body in ((0, b"first"), (1, b"second"), (3, b"fourth")):
            while broker.frames[0][4:8] != SIZE.pack(7 + frame):
                broker.frames.popleft()
            broker.answer(body)
            assert await client.read_frame() == SIZE.pack(7 + frame) + body
        rows = {labels[:2]: count for labels, count in gateway.metrics.requests.rows()}
        assert rows["Produce", "7"] == 4


async def test_a_large_request_reaches_the_broker_before_it_is_whole() -> None:
    """It was held as a whole, in memory that others waited for."""
    async with held_broker() as (broker, _, client):
        request = encoded(producing(3 * READ_BYTES), 7, 1)
        await client.send_raw(request[: 2 * READ_BYTES])
        await until(lambda: bytes(broker.received) == request[: 2 * READ_BYTES])
        await client.send_raw(request[2 * READ_BYTES :])
        await came(broker, 1)
        assert bytes(broker.received) == request
        broker.answer(b"done")
        assert await client.read_frame() == SIZE.pack(1) + b"done"


async def test_a_request_that_is_changed_waits_for_the_answers_before_it() -> None:
    """Its answer would be read in place of theirs."""
    async with held_broker() as (broker, _, client):
        await client.send_raw(
            encoded(producing(), 7, 1) + encoded(MetadataRequest(topics=()), 1, 2) + encoded(producing(), 7, 3)
        )
        await came(broker, 1)
        assert len(broker.frames) == 1
        broker.answer(b"one")
        await came(broker, 1)
        assert broker.frames[0][4:8] == SIZE.pack(2)
        broker.answer(
            SIZE.pack(1) + SIZE.pack(1) + struct.pack(">h", 4) + b"host" + SIZE.pack(9) + struct.pack(">h", -1)
        )
        await came(broker, 1)
        broker.answer(b"three")
        answers = [await client.read_frame() for _ in range(3)]
        assert answers[0] == SIZE.pack(1) + b"one"
        assert b"host" not in (answers[1] or b"host")
        assert answers[2] == SIZE.pack(3) + b"three"


async def test_the_address_of_a_new_leader_is_changed_among_other_answers() -> None:
    async with held_broker() as (broker, gateway, client):
        await client.send_raw(b"".join(encoded(producing(), 10, number) for number in range(1, 4)))
        await came(broker, 3)
        partition = PartitionProduceResponse(
            index=0, error_code=NOT_LEADER, current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=1)
        )
        topic = TopicProduceResponse(name="t", partition_responses=(partition,))
        moved = ProduceResponse(responses=(topic,), node_endpoints=(NodeEndpoint(node_id=1, host="far.away", port=9),))
        usual = ProduceResponse(
            responses=(TopicProduceResponse(name="t", partition_responses=(PartitionProduceResponse(index=0),)),)
        )
        whole = b"".join(
            encoded_answer(ApiKey.PRODUCE, 10, number, moved if number == 2 else usual) for number in (1, 2, 3)
        )
        broker.write(whole)
        answers = [await client.finish(producing(), 10, number) for number in (1, 2, 3)]
        assert answers[0] == answers[2] == usual
        (leader,) = answers[1].node_endpoints
        assert (leader.host, leader.port) == ("127.0.0.1", gateway.ports.ports[1])


async def test_a_client_with_too_many_in_flight_waits() -> None:
    """What is noted of each, and what is read ahead, would grow with what a client sends."""
    async with held_broker() as (broker, _, client):
        number = 3 * MOST_IN_FLIGHT
        sending = asyncio.ensure_future(
            client.send_raw(b"".join(encoded(producing(), 7, each) for each in range(number)))
        )
        await came(broker, MOST_IN_FLIGHT)
        assert len(broker.frames) == MOST_IN_FLIGHT
        for each in range(number):
            await came(broker, 1)
            broker.answer(b"")
            assert await client.read_frame() == SIZE.pack(each)
        await sending


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "another request's answer": lambda frame: struct.pack(">ii", 4, 99),
    "a negative size": lambda frame: struct.pack(">ii", -5, 1),
    "no room for a header": lambda frame: struct.pack(">ii", 3, 1),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_a_broken_answer_ends_the_client_with_a_line(
    caplog: pytest.LogCaptureFixture, answer: Callable[[bytes], bytes]
) -> None:
    async with held_broker() as (broker, _, client):
        await client.send_raw(encoded(producing(), 7, 1) + encoded(producing(), 7, 2))
        await came(broker, 2)
        broker.write(answer(broker.frames[0]))
        assert await client.read_frame() is None
    assert "closing 127.0.0.1" in caplog.text
    assert "Traceback" not in caplog.text


BAD_REQUESTS = {
    "too large for its API": SIZE.pack(0x6000000) + struct.pack(">hhih", 12, 0, 5, 3) + b"raw",
    "a negative size": SIZE.pack(-1) + struct.pack(">hhih", 0, 7, 5, 3) + b"raw" + bytes(40),
    "shorter than its header": SIZE.pack(9) + struct.pack(">hhih", 12, 0, 5, 3) + b"raw",
    "a version that is not offered": SIZE.pack(13) + struct.pack(">hhih", 12, 77, 5, 3) + b"raw",
    "acks cut off": SIZE.pack(13) + struct.pack(">hhih", 0, 7, 5, 3) + b"raw",
}


@pytest.mark.parametrize("bad", BAD_REQUESTS.values(), ids=BAD_REQUESTS)
async def test_a_broken_request_ends_the_client_after_the_answers_before_it(
    caplog: pytest.LogCaptureFixture, bad: bytes
) -> None:
    async with held_broker() as (broker, _, client):
        await client.send_raw(encoded(producing(), 7, 1) + bad)
        await came(broker, 1)
        broker.answer(b"one")
        assert await client.read_frame() == SIZE.pack(1) + b"one"
        assert await client.read_frame() is None
        assert len(broker.frames) == 0
    assert "closing 127.0.0.1" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_broker_that_hangs_up_on_requests_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with held_broker() as (broker, _, client):
        await client.send_raw(encoded(producing(), 7, 1) + encoded(producing(), 7, 2))
        await came(broker, 2)
        broker.answer(b"one")
        assert await client.read_frame() == SIZE.pack(1) + b"one"
        broker.hang_up()
        assert await client.read_frame() is None
    assert "closed the connection" in caplog.text


async def test_a_broker_that_hangs_up_within_an_answer_that_may_name_leaders_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with held_broker() as (broker, _, client):
        await client.send_raw(encoded(producing(), 10, 1))
        await came(broker, 1)
        broker.write(broker.frame_of(bytes(50))[:30])
        await asyncio.sleep(0)
        broker.end()
        assert await client.read_frame() is None
    assert "closed the connection" in caplog.text


@pytest.mark.parametrize("ahead", ["nothing", "a request that waits for the answers", "too many"])
async def test_the_broker_is_left_when_the_client_breaks_off(ahead: str) -> None:
    """What had been read ahead hid it; the connection to the broker stayed."""
    more = {
        "nothing": b"",
        "a request that waits for the answers": encoded(MetadataRequest(topics=()), 1, 2),
        "too many": encoded(producing(), 7, 3) * (MOST_IN_FLIGHT + 1),
    }
    async with held_broker() as (broker, _, client):
        await client.send_raw(encoded(producing(), 7, 1) + more[ahead])
        await came(broker, MOST_IN_FLIGHT if ahead == "too many" else 1)
        client.reset()
        await until(lambda: broker.has_left)


async def test_the_broker_is_left_when_the_client_has_left_its_requests() -> None:
    """A Fetch that waits kept its connection."""
    async with held_broker() as (broker, _, client):
        await client.send_raw(encoded(producing(), 7, 1))
        await came(broker, 1)
        await client.close()
        await until(lambda: broker.has_left)


async def test_a_gateway_that_stops_waits_for_the_answers_in_flight() -> None:
    async with held_broker() as (broker, gateway, client):
        await client.send_raw(encoded(producing(), 7, 1) + encoded(producing(), 7, 2))
        await came(broker, 2)
        stopping = asyncio.ensure_future(gateway._server.drain(60_000))
        await asyncio.sleep(0)
        for number in (1, 2):
            broker.answer(b"")
            assert await client.read_frame() == SIZE.pack(number)
        assert await client.read_frame() is None
        await stopping


async def test_a_client_that_reads_nothing_stops_the_broker() -> None:
    """Its answers would be held in memory, all of them."""
    async with held_broker() as (broker, gateway, client):
        body = random.Random(1).randbytes(20 << 20)
        await client.send_raw(encoded(fetch("t"), 12, 1))
        await came(broker, 1)
        broker.answer(body)
        (passage,) = [each._passage for each in gateway._server._open if each._passage is not None]
        passer: Any = passage._passer
        await until(lambda: passer.has_stalled and passer._connection._is_paused)
        assert len(passer._unsent) + passer._connection._held_bytes < 1 << 20
        assert broker.unsent_bytes > 0
        assert await client.read_frame() == SIZE.pack(1) + body


@pytest.mark.parametrize("seed", range(20))
async def test_bytes_pass_however_they_are_cut(seed: int) -> None:
    """Requests and answers, each cut at any place."""
    random_of = random.Random(seed)
    async with held_broker() as (broker, _, client):
        requests, answers = [], []
        for number in range(1, 30):
            value, version = random_of.choice(
                [
                    (producing(random_of.choice((1, 3000, 90_000))), random_of.choice((3, 7, 9, 11))),
                    (fetch("t"), random_of.choice((4, 12))),
                    (HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), random_of.choice((0, 4))),
                ]
            )
            requests.append(encoded(value, version, number))
            response: Any = {ProduceRequest: ProduceResponse, HeartbeatRequest: HeartbeatResponse}.get(
                type(value), FetchResponse
            )()
            answers.append(encoded_answer(spec_of_request(value).key, version, number, response))
        whole, answered = b"".join(requests), b"".join(answers)

        async def cut(data: bytes, write: Callable[[bytes], Any]) -> None:
            while data:
                size = random_of.choice((1, 2, 5, 11, 40, 3000, 100_000))
                done = write(data[:size])
                if done is not None:
                    await done
                data = data[size:]
                await asyncio.sleep(0)

        sending = asyncio.ensure_future(cut(whole, client.send_raw))
        sent_answers = 0
        got = b""
        while sent_answers < len(answers):
            await came(broker, sent_answers + 1)
            ready = len(broker.frames)
            await cut(b"".join(answers[sent_answers:ready]), broker.write)
            for _ in range(sent_answers, ready):
                frame = await client.read_frame()
                assert frame is not None
                got += SIZE.pack(len(frame)) + frame
            sent_answers = ready
        await sending
        assert bytes(broker.received) == whole
        assert got == answered


async def test_records_in_flight_arrive_in_order(tmp_path: Path) -> None:
    """Before a broker that acts as Kafka 4: what it answers is what came."""
    async with running_gateway(tmp_path) as stage, await stage.connect_to_broker() as own:
        await create(own, "orders")
        async with await stage.connect() as client:
            assert await client.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 0)
            sent = [await client.begin(producing(topic="orders"), version) for version in (3, 7, 9, 11) * 10]
            offsets = [
                (await client.finish(producing(), version, each)).responses[0].partition_responses[0].base_offset
                for each, version in zip(sent, (3, 7, 9, 11) * 10, strict=True)
            ]
            assert offsets == list(range(40))
            assert (await fetched(client, fetch("orders"), 12)).high_watermark == 40
