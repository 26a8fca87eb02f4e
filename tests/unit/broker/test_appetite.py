"""How much a peer is offered at once."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.broker.appetite import LONGEST_PAUSE, MOST_LARGE_BUFFERS, Appetite, LargeBuffers
from stepdown.broker.buffers import FOR_NOW_BYTES, STANDARD_BYTES
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


def test_a_process_of_this_host_is_offered_a_slice_while_few_others_are(roomy: socket.socket) -> None:
    large = LargeBuffers()
    peers = [Appetite(roomy, large) for _ in range(MOST_LARGE_BUFFERS)]
    assert {peer.next_bytes(PLENTY) for peer in peers} == {FOR_NOW_BYTES}
    assert Appetite(roomy, large).next_bytes(PLENTY) == STANDARD_BYTES
    peers[0].close()
    peers[0].close()
    assert [Appetite(roomy, large).next_bytes(PLENTY) for _ in range(2)] == [FOR_NOW_BYTES, STANDARD_BYTES]


def test_a_small_budget_is_not_claimed_for_slices(roomy: socket.socket) -> None:
    appetite = Appetite(roomy, LargeBuffers())
    assert appetite.next_bytes(8 * FOR_NOW_BYTES - 1) == STANDARD_BYTES
    assert appetite.next_bytes(8 * FOR_NOW_BYTES) == FOR_NOW_BYTES


def test_a_socket_that_gets_no_larger_buffer_is_offered_a_chunk() -> None:
    closed = socket.socket()
    closed.close()
    large = LargeBuffers()
    assert Appetite(closed, large).next_bytes(PLENTY) == STANDARD_BYTES


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
