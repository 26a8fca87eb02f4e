"""After a clock that was a week ahead, and `reset`, brokers are as new: nobody waits for a time that was noted then."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from stepdown.broker.scheduling import movable_clock
from stepdown.producer import Producer
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.testing import AsyncKafka, running_async
from stepdown.testing.control_client import LocalControl
from support.client import RawClient
from support.kept_times import times_between

DAY_MS = 86_400_000
QUOTAS = {
    "producer_byte_rate": 1e9,
    "consumer_byte_rate": 1e9,
    "request_percentage": 1e6,
    "controller_mutation_rate": 1e6,
}
CONFIG = {"max.connection.creation.rate": 10_000, "log.initial.task.delay.ms": 0, "log.cleaner.backoff.ms": 1000}
BATCH_BYTES = 30_000
BROKERS = {1, 2, 3}
UNTIL_THE_ISR_SHRINKS = "46s"
"""After 30 s without a fetch, looked for every 15 s."""


@pytest.fixture(autouse=True)
def few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A week of three brokers takes as many seconds otherwise."""
    monkeypatch.setattr(movable_clock, "MOST_SWEEPS", 10)


async def connect(kafka: AsyncKafka, broker: int = 1) -> RawClient:
    host, port = kafka.bootstrap.split(",")[broker - 1].split(":")
    return await RawClient.connect(host, int(port), client_id="greedy")


async def set_quotas(client: RawClient, quotas: dict[str, float]) -> None:
    entry = EntryData(
        entity=[EntityData(entity_type="client-id", entity_name="greedy")],
        ops=[OpData(key=key, value=value, remove=False) for key, value in quotas.items()],
    )
    assert (await client.send(AlterClientQuotasRequest(entries=[entry]), 1)).entries[0].error_code == 0


