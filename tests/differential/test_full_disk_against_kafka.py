"""A leader whose disk is full: three Kafka 3.9.1 processes and a cluster in a process, on small file systems; and a
cluster of a test, by a fault.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker_cluster import BrokerCluster
from stepdown.broker.failed_brokers import FailedBrokers
from stepdown.client.admin import AsyncAdmin
from stepdown.client.errors import ClientError, KafkaError
from stepdown.client.operations.topics import NewTopic
from stepdown.testing import AsyncKafka, running_async
from support.deadline import DEADLINE_S
from support.kafka_cluster import ApacheKafkaCluster
from support.small_file_systems import mount_small

pytestmark = [pytest.mark.java, pytest.mark.slow]

LEADER, FOLLOWERS = 2, (3, 1)
SETTINGS = {"min.insync.replicas": "2", "broker.session.timeout.ms": "9000", "log.index.size.max.bytes": "65536"}
"""Nine seconds are Kafka's default."""
SIZES_MB = {LEADER: 12, FOLLOWERS[0]: 48, FOLLOWERS[1]: 48}
NUMBER_BYTES, VALUE_BYTES = 4, 1 << 18
VALUES = 100
"""Twice what the leader has room for, and half of what its followers have."""


def value(number: int) -> bytes:
    return number.to_bytes(NUMBER_BYTES, "big") * (VALUE_BYTES // NUMBER_BYTES)


async def produce(kafka: AsyncKafka, data: bytes) -> None:
    """As a producer with retries: until it is acknowledged."""
    while True:
        with suppress(ClientError):
            await kafka.produce("t", data, partition=0, timeout=DEADLINE_S)
            return


async def nothing() -> None:
    """The disk is full when so much was written."""


async def become_of_the_topic(kafka: AsyncKafka, fill: Callable[[], Awaitable[None]] = nothing) -> dict[str, Any]:
    """`stored`: all that was acknowledged, in order. `fill` is awaited once the leader has half of it."""
    async with AsyncAdmin(kafka.bootstrap) as admin:
        (made,) = await admin.create_topics([NewTopic(name="t", assignments={0: (LEADER, *FOLLOWERS)})])
    assert not made.failed, made
    await kafka.wait_for_isr("t", 0, {LEADER, *FOLLOWERS}, timeout=DEADLINE_S)
    async with asyncio.timeout(DEADLINE_S):
        for number in range(VALUES):
            if number == VALUES // 2:
                await fill()
            await produce(kafka, value(number))
    led = await kafka.wait_for_leader("t", other_than=LEADER, timeout=DEADLINE_S)
    records = await kafka.records("t", timeout=DEADLINE_S)
    stored = list(dict.fromkeys(int.from_bytes((each.value or b"")[:NUMBER_BYTES], "big") for each in records))
    return {
        "leader": led.leader,
        "epoch": led.leader_epoch,
        "isr": sorted((await kafka.wait_for_isr("t", 0, FOLLOWERS, timeout=DEADLINE_S)).isr),
        "stored": stored == list(range(VALUES)),
    }


async def told_from_outside(bootstrap: str) -> dict[str, Any]:
    kafka = AsyncKafka(bootstrap)
    try:
        return await become_of_the_topic(kafka)
    finally:
        await kafka.close()


async def told_by_kafka(folder: Path) -> dict[str, Any]:
    cluster = ApacheKafkaCluster(folder, SETTINGS)
    with mount_small({broker.log_dir: SIZES_MB[node_id] for node_id, broker in cluster.brokers.items()}):
        await asyncio.to_thread(cluster.start)
        try:
            found = await told_from_outside(",".join(each.address for each in cluster.brokers.values()))
            return {**found, "has ended": cluster.brokers[LEADER]._running().has_ended}
        finally:
            await asyncio.to_thread(cluster.stop)


async def told_by_us(folder: Path) -> dict[str, Any]:
    with mount_small({folder / f"broker-{node_id}": size for node_id, size in SIZES_MB.items()}):
        async with BrokerCluster.of(folder, settings=SETTINGS) as cluster:
            failed = FailedBrokers(cluster)
            found = await told_from_outside(cluster.bootstrap)
            await failed.wait_for_kills()
            return {**found, "has ended": LEADER not in cluster.brokers}


async def told_by_a_fault() -> dict[str, Any]:
    """The first write after it takes the session's time, and no more, of the clock that the test moves."""
    async with running_async(brokers=3, config=SETTINGS) as kafka:

        async def fill() -> None:
            await kafka.faults.disk("full", broker=LEADER)
            with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
                await kafka.produce("t", value(0), partition=0)
            await kafka.clock.advance("10s")

        found = await become_of_the_topic(kafka, fill)
        running = (await kafka.control.ask("GET", "brokers"))["brokers"]
        return {**found, "has ended": LEADER not in [each["broker"] for each in running]}


async def test_a_leader_with_a_full_disk_goes_as_with_kafka(tmp_path: Path) -> None:
    kafka = await told_by_kafka(tmp_path / "kafka")
    assert kafka == {
        "leader": FOLLOWERS[0],
        "epoch": 1,
        "isr": sorted(FOLLOWERS),
        "stored": True,
        "has ended": True,
    }
    assert await told_by_us(tmp_path / "ours") == kafka
    assert await told_by_a_fault() == kafka
