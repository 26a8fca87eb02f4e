"""Kafka 4's own tools print through a gateway what they print at Kafka 4.4.0 itself.

Each command runs directly and then through a gateway of each scheme, on a topic, a group and a user of its own.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from difflib import ndiff
from pathlib import Path
from typing import NamedTuple

import pytest
from support.certificates import Authority
from support.gateway_process import GatewayProcess
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_authorizing import AUTHORIZER
from support.kafka_tools import ACLS, CONFIG, CONSOLE_PRODUCER, GROUPS, TOOLS, KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC, OFFSETS, DELETE_RECORDS, LOG_DIRS, FEATURES, QUORUM, ELECTION, REASSIGN, CLUSTER, TRANSACTIONS, CONSUMER = (
    f"{TOOLS}.{name}"
    for name in (
        *("TopicCommand", "GetOffsetShell", "DeleteRecordsCommand", "LogDirsCommand", "FeatureCommand"),
        *("MetadataQuorumCommand", "LeaderElectionCommand", "reassign.ReassignPartitionsCommand", "ClusterTool"),
        *("TransactionsCommand", "consumer.ConsoleConsumer"),
    )
)
RECORDS = "one:1\ntwo:2\nthree:3\nfour:4\n"
KEYS = "--property parse.key=true --property key.separator=:"
SHOWN = "--formatter-property print.key=true --formatter-property print.offset=true"
COMMANDS = (
    (TOPIC, "--create --topic {name} --partitions 3 --config retention.ms=86400000"),
    (TOPIC, "--alter --topic {name} --partitions 5"),
    (TOPIC, "--describe --topic {name}"),
    (TOPIC, "--list"),
    (CONFIG, "--alter --topic {name} --add-config cleanup.policy=[compact,delete]"),
    (CONFIG, "--describe --topic {name}"),
    (CONFIG, "--describe --topic {name} --all"),
    (CONFIG, "--alter --broker 1 --add-config log.cleaner.threads=2"),
    (CONFIG, "--describe --broker 1"),
    (CONFIG, "--alter --user {name} --add-config producer_byte_rate=1024"),
    (CONFIG, "--describe --user {name}"),
    (CONFIG, "--describe --entity-type broker-loggers --entity-name 1"),
    (CONFIG, "--alter --topic {name} --delete-config cleanup.policy"),
    (CONSOLE_PRODUCER, f"--topic {{name}} {KEYS} --compression-codec zstd"),
    (CONSUMER, f"--topic {{name}} --group {{name}} --from-beginning --max-messages 4 {SHOWN}"),
    (OFFSETS, "--topic {name}"),
    (OFFSETS, "--topic {name} --time earliest"),
    (OFFSETS, "--topic {name} --time max-timestamp --partitions 0"),
    (GROUPS, "--list --state"),
    (GROUPS, "--describe --group {name}"),
    (GROUPS, "--describe --group {name} --state"),
    (GROUPS, "--describe --group {name} --members"),
    (GROUPS, "--group {name} --topic {name} --reset-offsets --to-earliest --execute"),
    (GROUPS, "--group {name} --delete-offsets --topic {name}"),
    (GROUPS, "--delete --group {name}"),
    (DELETE_RECORDS, "--offset-json-file {deletion}"),
    (REASSIGN, "--reassignment-json-file {reassignment} --execute"),
    (REASSIGN, "--reassignment-json-file {reassignment} --verify"),
    (REASSIGN, "--list"),
    (ELECTION, "--election-type preferred --topic {name} --partition 0"),
    (LOG_DIRS, "--describe --topic-list {name}"),
    (ACLS, "--add --allow-principal User:{name} --operation Read --topic {name} --group {name}"),
    (ACLS, "--add --deny-principal User:{name} --operation Write --topic {name} --resource-pattern-type prefixed"),
    (ACLS, "--list --topic {name} --resource-pattern-type match"),
    (ACLS, "--remove --force --allow-principal User:{name} --operation Read --topic {name}"),
    (ACLS, "--list --principal User:{name}"),
    (FEATURES, "describe"),
    (QUORUM, "describe --status"),
    (CLUSTER, "cluster-id"),
    (TRANSACTIONS, "list"),
    (TOPIC, "--delete --topic {name}"),
)
BEFORE_THE_ADDRESS = {FEATURES, QUORUM, TRANSACTIONS}
"""Their command comes after the options of all commands."""
DIRECTLY, PORTS, SINGLE, SNI = "directly", "by-ports", "one-port", "by-names"
NAMES = (DIRECTLY, PORTS, SINGLE, SNI)
NOT_OFFERED = {SINGLE: {LOG_DIRS, REASSIGN}}
"""Log directories, which a reassignment asks for, too, belong to one broker, which the request does not name."""
HOST, BROKER_HOST = "gateway.kafka.example", "broker-1.kafka.example"
VARIES = (
    (re.compile("|".join(NAMES)), "NAME"),
    (re.compile(rf"(127\.0\.0\.1|{HOST}|{BROKER_HOST}):\d+"), "ADDRESS"),
    (re.compile(r"TopicId: \S+"), "TopicId: ID"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r'("size":|Epoch: |HighWatermark:\s*|MaxFollowerLag\w*:\s*)\d+'), "COUNT"),
    (re.compile(r"[ \t]+"), " "),
)


class Way(NamedTuple):
    """To Kafka; `name` is that of the topic, the group and the user. `config`: a file for the tool's client."""

    address: str
    name: str
    folder: Path
    config: Path | None = None

    def print(self, tool: str, arguments: str) -> list[str]:
        """What the tool prints, without what differs from one run to the next: lines and JSON's values, sorted."""
        files = {
            "deletion": {"version": 1, "partitions": [{"topic": self.name, "partition": 0, "offset": 0}]},
            "reassignment": {"version": 1, "partitions": [{"topic": self.name, "partition": 0, "replicas": [1]}]},
        }
        names = {"name": self.name, "address": self.address, "config": str(self.config)}
        for name, content in files.items():
            names[name] = str(self.folder / f"{self.name}-{name}.json")
            Path(names[name]).write_text(json.dumps(content))
        at = "--bootstrap-server {address}" + (" --command-config {config}" if self.config is not None else "")
        words = f"{at} {arguments}" if tool in BEFORE_THE_ADDRESS else f"{arguments} {at}"
        text = KafkaTools(LATEST, **names).run(tool, words, stdin=RECORDS if tool == CONSOLE_PRODUCER else "")
        for pattern, what in VARIES:
            text = pattern.sub(what, text)
        return sorted(part.rstrip(",") for part in re.split(r"\n|(?=[\[\]{])", text))


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Way, ...]]:
    """Directly, and through the gateways."""
    folder = tmp_path_factory.mktemp("tools")
    settings = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with ExitStack() as stack:
        kafka = stack.enter_context(ApacheKafka4(tmp_path_factory.mktemp("kafka"), release=LATEST, properties=settings))

        def gateway(name: str, **settings: object) -> GatewayProcess:
            work = tmp_path_factory.mktemp(name)
            return stack.enter_context(GatewayProcess(work, kafka.address, **settings))

        authority = Authority(folder)
        by_names = gateway(
            SNI,
            addresses="sni",
            broker_host='"broker-{id}.kafka.example"',
            security_protocol="SSL",
            ssl_keystore_type="PEM",
            ssl_keystore_location=authority.issue("gateway", "*.kafka.example"),
            advertised_host=HOST,
        )
        config = folder / "client.properties"
        config.write_text(f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={authority.file}\n")
        hosts = folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {HOST} {BROKER_HOST}\n")
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("JAVA_TOOL_OPTIONS", f"-Djdk.net.hosts.file={hosts}")
        yield (
            Way(kafka.address, DIRECTLY, folder),
            Way(gateway(PORTS).address, PORTS, folder),
            Way(gateway(SINGLE, addresses="single").address, SINGLE, folder),
            Way(by_names.address.replace("127.0.0.1", HOST), SNI, folder, config),
        )


def test_each_tool_prints_the_same(ways: tuple[Way, ...]) -> None:
    """One after the other: each finds what those before it have done."""
    different = {}
    for tool, arguments in COMMANDS:
        printed = {way.name: way.print(tool, arguments) for way in ways if tool not in NOT_OFFERED.get(way.name, ())}
        for name, lines in printed.items():
            if lines != printed[DIRECTLY]:
                told = [line for line in ndiff(printed[DIRECTLY], lines) if line[0] in "+-"]
                different[f"{name}: {tool} {arguments}"] = told
    assert not different


def test_what_one_port_does_not_offer_is_said_by_the_tools(ways: tuple[Way, ...]) -> None:
    (way,) = (way for way in ways if way.name == SINGLE)
    way.print(TOPIC, "--create --topic {name} --if-not-exists")
    for tool, arguments in ((LOG_DIRS, "--describe"), (REASSIGN, "--reassignment-json-file {reassignment} --execute")):
        with pytest.raises(AssertionError, match="UnsupportedVersionException"):
            way.print(tool, arguments)
