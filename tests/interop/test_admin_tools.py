"""Kafka's own admin tools, of 3.9.1 and of 4.4.0, against stepdown."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.broker import Stepdown
from support.kafka_tools import CONFIG, RELEASES, KafkaTools

pytestmark = pytest.mark.java

TOPIC = "org.apache.kafka.tools.TopicCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"

# One after the other: the tool, its arguments, what it has to print. {deletion}, {reassignment}, {directory} are paths.
COMMANDS: Sequence[tuple[str, str, str]] = (
    (TOPIC, "--create --topic orders --partitions 3 --config retention.ms=1000", r"Created topic orders"),
    (TOPIC, "--alter --topic orders --partitions 5", r""),
    (TOPIC, "--describe", r"PartitionCount: 5\s+ReplicationFactor: 1\s+Configs: retention.ms=1000"),
    (CONFIG, "--alter --topic orders --add-config cleanup.policy=[compact,delete]", r"Completed updating config"),
    (CONFIG, "--describe --topic orders", r"cleanup.policy=compact,delete .*DYNAMIC_TOPIC_CONFIG"),
    (CONFIG, "--alter --broker 1 --add-config log.retention.ms=5000", r"Completed updating config"),
    (CONFIG, "--describe --broker 1", r"log.retention.ms=5000 .*DYNAMIC_BROKER_CONFIG"),
    (CONFIG, "--alter --user u --add-config producer_byte_rate=1024", r"Completed updating config"),
    (CONFIG, "--describe --user u", r"'u' are producer_byte_rate=1024"),
    (CONFIG, "--describe --entity-type broker-loggers --entity-name 1", r"root=INFO"),
    (OFFSETS, "--topic orders", r"orders:4:0"),
    (DELETE_RECORDS, "--offset-json-file {deletion}", r"partition: orders-0\s+low_watermark: 0"),
    (REASSIGN, "--reassignment-json-file {reassignment} --execute", r"Successfully started moving log directory"),
    (REASSIGN, "--reassignment-json-file {reassignment} --verify", r"replica orders-0-1 completed successfully"),
    (LOG_DIRS, "--describe", r'"orders-0".*"logDir":"{directory}"'),
    (FEATURES, "describe", r"metadata.version.*FinalizedVersionLevel: 3.9-IV0"),
    (QUORUM, "describe --status", r"LeaderId:\s+1"),
    (ELECTION, "--election-type preferred --all-topic-partitions", r""),
    (TOPIC, "--delete --topic orders", r""),
)


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def broker(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepdown]:
    folder = tmp_path_factory.mktemp("tools")
    with Stepdown(folder, properties={"log.dirs": f"{folder / 'data'},{folder / 'more'}"}) as running:
        yield running


@pytest.fixture(scope="module")
def paths(broker: Stepdown) -> dict[str, str]:
    """The files that some tools read, and where the reassignment leads."""
    directory = str(broker.folder / "more")
    deletion = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 0}]}
    move = {"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": [directory]}
    files = {"deletion": deletion, "reassignment": {"version": 1, "partitions": [move]}}
    for name, content in files.items():
        (broker.folder / f"{name}.json").write_text(json.dumps(content))
    return {name: str(broker.folder / f"{name}.json") for name in files} | {"directory": directory}


@pytest.mark.parametrize(
    "command", COMMANDS, ids=[f"{tool.rpartition('.')[2]} {arguments}" for tool, arguments, _ in COMMANDS]
)
def test_a_tool_does_its_work(
    release: str, broker: Stepdown, paths: dict[str, str], command: tuple[str, str, str]
) -> None:
    tool, arguments, printed = command
    told = KafkaTools(release, **paths).run(tool, f"--bootstrap-server {broker.address} {arguments}")
    assert re.search(printed.replace("{directory}", re.escape(paths["directory"])), told, re.DOTALL), told


def test_the_file_that_was_moved_lies_in_the_other_directory(broker: Stepdown) -> None:
    assert list(Path(broker.folder / "more").glob("orders-0*"))
