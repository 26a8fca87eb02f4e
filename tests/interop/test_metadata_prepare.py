"""`stepdown metadata prepare`: Kafka starts on what it prepared, and changes every topic of it."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from stepdown.storage.metadata.cluster_state import StoredTopic
from stepdown.storage.metadata.partition_record import NO_LEADER, PartitionRecord
from support.command import run_command
from support.deadline import DEADLINE_S
from support.handover import kafka_over
from support.kafka import ApacheKafka
from support.kafka_4 import LATEST, ApacheKafka4
from support.running import running_broker

pytestmark = pytest.mark.java

ALONE = PartitionRecord(replicas=(1,), isr=(1,), leader=1)
ABSENT = PartitionRecord(replicas=(), isr=(), leader=NO_LEADER)
TOPICS = {
    "small": {"segment.bytes": "20000", "segment.ms": "0", "flush.messages": "0", "segment.index.bytes": "1"},
    "old": {"message.format.version": "2.0", "message.timestamp.difference.max.ms": "1000", "retention.ms": "-7"},
    "unknown": {"retention.ms": "-1", "stepdown.settings.unknown": "true"},
}


async def fill(directory: Path) -> None:
    async with running_broker(directory) as broker:
        with broker.topics.store.change() as state:
            for name, configs in TOPICS.items():
                state.topics[name] = StoredTopic(topic_id=uuid4(), replicas=(ALONE,), configs=configs)
            state.topics["__consumer_offsets"] = StoredTopic(topic_id=uuid4(), replicas=(ABSENT, ALONE, ALONE))
            state.cluster_configs = {"log.segment.bytes": "20000", "log.message.downconversion.enable": "true"}
    for folder in (*(f"{name}-0" for name in TOPICS), "__consumer_offsets-1", "__consumer_offsets-2"):
        (directory / folder).mkdir()


def change(address: str, topic: str) -> None:
    entry = ConfigEntry("max.message.bytes", "2000000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": address})
    admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)


@pytest.mark.parametrize(
    ("release", "kind"), [("3.9", ApacheKafka), ("4.4", partial(ApacheKafka4, release=LATEST))], ids=["3.9.1", LATEST]
)
def test_kafka_starts_and_changes_every_topic(tmp_path: Path, release: str, kind: Callable[..., ApacheKafka]) -> None:
    asyncio.run(fill(tmp_path / "data"))
    done = run_command("metadata", "prepare", tmp_path / "data", "--for", release)
    assert done.exit_code == 0, done.stderr
    with kafka_over(tmp_path, kind) as kafka:
        for topic in TOPICS:
            change(kafka.address, topic)
        admin = AdminClient({"bootstrap.servers": kafka.address})
        found = admin.list_topics(timeout=DEADLINE_S).topics
    assert [found["__consumer_offsets"].partitions[index].leader for index in range(3)] == [-1, 1, 1]
    assert not (tmp_path / "data" / "__consumer_offsets-0").exists()
