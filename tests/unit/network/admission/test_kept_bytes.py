"""What is kept for clients and no budget was asked for, as requests that are not whole: who gives way."""

import asyncio
import struct
from pathlib import Path

import pytest
from stepdown.network.admission.kept_bytes import KeptBytes
from stepdown.protocol.messages.metadata import MetadataRequest
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.fetching import connect, create, fetch
from support.running import running_broker, until

PATIENCE_MS = 1_000
SOFT = 100
CONNECTIONS = 100
HALF = struct.pack(">i", 30_000) + struct.pack(">hhi", 3, 9, 1) + bytes(29_000)
MEMORY = 1 << 20


class Kept:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.bytes = KeptBytes(SOFT, 2 * SOFT, self.clock, PATIENCE_MS)
        self.given_up: list[str] = []

    def keep(self, network: str, name: str, size: int = 10) -> None:
        self.bytes.keep(name, network, size, lambda: self.given_up.append(name))


def test_the_oldest_of_the_network_with_most_gives_way_at_twice_the_limit() -> None:
    kept = Kept()
    kept.keep("b", "honest")
    for number in range(30):
        kept.keep("a", f"a{number}")
    assert kept.bytes.in_use_bytes == 2 * SOFT
    assert kept.given_up == [f"a{number}" for number in range(11)]


async def test_above_the_limit_those_give_way_whose_rest_does_not_come() -> None:
    kept = Kept()
    for number in range(10):
        kept.keep("a", f"a{number}")
    await kept.clock.advance(PATIENCE_MS - 1)
    kept.keep("a", "late")
    assert kept.given_up == []
    await kept.clock.advance(1)
    kept.keep("a", "later")
    assert kept.given_up == ["a0", "a1"]


def test_what_is_released_counts_no_more() -> None:
    kept = Kept()
    kept.keep("a", "a0")
    for _ in range(2):
        kept.bytes.release("a0", "a")
    assert kept.bytes.in_use_bytes == 0
    assert not kept.bytes._of
    assert not kept.bytes._bytes_of


def test_one_alone_may_have_any_size() -> None:
    kept = Kept()
    kept.keep("a", "large", 10 * SOFT)
    assert kept.given_up == []
    kept.keep("b", "small")
    assert kept.given_up == ["large"]


async def test_many_half_frames_have_a_bound_and_others_are_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Frames of at most 32 KiB counted nowhere: 5,000 connections with 30 kB of one held 206 MB."""
    async with running_broker(tmp_path, **{"stepdown.request.memory.bytes": MEMORY}) as broker:
        frames = broker._shared.half_frames
        honest = await RawClient.connect("127.0.0.1", broker.address.port, own_host="127.0.0.2")
        request = honest.frame(MetadataRequest(topics=None), 9)
        await honest.send_raw(request[:10])
        await until(lambda: frames.in_use_bytes == 10)
        writers = []
        for _ in range(CONNECTIONS):
            _, writer = await asyncio.open_connection("127.0.0.1", broker.address.port)
            writer.write(HALF)
            writers.append(writer)
        await until(lambda: "unfinished requests hold too much memory" in caplog.text)
        assert frames.in_use_bytes <= MEMORY // 2
        async with asyncio.timeout(DEADLINE_S):
            await honest.send_raw(request[10:])
            assert await honest.read_frame()
        await until(lambda: broker.connections <= MEMORY // 2 // len(HALF) + 2)
        assert frames.in_use_bytes <= MEMORY // 2
        for writer in writers:
            writer.transport.abort()
        await honest.close()
        await until(lambda: broker.connections == 0)
        assert frames.in_use_bytes == 0
        lines = [each for each in caplog.text.splitlines() if "unfinished requests hold" in each]
        assert len(lines) < 15


async def test_what_lies_behind_a_request_that_waits_has_a_bound(tmp_path: Path) -> None:
    """A Fetch that waits and 100 kB of requests after it cost 128 KiB a connection, in any number."""
    async with running_broker(tmp_path, **{"stepdown.request.memory.bytes": MEMORY}) as broker:
        ahead = broker._shared.read_ahead
        async with await connect(broker) as client:
            await create(client, "t")
        clients = [await RawClient.connect("127.0.0.1", broker.address.port) for _ in range(40)]
        for client in clients:
            waiting = client.frame(fetch("t", max_wait_ms=600_000, min_bytes=1), 4)
            await client.send_raw(waiting + client.frame(MetadataRequest(topics=None), 9) * 4_000)
        await until(lambda: len(broker.fetch_purgatory) == len(clients))
        assert 0 < ahead.in_use_bytes <= ahead.limit_bytes + 128 * 1024
        for client in clients:
            await client.close()
    assert ahead.in_use_bytes == 0
