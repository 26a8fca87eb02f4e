"""Answers of at most 64 KiB that nobody reads were counted nowhere."""

import asyncio
import socket
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from support.client import RawClient
from support.fetching import create, fetch
from support.running import running_broker, until

MEMORY_BYTES = 32 * 1024
LIMITS = {"socket_send_buffer_bytes": 4096, "stepdown_request_memory_bytes": MEMORY_BYTES}
PIPELINED = 100
WAITS_MS = 1 << 30


async def unread(broker: Broker, data: bytes) -> socket.socket:
    """A connection that asks and reads nothing."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, (broker.address.host, broker.address.port))
    await asyncio.get_running_loop().sock_sendall(sock, data)
    return sock


@pytest.mark.parametrize("waits", [False, True], ids=["small answers", "small answers before a fetch that waits"])
async def test_who_reads_nothing_gives_way(tmp_path: Path, caplog: pytest.LogCaptureFixture, waits: bool) -> None:
    async with (
        running_broker(tmp_path, **LIMITS) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as other,
    ):
        await create(other, "t")
        data = other.frame(ApiVersionsRequest(), 0) * PIPELINED
        if waits:
            data += other.frame(fetch("t", min_bytes=1, max_wait_ms=WAITS_MS), 4)
        socks = []
        while "reads its answer too slowly" not in caplog.text:
            socks.append(await unread(broker, data))
            assert (await other.send(ApiVersionsRequest(), 0)).error_code == 0
            assert broker.unread_answers.in_use_bytes <= broker.unread_answers.limit_bytes == 2 * MEMORY_BYTES
        assert len(socks) > 1
        await until(lambda: broker.connections <= len(socks))
        for sock in socks:
            sock.close()
        await until(lambda: broker.connections == 1)
        assert broker.unread_answers.in_use_bytes == 0
    assert "Traceback" not in caplog.text
