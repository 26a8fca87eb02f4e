"""Readers that share converted chunks of a log which is cut, compacted, or made anew under its name meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metrics.instruments import CounterFamily
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.client import RawClient
from support.clock import ManualClock
from support.fetching import connect, create, fetch, fetched, produce, read
from support.running import running_broker

READERS = 5
BATCHES = 60
A_BATCH = 20
KEYS = 90
CLEANER_BACKOFF_MS = 15_000
FILE_DELETE_DELAY_MS = 60_001
COMPACTED = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01", "segment_bytes": "1000000"}
Found = list[tuple[int, bytes | None]]
Change = Callable[[Broker, ManualClock, RawClient], Awaitable[None]]


@asynccontextmanager
async def shared_log(tmp_path: Path, **settings: object) -> AsyncIterator[tuple[Broker, ManualClock, list[RawClient]]]:
    """A broker with a topic of 2.4 MB, and old clients that may read it."""
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, **settings) as broker, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(await connect(broker)) for _ in range(READERS)]
        await create(clients[0], "t", **COMPACTED)
        await write(clients[0], "first", 0, BATCHES)
        yield broker, clock, clients


async def write(client: RawClient, name: str, start: int, end: int) -> None:
    for at in range(start, end):
        offsets = range(at * A_BATCH, (at + 1) * A_BATCH)
        batch = [
            Record(offset=n, timestamp=1000, key=b"%d" % (offset % KEYS), value=value(name, offset))
            for n, offset in enumerate(offsets)
        ]
        await produce(client, "t", build_batch(batch))


def value(name: str, offset: int) -> bytes:
    return f"{name} {offset} ".encode() * 200


def written(name: str, start: int, end: int) -> Found:
    return [(offset, value(name, offset)) for offset in range(start * A_BATCH, end * A_BATCH)]


async def everything(client: RawClient, version: int) -> Found:
    """What a client reads of the topic, from its first offset on to where nothing follows."""
    found: Found = []
    offset = 0
    while True:
        records = read((await fetched(client, fetch("t", offset, max_bytes=300_000), version)).records)
        new = [(at, value) for at, _, _, value in records if at >= offset]
        if not new:
            return found
        found += new
        offset = new[-1][0] + 1


def promised(broker: Broker) -> float:
    """The size of all that was or is to be converted."""
    return total(broker.metrics.conversion_bytes)


def total(family: CounterFamily) -> float:
    return float(sum(child.value for child in family._children.values()))


async def cut(broker: Broker, clock: ManualClock, client: RawClient) -> None:
    partition = broker.cluster.partition("t", 0)
    partition.log.truncate_to(30 * A_BATCH)
    await write(client, "second", 30, BATCHES)


async def compact(broker: Broker, clock: ManualClock, client: RawClient) -> None:
    broker.cluster.partition("t", 0).log.roll()
    await clock.advance(CLEANER_BACKOFF_MS)
    await broker.cleaner.idle()


async def make_anew(broker: Broker, clock: ManualClock, client: RawClient) -> None:
    await broker.topics.delete(["t"])
    await create(client, "t", retention_ms="-1")
    await write(client, "second", 0, BATCHES // 2)


CHANGES = [
    pytest.param(cut, written("first", 0, 30) + written("second", 30, BATCHES), id="cut"),
    pytest.param(compact, written("first", 0, BATCHES)[-KEYS:], id="compacted"),
    pytest.param(make_anew, written("second", 0, BATCHES // 2), id="made anew"),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("change", "expected"), CHANGES)
async def test_after_a_change_all_readers_get_what_is_stored_now(
    tmp_path: Path, change: Change, expected: Found, version: int
) -> None:
    async with shared_log(tmp_path) as (broker, clock, clients):
        before = await asyncio.gather(*(everything(client, version) for client in clients))
        assert before == [written("first", 0, BATCHES)] * READERS
        assert broker.shared_chunks.held_bytes
        await change(broker, clock, clients[0])
        if change is not compact:  # what was kept is still there, and must not be found; the clock stood still
            assert broker.shared_chunks.held_bytes
        after = await asyncio.gather(*(everything(client, version) for client in clients))
        assert after == [expected] * READERS
        assert broker.conversion_budget.in_use_bytes == broker.conversion_budget.spare_bytes


@pytest.mark.parametrize(("change", "expected"), CHANGES[1:])
async def test_answers_on_their_way_go_on_with_what_they_began(tmp_path: Path, change: Change, expected: Found) -> None:
    """The files of a compacted log, or of a deleted topic, are gone, but not for those who read them."""
    settings = {"socket.send.buffer.bytes": 16384, "stepdown.socket.send.buffer.bytes": -1}
    async with shared_log(tmp_path, **settings) as (broker, clock, clients):
        request = fetch("t", max_bytes=10 << 20)
        await fetched(clients[0], request, 2)
        promised_bytes = READERS * promised(broker)
        begun = [(client, await client.begin(request, 2)) for client in clients[1:]]
        async with asyncio.timeout(10):
            while promised(broker) < promised_bytes:  # noqa: ASYNC110 -- nobody tells when an answer has begun
                await asyncio.sleep(0)
        await change(broker, clock, clients[0])
        for _ in range(2):
            await clock.advance(FILE_DELETE_DELAY_MS)
        assert READERS * total(broker.metrics.copied_bytes) == promised_bytes  # only the first answer is over
        for client, correlation in begun:
            records = read((await client.finish(request, 2, correlation)).responses[0].partitions[0].records)
            assert [(at, value) for at, _, _, value in records] == written("first", 0, BATCHES)[: len(records)]
            assert len(records) > KEYS
        assert await everything(clients[1], 2) == expected
