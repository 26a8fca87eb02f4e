"""What the brokers of a cluster in a process leave on the disk opens in Kafka 3.9.1: each has all the records."""

from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.broker.broker_cluster import BrokerCluster, Election
from support.brokers import create_topic, produced, running_cluster, values_in
from support.clients_raw import FetchAsk, Raw
from support.clock import ManualClock, settle
from support.kafka import ApacheKafka, take_over
from support.logs import batch

pytestmark = pytest.mark.java

BATCHES = 30
SEGMENT_BYTES = 1000


def all_of(read: Callable[[int], bytes], end: int) -> bytes:
    """The batches of a log, of which each read gives those of a segment."""
    found, offset = b"", 0
    while offset < end:
        piece = read(offset)
        found += piece
        offset = max(values_in(piece)) + 1
    return found


async def write(cluster: BrokerCluster, what: str, *, leader: int, acks: int = -1) -> None:
    for n in range(BATCHES):
        code, _ = await produced(cluster.brokers[leader], "orders", f"{what} {n}", "and", "more", acks=acks)
        assert code == 0
    await settle()


async def written(directory: Path) -> bytes:
    """A cluster's life: epochs, an unclean election, a log that was cut. Broker 3 is killed at the end.

    The record batches that all replicas have.
    """
    clock = ManualClock()
    async with running_cluster(directory, clock=clock) as cluster:
        await create_topic(cluster, "orders", segment_bytes=SEGMENT_BYTES)
        await write(cluster, "in the first epoch", leader=1)
        cluster.move_leader("orders", 0, 2)
        await write(cluster, "in the next epoch", leader=2)
        for follower in (1, 3):
            cluster.pause_follower(follower)
            cluster.shrink_isr("orders", 0, follower)
        await write(cluster, "lost", leader=2, acks=1)
        await cluster.kill_broker(2)
        cluster.fence_broker(2)
        cluster.resume_follower(1)
        cluster.resume_follower(3)
        cluster.elect("orders", 0, Election.UNCLEAN)
        await settle()
        await write(cluster, "after the loss", leader=1)
        await cluster.start_broker(2)
        await settle(200)
        assert set(cluster.isr("orders", 0)) == {1, 2, 3}
        await write(cluster, "at last", leader=1)
        log = cluster.brokers[1].cluster.partition("orders", 0).log

        def read(offset: int) -> bytes:
            found = log.read(offset, 1 << 20, below=log.log_end_offset)
            return bytes(found.read(0, found.size_bytes))

        records = all_of(read, log.log_end_offset)
        await cluster.kill_broker(3)
    return records


async def test_kafka_serves_what_each_broker_has(tmp_path: Path) -> None:
    records = await written(tmp_path / "cluster")
    end = max(values_in(records)) + 1
    assert end == 4 * 3 * BATCHES
    kafka = ApacheKafka(tmp_path / "kafka")
    with kafka:
        kafka.create_topic("orders", configs={"segment.bytes": str(SEGMENT_BYTES)})
    for node_id in (1, 2, 3):
        directory = tmp_path / "cluster" / f"broker-{node_id}"
        assert len(list(directory.glob("orders-0/*.log"))) > 2
        take_over(kafka, directory, ["orders-0"], cleanly=node_id != 3)
        with kafka, Raw(kafka.address) as client:
            assert client.end_offset("orders") == end

            def read(offset: int, client: Raw = client) -> bytes:
                (answer,) = client.fetch(4, [FetchAsk(topic="orders", offset=offset)])
                return answer.records or b""

            assert all_of(read, end) == records, f"broker {node_id}"
            assert client.produce(3, "orders", batch(b"and on")) == (0, end)
