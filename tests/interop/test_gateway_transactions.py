"""Transactions of a real client at one address for all brokers: what is committed is read, what is aborted is not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from stepdown.gateway.gateway import Gateway
from stepdown.network.clock import LoopClock
from support.brokers import running_cluster
from support.certificates import Authority
from support.deadline import DEADLINE_S
from support.gateway import gateway_to, started
from support.secure import PASSWORD, USER, secure_broker, secure_settings

PARTITIONS = range(6)
ONE_COPY = {
    "offsets_topic_num_partitions": "3",
    "offsets_topic_replication_factor": "1",
    "transaction_state_log_num_partitions": "3",
    "transaction_state_log_replication_factor": "1",
    "transaction_state_log_min_isr": "1",
}


@asynccontextmanager
async def gateway_to_three_brokers(directory: Path) -> AsyncIterator[Gateway]:
    async with (
        running_cluster(directory, clock=LoopClock(), **ONE_COPY) as cluster,  # type: ignore[arg-type]
        started(gateway_to(cluster.bootstrap, addresses="single")) as gateway,
    ):
        yield gateway


@asynccontextmanager
async def gateway_that_logs_in(directory: Path) -> AsyncIterator[Gateway]:
    settings = {
        "addresses": "single",
        "authentication": "swap",
        "upstream_security_protocol": "SASL_PLAINTEXT",
        "upstream_sasl_mechanism": "SCRAM-SHA-256",
        "upstream_sasl_username": USER,
        "upstream_sasl_password": PASSWORD,
    }
    async with (
        secure_broker(directory / "log", secure_settings(Authority(directory), **ONE_COPY)) as broker,
        started(gateway_to(str(broker.addresses["SASL_PLAINTEXT"]), **settings)) as gateway,
    ):
        yield gateway


def write(address: str) -> None:
    """To each partition one record that is committed, between two that are not."""
    admin = AdminClient({"bootstrap.servers": address})  # its futures end with it
    admin.create_topics([NewTopic("orders", len(PARTITIONS), 1)])["orders"].result(DEADLINE_S)
    producer = Producer({"bootstrap.servers": address, "transactional.id": "writer"})
    producer.init_transactions(DEADLINE_S)
    for value in ("aborted first", "committed", "aborted last"):
        producer.begin_transaction()
        for partition in PARTITIONS:
            producer.produce("orders", value, partition=partition)
        if value == "committed":
            producer.commit_transaction(DEADLINE_S)
        else:
            producer.flush(DEADLINE_S)
            producer.abort_transaction(DEADLINE_S)


def read(address: str, level: str, count: int) -> list[tuple[int, str]]:
    """Partition and value of so many records, by a consumer that commits its offsets."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": level, "isolation.level": level})
    consumer.assign([TopicPartition("orders", partition, 0) for partition in PARTITIONS])
    found: list[tuple[int, str]] = []
    while len(found) < count:
        message = consumer.poll(DEADLINE_S)
        assert message is not None, f"{len(found)} of {count} records came"
        assert message.error() is None
        found.append((message.partition() or 0, (message.value() or b"").decode()))
    consumer.commit(asynchronous=False)
    consumer.close()
    return sorted(found)


@pytest.mark.parametrize("behind", [gateway_to_three_brokers, gateway_that_logs_in], ids=["open", "swap"])
async def test_what_is_committed_is_read_at_one_address(tmp_path: Path, behind: object) -> None:
    async with behind(tmp_path) as gateway:  # type: ignore[operator]
        address = str(gateway.address)
        await asyncio.to_thread(write, address)
        committed = await asyncio.to_thread(read, address, "read_committed", len(PARTITIONS))
        assert committed == [(partition, "committed") for partition in PARTITIONS]
        values = [value for _, value in await asyncio.to_thread(read, address, "read_uncommitted", 3 * len(PARTITIONS))]
        assert sorted(set(values)) == ["aborted first", "aborted last", "committed"]
