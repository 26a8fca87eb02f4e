"""Kafka's own tools for groups, of 3.9.1 and of 4.4.0: a consumer that verifies, and the group command."""

import re
from collections.abc import Iterator

import confluent_kafka
import pytest
from support.broker import Stepdown
from support.clients import Message
from support.clients_python import AIOKAFKA
from support.kafka_tools import GROUPS, RELEASES, KafkaTools

pytestmark = pytest.mark.java

VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
TOPIC, RECORDS = "t", 40
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "offsets.topic.num.partitions": "2",
}


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def broker(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepdown]:
    with Stepdown(tmp_path_factory.mktemp("tools"), properties=PROPERTIES) as running:
        running.create_topic(TOPIC)
        AIOKAFKA.produce(running.address, "fill", TOPIC, 0, [Message(key=b"k", value=b"v")] * RECORDS, "none")
        yield running


@pytest.fixture
def tool(release: str, broker: Stepdown):
    """Return `tool(main, arguments)`: what it prints; it ends with 0."""

    tools = KafkaTools(release)
    return lambda main, arguments: tools.run(main, f"--bootstrap-server {broker.address} {arguments}")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_verifiable_consumer_reads_commits_and_leaves(tool, protocol: str) -> None:
    group = f"verified-{protocol}"
    arguments = f"--topic {TOPIC} --group-id {group} --group-protocol {protocol} --max-messages {RECORDS}"
    arguments += " --reset-policy earliest"
    printed = tool(VERIFIABLE_CONSUMER, arguments)
    assert '"name":"partitions_assigned"' in printed
    assert re.search(rf'"name":"offsets_committed".*"offset":{RECORDS}', printed)
    described = tool(GROUPS, f"--describe --group {group}")
    assert re.search(rf"{group}\s+{TOPIC}\s+0\s+{RECORDS}\s+{RECORDS}\s+0\s", described)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_group_command_shows_members_moves_offsets_and_deletes(tool, broker: Stepdown, protocol: str) -> None:
    group = f"shown-{protocol}"
    member = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
        }
    )
    member.subscribe([TOPIC])
    assert len(member.consume(10, 20)) == 10
    member.commit(asynchronous=False)
    assert re.search(rf"{group}\s+Stable", tool(GROUPS, "--list --state"))
    assert re.search(rf"{group}\s+.*rdkafka\s+1\b", tool(GROUPS, f"--describe --group {group} --members"))
    assert re.search(rf"{group}\s+.*Stable\s+1\b", tool(GROUPS, f"--describe --group {group} --state"))
    member.close()
    reset = tool(GROUPS, f"--group {group} --topic {TOPIC} --reset-offsets --to-offset 7 --execute")
    assert re.search(rf"{group}\s+{TOPIC}\s+0\s+7\b", reset)
    assert re.search(rf"{TOPIC}\s+0\s+7\s+{RECORDS}\s+33\b", tool(GROUPS, f"--describe --group {group}"))
    assert "Successful" in tool(GROUPS, f"--group {group} --delete-offsets --topic {TOPIC}")
    assert "successful" in tool(GROUPS, f"--delete --group {group}")
    assert group not in tool(GROUPS, "--list")
