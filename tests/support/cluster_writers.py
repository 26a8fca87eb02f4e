"""An old and a new producer that remember what the cluster has taken, and what a reader finds of it."""

import sys
import traceback
from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError

from .deadline import DEADLINE_S
from .kafka_cluster import ApacheKafkaCluster

SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "broker.session.timeout.ms": "3000",
}
"""Of brokers of which one may be killed."""


UNSETTLED = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.OFFSET_NOT_AVAILABLE)


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
        """Raises: AssertionError for a record without an answer, with what the producer knows of it."""
        try:
            self._producer.flush(2 * DEADLINE_S)  # it gives a record up after delivery_timeout_ms, 120 s
        except KafkaTimeoutError as fault:
            raise AssertionError(self._describe()) from fault
        self._producer.close()

    def _describe(self) -> str:
        """The batches without an answer, whether the producer waits for one, and where its thread is."""
        sender, client = self._producer._sender, self._producer._client
        batches = [
            f"partition {batch.topic_partition.partition}: {batch.attempts} attempts, {batch.final_state}"
            for batch in self._producer._accumulator._incomplete.all()
        ]
        stack = "".join(traceback.format_stack(sys._current_frames()[sender.ident]))
        return f"{batches} have no answer, {client.in_flight_request_count()} requests are in flight\n{stack}"


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


def bootstrap(cluster: ApacheKafkaCluster) -> str:
    """The addresses of all brokers."""
    return ",".join(broker.address for broker in cluster.brokers.values())


def create(address: str, topic: str, partitions: int) -> None:
    """Creates a topic that each broker has a copy of."""
    wanted = NewTopic(topic, num_partitions=partitions, replication_factor=3)
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([wanted])[topic].result(DEADLINE_S)


def ends_of(address: str, partitions: Sequence[TopicPartition]) -> dict[tuple[str, int], int]:
    """The offset behind the last record of each."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "ends"})
    try:
        return {(each.topic, each.partition): _end_of(consumer, each) for each in partitions}
    finally:
        consumer.close()


def _end_of(consumer: Consumer, partition: TopicPartition) -> int:
    """Asked until it is told: a leader that is new does not say it at once."""
    end = monotonic() + DEADLINE_S
    while True:
        try:
            return consumer.get_watermark_offsets(partition, timeout=DEADLINE_S)[1]
        except KafkaException as fault:
            if fault.args[0].code() not in UNSETTLED or monotonic() > end:
                raise


def read_all(address: str, topic: str, partitions: int) -> list[bytes]:
    """What a modern reader finds, from the beginning to the end."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": f"read-{topic}", "auto.offset.reset": "earliest"})
    assigned = [TopicPartition(topic, each, 0) for each in range(partitions)]
    consumer.assign(assigned)
    left = sum(ends_of(address, assigned).values())
    values: list[bytes] = []
    while left:
        message = consumer.poll(DEADLINE_S)
        assert message is not None, f"{left} records are missing"
        assert message.error() is None, message.error()
        values.append(message.value() or b"")
        left -= 1
    consumer.close()
    return values
