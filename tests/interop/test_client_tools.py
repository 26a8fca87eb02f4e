"""Kafka's own tools that write and read, of 3.9.1 and of 4.4.0, one after the other on one broker."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.broker import Stepdown
from support.deadline import DEADLINE_S
from support.kafka_tools import API_VERSIONS, CONSOLE_PRODUCER, RELEASES, TOOLS, KafkaTools

pytestmark = pytest.mark.java

PRINT = {"3.9.1": "--property", "4.4.0": "--formatter-property"}
AT = "--bootstrap-server {address}"
COPIED = 40
PROPERTIES = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "num.partitions": "1",
}


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaTools]:
    with Stepdown(tmp_path_factory.mktemp("tools"), properties=PROPERTIES) as broker:
        for topic in ("verified", "fast", "console", "copy"):
            broker.create_topic(topic)
        yield KafkaTools(str(request.param), address=broker.address)


def test_a_verifiable_producer_is_acknowledged_in_order(tools: KafkaTools) -> None:
    printed = tools.run(f"{TOOLS}.VerifiableProducer", f"{AT} --topic verified --max-messages {COPIED} --acks -1")
    offsets = [int(offset) for offset in re.findall(r'"name":"producer_send_success".*"offset":(\d+)', printed)]
    assert offsets == list(range(COPIED))
    assert re.search(rf'"acked":{COPIED}\b', printed)


def test_what_was_verified_is_copied_exactly_once(tools: KafkaTools) -> None:
    """With transactions; offsets are committed in them."""
    arguments = "--broker-list {address} --input-topic verified --input-partition 0 --output-topic copy"
    arguments += f" --transactional-id copier --consumer-group copiers --max-messages {COPIED} --transaction-size 7"
    tools.run(f"{TOOLS}.TransactionalMessageCopier", arguments)
    read = tools.run(
        f"{TOOLS}.consumer.ConsoleConsumer",
        f"{AT} --topic copy --from-beginning --isolation-level read_committed --max-messages {COPIED}",
    )
    assert read.split() == [str(number) for number in range(COPIED)]


def test_console_clients_hand_on_keys_and_headers(tools: KafkaTools) -> None:
    properties = "--property parse.key=true --property parse.headers=true --compression-codec zstd"
    tools.run(CONSOLE_PRODUCER, f"{AT} --topic console {properties}", stdin="h:1\tkey\tvalue\nh:2\tkey 2\tvalue 2\n")
    shown = " ".join(f"{PRINT[tools.release]} print.{what}=true" for what in ("key", "headers", "offset"))
    read = tools.run(
        f"{TOOLS}.consumer.ConsoleConsumer", f"{AT} --topic console --from-beginning --max-messages 2 {shown}"
    )
    assert read == "Offset:0\th:1\tkey\tvalue\nOffset:1\th:2\tkey 2\tvalue 2\n"


def test_the_performance_tools_count_what_they_sent(tools: KafkaTools) -> None:
    sent = "--topic fast --num-records 2000 --record-size 100 --throughput -1"
    properties = "--producer-props bootstrap.servers={address} compression.type=lz4 acks=all"
    assert "2000 records sent" in tools.run(f"{TOOLS}.ProducerPerformance", f"{sent} {properties}")
    patient = f"--timeout {int(DEADLINE_S * 1000)}"  # the tool gives up after 10 s, and ends with 0
    read = tools.run(f"{TOOLS}.ConsumerPerformance", f"{AT} --topic fast --messages 2000 --hide-header {patient}")
    assert re.search(r", 2000,", read), read


def test_transactions_of_the_performance_tool_are_committed(tools: KafkaTools) -> None:
    sent = "--topic fast --num-records 500 --record-size 100 --throughput -1"
    ids = "--transactional-id perf --transaction-duration-ms 20"
    printed = tools.run(f"{TOOLS}.ProducerPerformance", f"{sent} {ids} --producer-props bootstrap.servers={{address}}")
    assert "500 records sent" in printed
    assert re.search(r"perf\s+.*CompleteCommit", tools.run(f"{TOOLS}.TransactionsCommand", f"{AT} list"))


@pytest.mark.parametrize(
    ("main", "arguments", "printed"),
    [
        ("GetOffsetShell", f"{AT} --topic fast --time earliest", r"fast:0:0"),
        ("GetOffsetShell", f"{AT} --topic verified --time latest", rf"verified:0:{COPIED}"),
        ("GetOffsetShell", f"{AT} --topic verified --time max-timestamp", r"verified:0:\d+"),
        ("GetOffsetShell", f"{AT} --topic verified --time 0", r"verified:0:0"),
        ("MetadataQuorumCommand", f"{AT} describe --replication", r"NodeId.*\n1\s"),
        ("ClusterTool", f"cluster-id {AT}", r"Cluster ID: \S{22}"),
        ("EndToEndLatency", "{address} fast 20 all 10", r"Avg latency: [\d.]+ ms"),
    ],
)
def test_a_tool_tells(tools: KafkaTools, main: str, arguments: str, printed: str) -> None:
    told = tools.run(f"{TOOLS}.{main}", arguments)
    assert re.search(printed, told), told


def test_versions_of_the_broker_are_understood(tools: KafkaTools, tmp_path: Path) -> None:
    patient = tmp_path / "patient.properties"
    patient.write_text(f"request.timeout.ms={int(DEADLINE_S * 1000)}\n")  # the tool gives up after 5 s
    told = tools.run(API_VERSIONS, f"{AT} --command-config {patient}")
    assert re.search(r"Fetch\(1\): 0 to 17 \[usable: \d+\]", told), told
