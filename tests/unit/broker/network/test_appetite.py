"""How much a peer is offered at once."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.broker.network.appetite import LONGEST_PAUSE, MOST_LARGE_BUFFERS, Appetite, LargeBuffers
from stepdown.broker.network.buffer_pool import FOR_NOW_BYTES, STANDARD_BYTES
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from support.client import RawClient
from support.running import running_broker

PLENTY = 1 << 24


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    with socket.socket() as opened:
        yield opened


@pytest.fixture
def roomy(sock: socket.socket) -> socket.socket:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, FOR_NOW_BYTES)
    if sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2 < FOR_NOW_BYTES:
        pytest.skip("the system's net.core.wmem_max is smaller than a slice")
    return sock


def served_steps(appetite: Appetite) -> int:
    """Slices that are sent step by step before the next that is offered at once."""
    steps = 0
    while not appetite.next_bytes(PLENTY):
        steps += 1
    return steps


def test_who_leaves_some_is_offered_less_and_less_often(sock: socket.socket) -> None:
    appetite = Appetite(sock, None)
    pauses = []
    for _ in range(9):
        appetite.left_some()
        pauses.append(served_steps(appetite))
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 64, 64] and LONGEST_PAUSE == 64
    appetite.took_all()
    appetite.left_some()
    assert served_steps(appetite) == 1


def test_peers_elsewhere_are_offered_a_chunk(sock: socket.socket) -> None:
    assert Appetite(sock, None).next_bytes(PLENTY) == STANDARD_BYTES


def send_buffer(sock: socket.socket) -> int:
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2


def test_a_process_of_this_host_is_offered_a_slice_while_few_others_are(roomy: socket.socket) -> None:
    large = LargeBuffers()
    peers = [Appetite(roomy, large) for _ in range(MOST_LARGE_BUFFERS)]
    assert {peer.next_bytes(PLENTY) for peer in peers} == {FOR_NOW_BYTES}
    ninth = Appetite(roomy, large)
    assert ninth.next_bytes(PLENTY) == STANDARD_BYTES
    peers[0].close()
    peers[0].close()
    asked = [ninth.next_bytes(PLENTY) for _ in range(LONGEST_PAUSE + 1)]
    assert asked == [STANDARD_BYTES] * LONGEST_PAUSE + [FOR_NOW_BYTES]
    assert Appetite(roomy, large).next_bytes(PLENTY) == STANDARD_BYTES


def test_who_stalls_again_and_again_lets_others_have_the_large_buffer(roomy: socket.socket) -> None:
    roomy.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 100_000)
    large = LargeBuffers()
    peers = [Appetite(roomy, large) for _ in range(MOST_LARGE_BUFFERS)]
    assert {peer.next_bytes(PLENTY) for peer in peers} == {FOR_NOW_BYTES}
    stalling, other = peers[0], Appetite(roomy, large)  # the others found it large
    for _ in range(6):
        assert send_buffer(roomy) >= FOR_NOW_BYTES
        stalling.left_some()
    assert send_buffer(roomy) == 100_000
    assert other.next_bytes(PLENTY) == FOR_NOW_BYTES


def test_who_gives_the_large_buffer_back_keeps_what_the_wire_had_grown_to(roomy: socket.socket) -> None:
    roomy.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 100_000)
    appetite = Appetite(roomy, LargeBuffers(), 262_144)
    assert appetite.next_bytes(PLENTY) == FOR_NOW_BYTES
    for _ in range(6):
        appetite.left_some()
    assert send_buffer(roomy) == 262_144


def test_a_larger_buffer_than_a_slice_needs_is_left_as_it_is(roomy: socket.socket) -> None:
    roomy.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * FOR_NOW_BYTES)
    before = send_buffer(roomy)
    assert Appetite(roomy, LargeBuffers()).next_bytes(PLENTY) == FOR_NOW_BYTES
    assert send_buffer(roomy) == before


def test_where_the_system_allows_no_such_buffer_all_keep_what_they_have(
    sock: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It clips what is asked for, and says nothing."""
    monkeypatch.setattr("stepdown.broker.network.appetite.FOR_NOW_BYTES", 1 << 30)
    before = send_buffer(sock)
    large = LargeBuffers()
    assert Appetite(sock, large).next_bytes(1 << 40) == STANDARD_BYTES
    assert large.try_give(sock) is None
    assert send_buffer(sock) == before


def test_what_is_free_of_the_budget_is_not_claimed_whole(roomy: socket.socket) -> None:
    appetite = Appetite(roomy, LargeBuffers())
    offered = [appetite.next_bytes(free) for free in (2 * FOR_NOW_BYTES, 2 * FOR_NOW_BYTES - 1, STANDARD_BYTES - 1)]
    assert offered == [FOR_NOW_BYTES, STANDARD_BYTES, 0]


def test_a_socket_that_is_closed_is_offered_a_chunk() -> None:
    closed = socket.socket()
    closed.close()
    assert Appetite(closed, LargeBuffers()).next_bytes(PLENTY) == STANDARD_BYTES


@pytest.mark.parametrize("send_buffer_bytes", [262144, -1])
async def test_a_connection_from_this_host_is_not_paced_and_may_have_a_large_buffer(
    tmp_path: Path, roomy: socket.socket, send_buffer_bytes: int
) -> None:
    async with running_broker(tmp_path, stepdown_socket_send_buffer_bytes=send_buffer_bytes) as broker:
        client = await RawClient.connect(broker.address.host, broker.address.port)
        await client.send(ApiVersionsRequest(), 0)
        (connection,) = broker._server._open
        with socket.socket(fileno=os.dup(connection._wire.fileno())) as sock:
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"
        offered = connection._wire.appetite.next_bytes(PLENTY)
        assert offered == (FOR_NOW_BYTES if send_buffer_bytes > 0 else STANDARD_BYTES)