async def produce(client: RawClient, topic: str, value: bytes = b"x") -> int:
    """The throttle time of the answer, in ms."""
    batch = build_batch([Record(offset=0, timestamp=0, key=b"k", value=value)])
    partition = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=(TopicProduceData(name=topic, partition_data=(partition,)),)
    )
    answer = await client.send(request, 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    return int(answer.throttle_time_ms)


async def fetch(client: RawClient, topic: str) -> None:
    """Begins a session of fetches."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=BATCH_BYTES)
    topics = (FetchTopic(topic=topic, partitions=(partition,)),)
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=BATCH_BYTES, session_epoch=0, topics=topics)
    assert (await client.send(request, 11)).error_code == 0


@asynccontextmanager
async def member(kafka: AsyncKafka, topic: str) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=kafka.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        session_timeout_ms=45_000,
        heartbeat_interval_ms=40_000,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def use(kafka: AsyncKafka, topic: str) -> None:
    """All that has a broker note a time."""
    await kafka.create_topic(topic, config={"cleanup.policy": "compact", "segment.ms": 1000})
    async with await connect(kafka, (await kafka.wait_for_leader(topic)).leader) as leader:
        await use_topic(kafka, leader, topic)


async def use_topic(kafka: AsyncKafka, client: RawClient, topic: str) -> None:
    async with Producer(kafka.bootstrap, transactional_id="tx") as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send(topic, b"x", key=b"k")
    await set_quotas(client, QUOTAS)
    for _ in range(2):
        await produce(client, topic)
        await kafka.clock.advance("2s")  # the segment is closed
    await fetch(client, topic)
    async with member(kafka, topic) as consumer:
        await consumer.getone()
        await consumer.commit()
    await kafka.create_topic("gone")
    await kafka.delete_topic("gone")


async def trouble(kafka: AsyncKafka, topic: str) -> None:
    """Has a cluster note times: followers lag and come back, leaders move, brokers are lost."""
    await kafka.create_topic(topic)
    await kafka.wait_for_isr(topic, 0, BROKERS)
    async with await connect(kafka, (await kafka.wait_for_leader(topic)).leader) as leader:
        await kafka.cluster.pause_follower(follower_of=topic)
        await produce(leader, topic)
        await kafka.clock.advance(UNTIL_THE_ISR_SHRINKS)
        assert len((await kafka.partition(topic)).isr) == 2
        await kafka.cluster.resume_follower()
        await kafka.wait_for_isr(topic, 0, BROKERS)
        await kafka.cluster.slow_follower(follower_of=topic, delay="40s", bytes_per_second=1)
        await produce(leader, topic)
    await kafka.cluster.move_leader(topic)
    await kafka.cluster.move_coordinator("g")
    await kafka.cluster.move_coordinator(transactional_id="tx")
    await lose_all(kafka)
    await kafka.cluster.hold_elections()
    await kafka.clock.advance("5s")


async def lose_all(kafka: AsyncKafka) -> None:
    """Of the three brokers none answers any more, each in a way of its own."""
    await kafka.cluster.fence(1)
    await kafka.cluster.pause(2)
    await kafka.cluster.kill(3)


@pytest.mark.parametrize("brokers", [1, 3])
async def test_no_time_that_a_broker_keeps_is_ahead(brokers: int) -> None:
    """A pause of a listener, idle connections, quotas and files to be deleted waited for a week that did not pass; a
    broker that had started anew in that week was up for minus a week.
    """
    async with running_async(brokers=brokers, config=CONFIG) as kafka:
        await use(kafka, "before")
        await kafka.clock.advance("7d")
        await kafka.cluster.kill(1)
        await kafka.cluster.start(1)
        await use(kafka, "after")
        if brokers > 1:
            await trouble(kafka, "troubled")
        assert isinstance(kafka.control, LocalControl)
        now_ms = await kafka.clock.now_ms()
        assert list(itertools.islice(times_between(kafka.control.control, now_ms - DAY_MS, now_ms), 1))
        await kafka.reset()
        now_ms = await kafka.clock.now_ms()
        assert list(times_between(kafka.control.control, now_ms + DAY_MS, now_ms + 8 * DAY_MS)) == []


@asynccontextmanager
async def week_ahead(**config: object) -> AsyncIterator[AsyncKafka]:
    async with running_async(config=config) as kafka:
        await kafka.clock.advance("7d")
        yield kafka


async def test_a_connection_is_idle_after_its_own_time() -> None:
    async with week_ahead() as kafka, await connect(kafka) as client:
        assert (await client.send(ApiVersionsRequest(), 0)).error_code == 0
        await kafka.reset()
        await kafka.clock.advance("13m")
        assert await client.read_frame() is None


async def test_who_came_too_fast_does_not_close_the_door() -> None:
    async with week_ahead(**{"max.connection.creation.rate": 1, "quota.window.num": 2}) as kafka:
        early = [await connect(kafka) for _ in range(20)]
        await kafka.reset()
        await kafka.clock.advance("1m")
        async with await connect(kafka) as client:
            assert (await client.send(ApiVersionsRequest(), 0)).error_code == 0
        for each in early:
            await each.close()


async def test_who_took_too_much_is_forgiven_in_time() -> None:
    async with week_ahead() as kafka, await connect(kafka) as client:
        await kafka.create_topic("t")
        await set_quotas(client, {"producer_byte_rate": 1000.0})
        assert await produce(client, "t", b"x" * BATCH_BYTES) > 0
        await kafka.reset()
        await kafka.clock.advance("1h")
        await kafka.create_topic("t")
        async with await connect(kafka) as again:  # the other one has been idle
            assert await produce(again, "t") == 0


async def test_what_was_deleted_is_gone_in_a_minute(tmp_path: Path) -> None:
    async with running_async(log_dir=tmp_path / "data") as kafka:
        await kafka.clock.advance("7d")
        await kafka.create_topic("t")
        await kafka.reset()
        await kafka.clock.advance("2m")
        assert not list((tmp_path / "data").glob("*-delete"))


async def test_a_session_and_a_transaction_last_as_long_as_ever() -> None:
    async with week_ahead() as kafka:
        await kafka.reset()
        await kafka.create_topic("t")
        async with member(kafka, "t"):
            await kafka.wait_for_group("g", members=1)
            await kafka.clock.advance("44s")
            assert len((await kafka.group("g")).members) == 1
            await kafka.clock.advance("2s")
            assert not (await kafka.group("g")).members
        async with Producer(kafka.bootstrap, transactional_id="tx") as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await producer.send("t", b"too late")
            await kafka.produce("t", b"after")
            assert await kafka.records("t") == []
            await kafka.clock.advance("75s")
            assert [record.value for record in await kafka.records("t")] == [b"after"]


async def test_followers_and_brokers_are_waited_for_as_long_as_ever() -> None:
    async with running_async(brokers=3) as kafka:
        await kafka.clock.advance("7d")
        await lose_all(kafka)
        await kafka.reset()
        await kafka.create_topic("t")
        await kafka.wait_for_isr("t", 0, BROKERS)
        first = (await kafka.wait_for_leader("t")).leader
        async with await connect(kafka, first) as leader:
            await kafka.cluster.pause_follower(follower_of="t")
            await produce(leader, "t")
        await kafka.clock.advance("29s")
        assert (await kafka.partition("t")).isr == BROKERS
        await kafka.clock.advance("17s")
        assert len((await kafka.partition("t")).isr) == 2
        await kafka.cluster.kill(first)
        await kafka.clock.advance("8s")
        assert (await kafka.partition("t")).leader == first
        await kafka.clock.advance("2s")
        assert (await kafka.partition("t")).leader not in (first, -1)
