"""The gateway before three nodes of Kafka 4.4.0, one of which is killed while old and new clients write."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer
from support.deadline import DEADLINE_S
from support.gateway_process import GatewayProcess
from support.kafka_cluster import ApacheKafkaCluster

pytestmark = [pytest.mark.java, pytest.mark.slow]

PARTITIONS = 6
RECORDS = 3_000
SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "broker.session.timeout.ms": "3000",
}


class Writer(Protocol):
    """Writes a value; `acknowledged` has those that the cluster has taken, once `finish` returns."""

    acknowledged: list[bytes]

    def write(self, value: bytes) -> None: ...

    def finish(self) -> None: ...


class OldWriter:
    """Speaks as clients of 0.9 do: Produce 1, messages of magic 0."""

    def __init__(self, address: str, topic: str) -> None:
        self.acknowledged: list[bytes] = []
        self._topic = topic
        self._producer = KafkaProducer(
            bootstrap_servers=address, api_version=(0, 9), acks="all", retries=1_000, retry_backoff_ms=50
        )

    def write(self, value: bytes) -> None:
        self._producer.send(self._topic, value).add_callback(lambda _: self.acknowledged.append(value))

    def finish(self) -> None:
        self._producer.flush(DEADLINE_S)
        self._producer.close()


class NewWriter:
    """An idempotent producer of librdkafka."""

    def __init__(self, address: str, topic: str) -> None:
        self.acknowledged: list[bytes] = []
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5})

    def write(self, value: bytes) -> None:
        def note(error: object, message: object) -> None:
            if error is None:
                self.acknowledged.append(value)

        self._producer.produce(self._topic, value, on_delivery=note)
        self._producer.poll(0)

    def finish(self) -> None:
        assert self._producer.flush(DEADLINE_S) == 0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafkaCluster]:
    with ApacheKafkaCluster(tmp_path_factory.mktemp("kafka"), SETTINGS, is_latest=True) as cluster:
        yield cluster


def bootstrap(cluster: ApacheKafkaCluster) -> str:
    return ",".join(broker.address for broker in cluster.brokers.values())


def create(address: str, topic: str) -> None:
    wanted = NewTopic(topic, num_partitions=PARTITIONS, replication_factor=3)
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([wanted])[topic].result(DEADLINE_S)


def read_all(address: str, topic: str) -> list[bytes]:
    """What a modern reader finds, from the beginning to the end."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": f"read-{topic}", "auto.offset.reset": "earliest"})
    partitions = [TopicPartition(topic, each, 0) for each in range(PARTITIONS)]
    consumer.assign(partitions)
    left = sum(consumer.get_watermark_offsets(each, timeout=DEADLINE_S)[1] for each in partitions)
    values: list[bytes] = []
    while left:
        message = consumer.poll(DEADLINE_S)
        assert message is not None, f"{left} records are missing"
        assert message.error() is None, message.error()
        values.append(message.value())
        left -= 1
    consumer.close()
    return values


@pytest.mark.parametrize("addresses", ["ports", "single"])
def test_nothing_that_was_acknowledged_is_lost_while_a_node_is_killed(
    cluster: ApacheKafkaCluster, tmp_path: Path, addresses: str
) -> None:
    topics = {OldWriter: f"old-{addresses}", NewWriter: f"new-{addresses}"}
    with GatewayProcess(tmp_path, bootstrap(cluster), addresses=addresses, refresh_interval_ms=500) as gateway:
        for topic in topics.values():
            create(gateway.address, topic)
        writers: list[Writer] = [kind(gateway.address, topic) for kind, topic in topics.items()]
        is_under_way = threading.Event()

        def write(writer: Writer) -> None:
            for number in range(RECORDS):
                writer.write(b"%d" % number)
                if number == RECORDS // 10:
                    is_under_way.set()
            writer.finish()

        threads = [threading.Thread(target=write, args=(writer,)) for writer in writers]
        for thread in threads:
            thread.start()
        assert is_under_way.wait(DEADLINE_S)
        cluster.brokers[3].kill()
        cluster.brokers[3].start()
        for thread in threads:
            thread.join()
        for writer, topic in zip(writers, topics.values(), strict=True):
            assert len(writer.acknowledged) == RECORDS, "every record is acknowledged in the end"
            direct = read_all(bootstrap(cluster), topic)
            assert set(writer.acknowledged) <= set(direct)
            assert sorted(read_all(gateway.address, topic)) == sorted(direct)
            if isinstance(writer, NewWriter):
                assert len(direct) == RECORDS, "an idempotent producer has no duplicates"
