"""A cluster in a process answers as three Kafka 3.9.1 processes do, step by step."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker_cluster import BrokerCluster
from support.kafka_cluster import ApacheKafkaCluster
from support.replication_walk import SETTINGS, Walk

pytestmark = [pytest.mark.java, pytest.mark.slow]


class Ours:
    def __init__(self, cluster: BrokerCluster) -> None:
        self._cluster = cluster

    def address(self, node_id: int) -> str:
        return str(self._cluster.brokers[node_id].address)

    async def kill(self, node_id: int) -> None:
        await self._cluster.kill_broker(node_id)

    async def start(self, node_id: int) -> None:
        await self._cluster.start_broker(node_id)


class Kafkas:
    def __init__(self, cluster: ApacheKafkaCluster) -> None:
        self._brokers = cluster.brokers

    def address(self, node_id: int) -> str:
        return self._brokers[node_id].address

    async def kill(self, node_id: int) -> None:
        await asyncio.to_thread(self._brokers[node_id].kill)

    async def start(self, node_id: int) -> None:
        await asyncio.to_thread(self._brokers[node_id].start)


async def told_by_kafka(folder: Path) -> dict[str, Any]:
    cluster = ApacheKafkaCluster(folder, SETTINGS)
    await asyncio.to_thread(cluster.start)
    try:
        return await Walk(Kafkas(cluster)).go()
    finally:
        await asyncio.to_thread(cluster.stop)


async def told_by_us(folder: Path) -> dict[str, Any]:
    async with BrokerCluster.of(folder, settings=SETTINGS) as cluster:
        return await Walk(Ours(cluster)).go()


async def test_the_scenarios_of_acks_and_in_sync_replicas_go_as_with_kafka(tmp_path: Path) -> None:
    ours = await told_by_us(tmp_path / "ours")
    kafka = await told_by_kafka(tmp_path / "kafka")
    different = {step: (ours.get(step), told) for step, told in kafka.items() if ours.get(step) != told}
    assert not different, "\n".join(f"{step}\n  ours  {a}\n  Kafka {b}" for step, (a, b) in different.items())
    assert ours.keys() == kafka.keys()
    codes = {code for told in kafka.values() if isinstance(told, list) for _, code, _ in told}
    assert codes == {0, 6, 7, 19}
