"""Time that a test moves: what a broker waits for happens at once."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Producer
from stepdown.broker.scheduling.movable_clock import MOST_SWEEPS, MovableClock
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.testing import running
from support.client import RawClient
from support.deadline import DEADLINE_S


async def test_a_session_of_45_s_is_over_when_the_clock_has_moved_by_45_s() -> None:
    async with running() as kafka:
        await kafka.create_topic("t")
        consumer = AIOKafkaConsumer(
            "t",
            bootstrap_servers=kafka.bootstrap,
            group_id="g",
            session_timeout_ms=45_000,
            heartbeat_interval_ms=40_000,  # none comes meanwhile
            enable_auto_commit=False,
        )
        await consumer.start()
        try:
            await kafka.wait_for_group("g", members=1)
            await kafka.clock.advance("44s")
            assert len((await kafka.group("g")).members) == 1
            await kafka.clock.advance("1s")
            group = await kafka.group("g")
            assert (group.state, list(group.members)) == ("Empty", [])
        finally:
            await consumer.stop()


def test_a_transaction_that_takes_too_long_is_aborted() -> None:
    with running() as kafka:
        kafka.create_topic("t")
        producer = Producer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "transactional.id": "x",
                "transaction.timeout.ms": 60_000,
                "log_level": 0,
            }
        )
        producer.init_transactions(DEADLINE_S)
        producer.begin_transaction()
        producer.produce("t", b"x")
        producer.flush(DEADLINE_S)
        assert len(kafka.records("t", isolation="read_uncommitted")) == 1
        kafka.produce("t", b"after")
        assert kafka.records("t") == []  # behind the open transaction
        kafka.clock.advance("75s")
        assert [record.value for record in kafka.records("t")] == [b"after"]


def test_retention_removes_what_is_old() -> None:
    with running(config={"log.retention.check.interval.ms": 1000, "log.initial.task.delay.ms": 0}) as kafka:
        kafka.create_topic("t", config={"retention.ms": 3_600_000, "segment.ms": 60_000})
        kafka.produce("t", b"old")
        kafka.clock.advance("5m")
        kafka.produce("t", b"newer", timestamp=kafka.clock.now_ms)
        kafka.clock.advance("58m")
        assert [record.value for record in kafka.records("t")] == [b"newer"]


def test_retention_is_applied_when_the_clock_was_moved_and_not_after_it() -> None:
    """A record outlived its time by five minutes; with a check each second one that a client stamped later was gone."""
    with running(config={"log.retention.ms": 60_000}) as kafka:
        kafka.produce("t", b"old")
        kafka.clock.advance("61s")
        assert kafka.records("t") == []
        real_ms = kafka.clock.now_ms - 61_000
        kafka.produce("t", b"stamped by the machine's clock", timestamp=real_ms)
        assert [record.value for record in kafka.records("t")] == [b"stamped by the machine's clock"]
        kafka.clock.advance("2s")
        assert kafka.records("t") == []


def test_a_paused_clock_stands_and_goes_on_from_there() -> None:
    with running() as kafka:
        kafka.clock.pause()
        before = kafka.clock.now_ms
        kafka.clock.advance(250)
        assert kafka.clock.now_ms == before + 250
        assert kafka.clock.now_ms == before + 250
        kafka.clock.resume()
        assert kafka.clock.now_ms < before + 250 + 60_000


async def test_a_fetch_waits_by_the_clock() -> None:
    async with running() as kafka:
        await kafka.create_topic("t")
        await kafka.clock.pause()
        parking = await kafka.faults.hold(api="Fetch")
        host, port = kafka.bootstrap.split(":")
        async with await RawClient.connect(host, int(port)) as client:
            partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
            request = FetchRequest(
                max_wait_ms=30_000, min_bytes=1, topics=(FetchTopic(topic="t", partitions=(partition,)),)
            )
            fetching = asyncio.create_task(client.send(request, 11))
            await parking.wait()
            await parking.release()
            assert not fetching.done()
            await kafka.clock.advance("30s")
            assert not (await fetching).responses[0].partitions[0].records


def test_a_week_costs_what_its_timers_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day took 94 s: each look for something due was done as often as in a day, though nothing was due."""
    looks = 0
    settle = MovableClock._await_idle

    async def count(clock: MovableClock) -> None:
        nonlocal looks
        looks += 1
        await settle(clock)

    with running(config={"log.initial.task.delay.ms": 0, "log.cleaner.backoff.ms": 1000}) as kafka:
        kafka.create_topic("t", config={"retention.ms": 86_400_000, "segment.ms": 3_600_000})
        kafka.create_topic("kept", config={"retention.ms": -1})
        kafka.produce("t", b"old", timestamp=kafka.clock.now_ms)
        kafka.produce("kept", b"old", timestamp=kafka.clock.now_ms)
        monkeypatch.setattr(MovableClock, "_await_idle", count)
        kafka.clock.advance("7d")
        assert looks < 15 * MOST_SWEEPS
        assert kafka.records("t") == []
        assert len(kafka.records("kept")) == 1
