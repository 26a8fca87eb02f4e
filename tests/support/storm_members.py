"""A process of group members that read, say what they read, and commit, until they are told to leave or are killed.

    python -P storm_members.py KIND ADDRESS GROUP TOPIC MEMBERS

Each line of stdout is a partition and an offset, written before that offset is committed. SIGTERM makes all leave.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

import aiokafka
import confluent_kafka
import kafka
from kafka.errors import KafkaError

SESSION_MS = 2_000
stopping = threading.Event()
printing = threading.Lock()


def say(places: Iterable[tuple[int, int]]) -> None:
    lines = "".join(f"{partition} {offset}\n" for partition, offset in places)
    with printing:
        sys.stdout.write(lines)
        sys.stdout.flush()


def kafka_python(address: str, group: str, topic: str, api_version: tuple[int, ...] | None = None) -> None:
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        api_version=api_version,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=300,
        max_poll_interval_ms=10_000 if api_version is None else SESSION_MS,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
        partition_assignment_strategy=[kafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor],
    )
    while not stopping.is_set():
        records = [each for batch in consumer.poll(timeout_ms=1000, max_records=50).values() for each in batch]
        if records:
            say((each.partition, each.offset) for each in records)
            with suppress(KafkaError):
                consumer.commit()
    consumer.close()


def old_kafka_python(address: str, group: str, topic: str) -> None:
    kafka_python(address, group, topic, (0, 9))


def confluent(address: str, group: str, topic: str) -> None:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 300,
            "partition.assignment.strategy": "roundrobin",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
        }
    )
    consumer.subscribe([topic])
    while not stopping.is_set():
        messages = [each for each in consumer.consume(50, 0.1) if each.error() is None]
        if messages:
            say((each.partition(), each.offset()) for each in messages)
            with suppress(confluent_kafka.KafkaException):
                consumer.commit(asynchronous=False)
    consumer.close()


def aio(address: str, group: str, topic: str) -> None:
    asyncio.run(_aio(address, group, topic))


async def _aio(address: str, group: str, topic: str) -> None:
    consumer = aiokafka.AIOKafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=300,
        max_poll_interval_ms=10_000,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
    )
    async with consumer:
        while not stopping.is_set():
            batches = await consumer.getmany(timeout_ms=100, max_records=50)
            records = [each for batch in batches.values() for each in batch]
            if records:
                say((each.partition, each.offset) for each in records)
                with suppress(aiokafka.errors.KafkaError):
                    await consumer.commit()


KINDS: dict[str, Callable[[str, str, str], None]] = {
    "kafka-python": kafka_python,
    "kafka-python-at-0.9": old_kafka_python,
    "confluent": confluent,
    "aiokafka": aio,
}


def main(kind: str, address: str, group: str, topic: str, members: str) -> None:
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    threads = [threading.Thread(target=KINDS[kind], args=(address, group, topic)) for _ in range(int(members))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
