"""Hosts with several addresses, of which one answers nothing or refuses."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest
from stepdown.client.host_lookups import HostLookups
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


async def test_those_who_look_for_a_host_at_once_share_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose lookup hung took all of the event loop's threads for lookups, and other hosts were not found."""
    going_on, asked = threading.Event(), []

    def find(host: str, port: int, **_: object) -> list[object]:
        asked.append(host)
        if host == HOST:
            going_on.wait(DEADLINE_S)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (THERE, port))]

    monkeypatch.setattr(socket, "getaddrinfo", find)
    lookups = HostLookups()
    hanging = [asyncio.create_task(lookups.find_addresses(HOST, 1)) for _ in range(20)]
    await until(lambda: asked == [HOST])
    hanging[0].cancel()
    assert await lookups.find_addresses("another.test", 1) == [THERE]
    going_on.set()
    assert await asyncio.gather(*hanging[1:]) == [[THERE]] * 19
    assert asked == [HOST, "another.test"]


async def test_a_host_that_is_not_found_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(host: str, port: int, **_: object) -> list[object]:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    lookups = HostLookups()
    for _ in range(2):
        with pytest.raises(OSError, match="not known"):
            await lookups.find_addresses(HOST, 1)
    assert asked == [HOST, HOST]
