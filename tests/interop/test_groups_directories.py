"""`__consumer_offsets` handed to and fro between stepdown and Apache Kafka 3.9.1: groups go on where they were."""

import shutil
from pathlib import Path

import pytest
from support.broker import Stepdown
from support.clients import Message
from support.clients_python import AIOKAFKA
from support.group_members import ConfluentMember, JavaMember, KafkaPythonMember, Place
from support.kafka import ApacheKafka, dump_log_segments, take_over

pytestmark = pytest.mark.java

TOPIC = "t"
RECORDS = 60
CLASSIC = KafkaPythonMember(name="classic")
OLD = KafkaPythonMember(name="old", api_version=(0, 8, 2))
NEW = ConfluentMember(name="consumer-protocol", protocol="consumer")
GROUPS = {"classic-group": CLASSIC, "old-group": OLD}
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "offsets.topic.num.partitions": "1",
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
}


def fill(broker: ApacheKafka | Stepdown) -> None:
    broker.create_topic(TOPIC)
    AIOKAFKA.produce(broker.address, "fill", TOPIC, 0, [Message(key=b"k", value=b"v")] * RECORDS, "none")


def read_some(broker: ApacheKafka | Stepdown) -> dict[str, list[Place]]:
    return {group: member.reads(broker.address, group, TOPIC, 20) for group, member in GROUPS.items()}


def places(first: int, last: int) -> list[Place]:
    return [(0, offset) for offset in range(first, last)]


def test_groups_of_kafka_go_on_here(tmp_path: Path) -> None:
    with ApacheKafka(tmp_path / "kafka") as kafka:
        fill(kafka)
        assert set(map(tuple, read_some(kafka).values())) == {tuple(places(0, 20))}
    shutil.copytree(tmp_path / "kafka" / "data", tmp_path / "here" / "data")
    with Stepdown(tmp_path / "here", properties=PROPERTIES) as broker:
        assert set(map(tuple, read_some(broker).values())) == {tuple(places(20, 40))}


def test_groups_of_the_consumer_protocol_of_kafka_are_read_here(tmp_path: Path) -> None:
    """Kafka 3.9 knows version 0 of the heartbeat only, which librdkafka does not speak: Java joins there."""
    java = JavaMember(name="java", version="3.9.1", protocol="consumer")
    properties = {"group.coordinator.rebalance.protocols": "classic,consumer"}
    with ApacheKafka(tmp_path / "kafka", properties=properties) as kafka:
        fill(kafka)
        assert java.reads(kafka.address, "new-group", TOPIC, 20) == places(0, 20)
    shutil.copytree(tmp_path / "kafka" / "data", tmp_path / "here" / "data")
    with Stepdown(tmp_path / "here", properties=PROPERTIES) as broker:
        assert NEW.reads(broker.address, "new-group", TOPIC, 20) == places(20, 40)


def test_groups_from_here_go_on_in_kafka(tmp_path: Path) -> None:
    with Stepdown(tmp_path / "here", properties=PROPERTIES) as broker:
        fill(broker)
        read_some(broker)
    kafka = ApacheKafka(tmp_path / "kafka")
    with kafka:
        fill(kafka)
        CLASSIC.reads(kafka.address, "makes-the-offsets-topic", TOPIC, 1)
    take_over(kafka, tmp_path / "here" / "data", ["__consumer_offsets-0", f"{TOPIC}-0"])
    with kafka:
        assert set(map(tuple, read_some(kafka).values())) == {tuple(places(20, 40))}


def test_kafkas_dump_tool_reads_our_records(tmp_path: Path) -> None:
    with Stepdown(tmp_path, properties=PROPERTIES) as broker:
        fill(broker)
        read_some(broker)
        NEW.reads(broker.address, "new-group", TOPIC, 20)
    logs = sorted((tmp_path / "data" / "__consumer_offsets-0").glob("*.log"))
    shown = dump_log_segments(logs, "--offsets-decoder")
    for expected in ('"group":"classic-group"', '"offset":20', '"protocolType":"consumer"', '"group":"new-group"'):
        assert expected in shown.replace(" ", "").replace("groupId", "group"), shown[:2000]
    assert "isvalid: false" not in shown
