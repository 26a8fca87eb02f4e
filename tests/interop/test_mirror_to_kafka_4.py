"""MirrorMaker 2 of Kafka 4 reads from stepdown into a Kafka 4.4.0 that runs, with the configuration that the docs give:
records, settings and committed offsets arrive."""

import asyncio
import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from stepdown.bench.servers.maven import STDERR_LOG
from stepdown.bench.servers.process import Process
from support.clients_raw import wait_until
from support.deadline import DEADLINE_S
from support.java_build import java
from support.kafka_4 import LATEST, NewKafka4
from support.maven import JARS, REPOSITORY_ROOT
from support.migrated_records import consume
from support.running import running_broker

pytestmark = [pytest.mark.java, pytest.mark.slow]

PAGE = REPOSITORY_ROOT / "docs" / "from-zookeeper.md"
MIRROR = "org.apache.kafka:connect-mirror:4.3.1"
"""Maven has none of 4.4.0."""
PARTITIONS, RECORDS, GROUP = 3, 500, "billing"
COMMITTED = {0: RECORDS, 1: RECORDS // 2, 2: 0}
"""By partition: one that was read whole, one by half, one that was not begun."""


def configuration(old: str, new: str) -> str:
    """That of the page, for one broker on each side."""
    (text,) = re.findall(r"```properties\n(clusters = .*?)```", PAGE.read_text(), re.DOTALL)
    for name, address in (("OLD_HOST:9092", old), ("NEW_HOST:9092", new)):
        assert name in text
        text = text.replace(name, address)
    return re.sub(r"(replication\.factor) = 3", r"\1 = 1", text)


def produce(address: str, first: int, last: int) -> None:
    producer = Producer({"bootstrap.servers": address, "compression.type": "lz4"})
    for number in range(first, last):
        for index in range(PARTITIONS):
            headers = [("number", b"%d" % number)]
            producer.produce("orders", b"%d" % number, b"k%d" % (number % 7), index, headers=headers)
    assert producer.flush(DEADLINE_S) == 0


def fill(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    topic = NewTopic("orders", PARTITIONS, 1, config={"retention.ms": "864000001"})
    admin.create_topics([topic])["orders"].result(DEADLINE_S)
    produce(address, 0, RECORDS)
    consumer = Consumer({"bootstrap.servers": address, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition("orders", *each) for each in COMMITTED.items()], asynchronous=False)
    consumer.close()


def committed(address: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": address})
    request = ConsumerGroupTopicPartitions(GROUP, [TopicPartition("orders", index) for index in COMMITTED])
    answer = admin.list_consumer_group_offsets([request])[GROUP].result(DEADLINE_S)
    return {each.partition: each.offset for each in answer.topic_partitions}


def has_arrived(old: str, new: str) -> bool:
    partitions = AdminClient({"bootstrap.servers": new}).list_topics("orders", timeout=DEADLINE_S).topics["orders"]
    return len(partitions.partitions) == PARTITIONS and all(
        consume(new, "orders", index) == consume(old, "orders", index) for index in range(PARTITIONS)
    )


def mirror(folder: Path, old: str) -> None:
    with NewKafka4(folder / "new", release=LATEST) as kafka:
        new = kafka.address
        (file := folder / "mm2.properties").write_text(configuration(old, new))
        command = java(JARS.class_path(MIRROR, STDERR_LOG), "org.apache.kafka.connect.mirror.MirrorMaker", str(file))
        maker = Process(command, folder / "mirror.out")
        try:
            wait_until(lambda: has_arrived(old, new), "the records are on the other side")
            wait_until(lambda: committed(new).get(0) == COMMITTED[0], "the group stands where it stood")
            produce(old, RECORDS, RECORDS + 50)
            wait_until(lambda: has_arrived(old, new), "what came later is there, too")
        finally:
            maker.stop()
        found = committed(new)
        assert all(found[index] <= offset for index, offset in COMMITTED.items()), "no record is skipped"
        assert found[1] > 0
        resource, admin = ConfigResource(ConfigResource.Type.TOPIC, "orders"), AdminClient({"bootstrap.servers": new})
        configs = admin.describe_configs([resource])[resource].result(DEADLINE_S)
        assert configs["retention.ms"].value == "864000001"
    topics = AdminClient({"bootstrap.servers": old}).list_topics(timeout=DEADLINE_S).topics
    assert set(topics) <= {"orders", "__consumer_offsets"}, "nothing is written to the old side"


async def test_records_and_committed_offsets_go_into_kafka_4(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "old") as broker:
        old = str(broker.address)
        await asyncio.to_thread(fill, old)
        await asyncio.to_thread(mirror, tmp_path, old)
