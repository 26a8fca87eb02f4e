"""Hosts with several addresses, of which one answers nothing or refuses."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from stepdown.client.tcp_connect import TcpConnect
from stepdown.producer import Producer
from support.deadline import DEADLINE_S
from support.running import until

GONE, THERE = "127.0.0.2", "127.0.0.1"
HOST = "brokers.test"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """It listens at THERE; the host has GONE before it."""

    def found(host: str, port: int, *_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in (GONE, THERE)]

    with socket.create_server((THERE, 0)) as server:
        monkeypatch.setattr(socket, "getaddrinfo", found)
        server.setblocking(False)
        yield server


@pytest.fixture
def port(server: socket.socket) -> int:
    return int(server.getsockname()[1])


@pytest.fixture
def silent(port: int) -> Iterator[None]:
    """GONE answers no attempt, as a machine that is down: its listener's backlog is full."""
    with socket.create_server((GONE, port), backlog=0), socket.socket() as one, socket.socket() as other:
        for client in (one, other):
            client.setblocking(False)
            client.connect_ex((GONE, port))
        yield


async def test_who_refuses_is_passed_over(port: int) -> None:
    connections: list[asyncio.Protocol] = []

    class Counted(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            connections.append(self)
            transport.close()

    connect = TcpConnect()
    for _ in range(2):
        await connect(Counted, HOST, port)
    assert len(connections) == 2


@pytest.mark.usefixtures("silent")
async def test_the_next_attempt_goes_on_behind_an_address_that_answers_nothing(port: int) -> None:
    """Each attempt began with it, and was over before it came to another one."""
    connect = TcpConnect()
    first = asyncio.ensure_future(connect(asyncio.Protocol, HOST, port))
    await until(lambda: bool(connect._next))
    first.cancel()
    await asyncio.wait_for(connect(asyncio.Protocol, HOST, port), DEADLINE_S)
    assert first.cancelled()


@pytest.mark.usefixtures("silent")
async def test_a_producer_reaches_the_address_that_is_there(server: socket.socket, port: int) -> None:
    settings = {"socket_connection_setup_timeout_ms": 50, "reconnect_backoff_ms": 1}
    async with Producer(f"{HOST}:{port}", configs=settings) as producer:
        producer.send("t", b"v")
        connection, _ = await asyncio.wait_for(asyncio.get_running_loop().sock_accept(server), DEADLINE_S)
        connection.close()
        await producer.close(0)
