"""A fleet of old clients that read the same topic at the same time."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.records.builder import build_batch
from stepdown.storage.downconversion.shared_chunks import SWEEP_MS
from support.client import RawClient
from support.clock import ManualClock
from support.fetching import connect, create, fetch, fetched, produce, records
from support.running import running_broker

READERS = 6
BATCHES = 40
SHARED = "stepdown.conversion.shared.bytes"


async def written(broker: Broker) -> None:
    async with await connect(broker) as client:
        await create(client, "t")
        for at in range(BATCHES):
            await produce(client, "t", build_batch(records(20, 2000, first=20 * at)))


async def read_all(client: RawClient, version: int) -> bytes:
    """The bytes of all answers from the first offset on, in steps of about 300 kB."""
    return b"".join(
        [
            bytes((await fetched(client, fetch("t", offset, max_bytes=300_000), version)).records)
            for offset in range(0, 20 * BATCHES, 137)
        ]
    )


def value(broker: Broker, name: str) -> float:
    return float(sum(child.value for child in getattr(broker.metrics, name)._children.values()))


@pytest.mark.parametrize("version", [1, 2])
async def test_each_reader_gets_what_a_lone_one_gets_and_most_of_it_is_made_once(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path, clock=ManualClock()) as broker, AsyncExitStack() as stack:
        await written(broker)
        clients = [await stack.enter_async_context(await connect(broker)) for _ in range(READERS)]
        alone = await read_all(clients[0], version)
        assert value(broker, "shared_kept") == 0
        assert await asyncio.gather(*(read_all(client, version) for client in clients)) == [alone] * READERS
        assert value(broker, "shared_bytes") > len(alone)
        assert broker.conversion_budget.in_use_bytes == broker.conversion_budget.spare_bytes
        assert 0 < broker.shared_chunks.held_bytes == broker.conversion_budget.spare_bytes


async def test_records_are_counted_for_each_reader(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, AsyncExitStack() as stack:
        await written(broker)
        clients = [await stack.enter_async_context(await connect(broker)) for _ in range(READERS)]
        await asyncio.gather(*(fetched(client, fetch("t", max_bytes=10 << 20), 2) for client in clients))
        assert broker.metrics.fetch_conversions.of("t").value == READERS * 20 * BATCHES
        assert value(broker, "shared_bytes") > 0


async def test_soon_after_the_last_nothing_is_held(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker, AsyncExitStack() as stack:
        await written(broker)
        clients = [await stack.enter_async_context(await connect(broker)) for _ in range(READERS)]
        await asyncio.gather(*(read_all(client, 2) for client in clients))
        assert broker.shared_chunks.held_bytes
        await clock.advance(2 * SWEEP_MS)
        assert broker.shared_chunks.held_bytes == broker.conversion_budget.in_use_bytes == 0


async def test_the_budget_holds_while_readers_stall_and_others_share(tmp_path: Path) -> None:
    """Those that stall hold a chunk each; what is shared makes room for them."""
    limit = 4 << 20
    settings = {
        "stepdown.conversion.memory.bytes": 2 * limit,
        "socket.send.buffer.bytes": 16384,
        "stepdown.socket.send.buffer.bytes": -1,
    }
    async with running_broker(tmp_path, **settings) as broker, AsyncExitStack() as stack:
        await written(broker)
        clients = [await stack.enter_async_context(await connect(broker)) for _ in range(3 * READERS)]
        request = fetch("t", max_bytes=10 << 20)
        alone = bytes((await fetched(clients[0], request, 2)).records)
        stalled = [(client, await client.begin(request, 2)) for client in clients[READERS:]]
        answers = await asyncio.gather(*(fetched(client, request, 2) for client in clients[:READERS]))
        assert [bytes(answer.records) for answer in answers] == [alone] * READERS
        for client, begun in stalled:
            answer = (await client.finish(request, 2, begun)).responses[0].partitions[0]
            assert bytes(answer.records) == alone
        assert value(broker, "shared_bytes") > 0
        assert broker.conversion_budget.peak_bytes <= limit


async def test_it_can_be_turned_off(tmp_path: Path) -> None:
    async with running_broker(tmp_path, **{SHARED: 0}) as broker, AsyncExitStack() as stack:
        await written(broker)
        clients = [await stack.enter_async_context(await connect(broker)) for _ in range(READERS)]
        await asyncio.gather(*(read_all(client, 2) for client in clients))
        assert value(broker, "shared_kept") == value(broker, "shared_bytes") == 0
