"""What a connection survives, and what it is closed for."""

import asyncio
import logging
import struct
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from support.client import RawClient
from support.clock import ManualClock, settle
from support.running import running_broker


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
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", "1195725856", id="http"),
    ],
)
async def test_bytes_that_cannot_be_read_close_the_connection_with_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes, said: str
) -> None:
    async with running_broker(tmp_path) as broker:
        client = await connect(broker)
        with caplog.at_level(logging.WARNING, logger="stepdown"):
            await client.send_raw(data)
            assert await client.read_frame() is None
        lines = [record.getMessage() for record in caplog.records]
        assert len(lines) == 1
        assert said in lines[0]
        other = await connect(broker)
        assert (await other.send(ApiVersionsRequest(), 0)).error_code == 0


async def test_the_line_names_client_api_and_version(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_broker(tmp_path) as broker:
        client = await connect(broker)
        with caplog.at_level(logging.WARNING, logger="stepdown"):
            await client.send_raw(framed(header(1, 4, b"old-app") + b"\0"))
            assert await client.read_frame() is None
        assert "old-app" in caplog.text
        assert "Fetch v4" in caplog.text


async def test_a_frame_may_arrive_byte_by_byte(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await connect(broker)
        for byte in client.frame(ApiVersionsRequest(), 0):
            await client.send_raw(bytes([byte]))
            await asyncio.sleep(0)
        assert await client.read_frame() is not None


async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await connect(broker)
        requests: list[tuple[Any, int]] = [(MetadataRequest(topics=None), 1), (ApiVersionsRequest(), 0)] * 50
        sent = [(request, version, await client.begin(request, version)) for request, version in requests]
        for request, version, correlation_id in sent:
            await client.finish(request, version, correlation_id)


async def test_a_silent_connection_is_closed_after_its_time(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, connections_max_idle_ms=60_000) as broker:
        client = await connect(broker)
        await client.send(ApiVersionsRequest(), 0)
        await clock.advance(50_000)
        await client.send(ApiVersionsRequest(), 0)
        await clock.advance(50_000)
        assert broker.connections == 1
        await clock.advance(25_000)
        assert await client.read_frame() is None


async def test_an_unfinished_frame_costs_what_was_sent_of_it(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await connect(broker)
        await client.send_raw(struct.pack(">i", 100_000_000) + bytes(1000))
        await settle()
        (connection,) = broker._server._open
        assert connection._parser.buffered_bytes <= 1004


async def test_connections_above_the_limit_of_an_address_are_refused(tmp_path: Path) -> None:
    async with running_broker(tmp_path, max_connections_per_ip=1) as broker:
        first = await connect(broker)
        await first.send(ApiVersionsRequest(), 0)
        second = await connect(broker)
        assert await second.read_frame() is None
        assert (await first.send(ApiVersionsRequest(), 0)).error_code == 0


async def test_an_unknown_version_of_api_versions_is_answered_in_version_0(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await connect(broker)
        await client.send_raw(framed(header(18, 77) + b"\0"))
        frame = await client.read_frame()
        assert frame is not None
        correlation_id, error, count, key, low, high = struct.unpack(">ihihhh", frame)
        assert (correlation_id, error, count, key, low, high) == (7, 35, 1, 18, 0, 4)


async def test_stopping_hangs_up_on_everybody_and_answers_what_was_asked(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        idle, busy = await connect(broker), await connect(broker)
        await idle.send(ApiVersionsRequest(), 0)
        correlation_id = await busy.begin(ApiVersionsRequest(), 0)
        await busy.finish(ApiVersionsRequest(), 0, correlation_id)
    assert await idle.read_frame() is None
    assert await busy.read_frame() is None
