"""A fetch of thousands of partitions that waits kept 47 times its frame: a thousand connections, 32 kB each, 1.5 GB."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.bench.servers.admin_connection import frame_of
from stepdown.broker.broker import Broker
from stepdown.network.admission.request_claims import BYTES_A_BYTE, FREE_PARSED_BYTES, memory_bytes_of
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from support.deadline import DEADLINE_S
from support.fetching import connect, create
from support.running import running_broker, until

PARTITIONS = 300
DAYS_MS = 2_000_000_000
MEMORY_BYTES = 1 << 20
CONNECTIONS = 60
BESIDE_BYTES = 3 * MEMORY_BYTES
"""Frames, answers, what four fetches at once read, and what the connections are themselves."""

Connections = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


def fetch_of(partitions: int) -> bytes:
    asked = tuple(FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1) for index in range(partitions))
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=DAYS_MS,
        min_bytes=1,
        topics=(FetchTopic(topic="t", partitions=asked),),
    )
    return frame_of(request, 4)


LARGE = fetch_of(PARTITIONS)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, **{"stepdown.request.memory.bytes": MEMORY_BYTES}) as started:
        async with await connect(started) as client:
            await create(client, "t", partitions=PARTITIONS)
        yield started


async def fetch_by(broker: Broker, count: int, request: bytes = LARGE) -> Connections:
    """Connections that have sent it once each."""
    opened = [await asyncio.open_connection("127.0.0.1", broker.address.port) for _ in range(count)]
    for _, writer in opened:
        writer.write(request)
    return opened


async def hang_up(broker: Broker, connections: Connections) -> None:
    for _, writer in connections:
        writer.transport.abort()
    await until(lambda: broker.connections == 0 and not len(broker.fetch_purgatory))


async def bring_about_the_first(broker: Broker) -> None:
    """Imports, codecs and indexes are not the cost of a fetch."""
    first = await fetch_by(broker, 1)
    await until(lambda: len(broker.fetch_purgatory) == 1)
    await hang_up(broker, first)


async def test_a_fetch_that_waits_takes_no_more_than_it_is_charged(broker: Broker) -> None:
    await bring_about_the_first(broker)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        connections = await fetch_by(broker, 5)
        await until(lambda: len(broker.fetch_purgatory) == len(connections))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    charged = broker._shared.parsed_requests.in_use_bytes
    frame = LARGE[4:]
    assert (
        charged == len(connections) * memory_bytes_of(memoryview(frame)) == len(connections) * len(frame) * BYTES_A_BYTE
    )
    assert after - before <= 1.25 * charged
    await hang_up(broker, connections)
    assert broker._shared.parsed_requests.in_use_bytes == 0


async def test_many_of_them_take_no_more_than_their_budget(broker: Broker) -> None:
    budget = broker._shared.parsed_requests
    await bring_about_the_first(broker)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        connections = await fetch_by(broker, CONNECTIONS)
        answers = [asyncio.create_task(reader.readexactly(4)) for reader, _ in connections]
        await until(lambda: len(broker.fetch_purgatory) + sum(each.done() for each in answers) == CONNECTIONS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert budget.peak_bytes <= budget.limit_bytes == MEMORY_BYTES
    assert 0 < len(broker.fetch_purgatory) < CONNECTIONS
    assert peak - before <= MEMORY_BYTES + BESIDE_BYTES
    for each in answers:
        each.cancel()
    await asyncio.gather(*answers, return_exceptions=True)
    await hang_up(broker, connections)
    assert (budget.in_use_bytes, budget.waiting_count) == (0, 0)


async def test_one_that_gives_way_is_answered(broker: Broker) -> None:
    """Early, with what there is; nobody is hung up on."""
    fits = MEMORY_BYTES // memory_bytes_of(memoryview(LARGE[4:]))
    first = await fetch_by(broker, 1)
    await until(lambda: len(broker.fetch_purgatory) == 1)
    others = await fetch_by(broker, fits)
    async with asyncio.timeout(DEADLINE_S):
        assert len(await first[0][0].readexactly(PARTITIONS)) == PARTITIONS
    await until(lambda: len(broker.fetch_purgatory) == fits)
    await hang_up(broker, [*first, *others])


async def test_a_request_of_usual_size_costs_nothing(broker: Broker) -> None:
    request = fetch_of(100)
    assert len(request) <= FREE_PARSED_BYTES
    connections = await fetch_by(broker, 1, request)
    await until(lambda: len(broker.fetch_purgatory) == 1)
    assert broker._shared.parsed_requests.peak_bytes == 0
    await hang_up(broker, connections)


def test_records_cost_nothing() -> None:
    assert memory_bytes_of(memoryview(b"\x00\x00" + bytes(1 << 20))) == 0
