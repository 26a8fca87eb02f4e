"""A connection's socket: what the kernel is told of it."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from stepdown.broker.network.listener import Limits
from stepdown.broker.network.transport import PlainWire

GROWN_BYTES = 150_000
SMALL_BYTES = 20_000


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BYTES)
    with near, far:
        yield near, far


def send_buffer_bytes(sock: socket.socket) -> int:
    """As it was asked for: Linux doubles it, for what it keeps beside."""
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2


async def test_the_send_buffer_grows_when_it_is_full(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    wire = PlainWire(near, asyncio.get_running_loop(), GROWN_BYTES)
    assert wire.try_send(b"fits") == 4
    await wire.room()
    assert send_buffer_bytes(near) == SMALL_BYTES
    data = bytes(1_000_000)
    wire.try_send(data)
    assert not wire.has_room()
    waits = asyncio.ensure_future(wire.room())
    await asyncio.sleep(0)
    assert send_buffer_bytes(near) == GROWN_BYTES
    far.recv(1 << 20)
    await waits
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BYTES)
    await wire.room()
    assert send_buffer_bytes(near) == SMALL_BYTES, "once is enough"
    wire.close()


async def test_it_grows_by_as_much_as_is_of_use_and_never_shrinks(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    far.setblocking(False)
    wire = PlainWire(near, asyncio.get_running_loop(), GROWN_BYTES)
    for share, size_bytes in ((0.1, SMALL_BYTES), (0.5, GROWN_BYTES // 2), (0.4, GROWN_BYTES // 2), (1, GROWN_BYTES)):
        while wire.has_room():
            wire.try_send(bytes(10_000))
        waits = asyncio.ensure_future(wire.drive(None, buffer_share=share))
        await asyncio.sleep(0)
        assert send_buffer_bytes(near) == size_bytes
        with suppress(BlockingIOError):
            while far.recv(1 << 20):
                pass
        await asyncio.wait_for(waits, timeout=10)
    wire.close()


async def test_without_a_size_it_stays_as_it_is(ends: tuple[socket.socket, socket.socket]) -> None:
    near, _ = ends
    wire = PlainWire(near, asyncio.get_running_loop())
    await wire.room()
    assert send_buffer_bytes(near) == SMALL_BYTES
    wire.close()


LIMITS = Limits(
    connections=1,
    per_ip=1,
    per_host={},
    idle_ms=1,
    backlog=1,
    send_buffer_bytes=102_400,
    most_send_buffer_bytes=262_144,
    receive_buffer_bytes=1,
)


@pytest.mark.parametrize(
    ("changes", "grown_bytes"),
    [
        ({}, 262_144),
        ({"send_buffer_bytes": 262_144}, None),
        ({"send_buffer_bytes": 1_000_000}, None),
        ({"send_buffer_bytes": -1}, None),
        ({"most_send_buffer_bytes": -1}, None),
    ],
)
def test_it_grows_only_from_a_smaller_one_that_was_set(changes: dict[str, Any], grown_bytes: int | None) -> None:
    assert replace(LIMITS, **changes).grown_send_buffer_bytes == grown_bytes
