"""Kafka's own tools read the metadata that `stepdown migrate` wrote, and a quorum of them becomes a dynamic one."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from stepdown.storage.files.partition_metadata import encode_uuid
from support.clients_raw import wait_until
from support.command import run_command
from support.deadline import DEADLINE_S
from support.java_build import java
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_tools import KafkaTools
from support.maven import class_path
from support.migrated_records import consume
from support.migrating import Migration, cluster_of, write_directory, write_replica
from support.zookeeper_cluster import IDS, NewCluster

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOOLS = "org.apache.kafka.tools"
DUMP, QUORUM, FEATURES = (f"{TOOLS}.{name}" for name in ("DumpLogSegments", "MetadataQuorumCommand", "FeatureCommand"))
SHELL = "org.apache.kafka.shell.MetadataShell"
SHELL_JAR = "org.apache.kafka:kafka-shell:4.3.1"
"""Maven has none of 4.4.0, whose classes it cannot be run with."""
RECORDS = 30


@pytest.fixture
def planned(tmp_path: Path) -> Migration:
    """Three brokers with a replica each, and a plan for them."""
    disks = {each: [write_directory(tmp_path / f"{each}" / "data", each)] for each in IDS}
    for (disk,) in disks.values():
        write_replica(disk, "orders", 0, RECORDS, epochs=[(3, 0)])
    migration = Migration(tmp_path, disks, cluster_of({"orders": [([1, 2, 3], 1, 3, [1, 2, 3])]}))
    migration.plan()
    return migration


@pytest.fixture
def migration(planned: Migration) -> Migration:
    """The same, and the plan was applied."""
    planned.apply()
    return planned


def dump(file: Path) -> str:
    """What the dump tool prints of a file of metadata; it complains of nothing."""
    dumped = KafkaTools(LATEST, file=str(file)).run(DUMP, "--cluster-metadata-decoder --files {file}")
    assert "rror" not in dumped
    assert "orrupt" not in dumped
    return dumped


def test_kafkas_tools_read_the_snapshot(migration: Migration) -> None:
    (snapshot,) = migration.brokers[2][0].glob("__cluster_metadata-0/*.checkpoint")
    assert dump(snapshot).count('"type":"PARTITION_RECORD"') == 1
    command = java(class_path(SHELL_JAR), SHELL, "--snapshot", str(snapshot), "find", "/image/topics")
    shown = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "/image/topics/byName/orders/0" in shown.stdout.splitlines()


def set_addresses(migration: Migration, nodes: Mapping[int, ApacheKafka4]) -> None:
    """Those that the nodes will listen at, in the plan."""
    for broker_id, node in nodes.items():
        host, _, port = node.address.rpartition(":")
        addresses = f'host: "{host}"\n    port: {port}\n    controller_port: {node._controller.rpartition(":")[2]}'
        migration.edit(f'host: "host-{broker_id}"\n    port: 9092\n    controller_port: 9093', addresses)


class KafkaAsPrinted(ApacheKafka4):
    """Has the settings that `stepdown migrate apply` printed, and no others."""

    printed: Mapping[str, str]

    def _settings(self) -> dict[str, str]:
        return dict(self.printed)


def test_the_printed_settings_are_enough(tmp_path: Path) -> None:
    disk = write_directory(tmp_path / "data", 1)
    write_replica(disk, "orders", 0, RECORDS)
    migration = Migration(tmp_path, {1: [disk]}, cluster_of({"orders": [([1], 1, 3, [1])]}))
    migration.plan()
    kafka = KafkaAsPrinted(tmp_path, release=LATEST)
    set_addresses(migration, {1: kafka})
    applied = run_command("migrate", "apply", migration.path)
    assert applied.exit_code == 0, applied.stderr
    lines = [line for line in applied.stdout.splitlines() if not line.startswith("#")]
    kafka.printed = dict(line.split("=", 1) for line in lines)
    with kafka:
        assert len(consume(kafka.address, "orders", 0)) == RECORDS


def test_a_quorum_becomes_dynamic(migration: Migration) -> None:
    """kraft.version 1, as an operator raises it after the hop; the voters are then known by the ids of directories."""
    new = NewCluster(migration.folder)
    tools = KafkaTools(LATEST, at=f"--bootstrap-server {new.nodes[1].address}")
    with new:
        assert "LeaderId:" in quorum(tools)
        wait_until(lambda: is_upgraded(tools), "all voters have told the leader what they support")
        run(tools, FEATURES, "upgrade --feature kraft.version=1")
    bootstrap = ",".join(node._controller for node in new.nodes.values())
    for node in new.nodes.values():
        node._properties |= {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": bootstrap}
    with new:
        status = quorum(tools)
        for broker in migration.read().brokers.values():
            assert encode_uuid(broker.directories[0].directory_id) in status
        assert len(consume(new.addresses, "orders", 0)) == RECORDS
        admin = AdminClient({"bootstrap.servers": new.addresses})
        wait_until(lambda: len(admin.list_topics(timeout=DEADLINE_S).topics["orders"].partitions[0].isrs) == 3, "all")
    for path in (migration.brokers[1][0] / "__cluster_metadata-0").glob("*.log"):
        dump(path)
    migration.undo()
    assert not list(migration.folder.rglob("__cluster_metadata*"))


@pytest.mark.parametrize("release", [LATEST, "4.0.1"])
def test_a_quorum_is_dynamic_from_the_start(planned: Migration, release: str) -> None:
    """With kraft_version 1 in the plan; then a voter leaves, which it can in such a quorum only."""
    new = NewCluster(planned.folder, release=release)
    set_addresses(planned, new.nodes)
    planned.edit("kraft_version: 0", "kraft_version: 1")
    planned.apply()
    bootstrap = ",".join(node._controller for node in new.nodes.values())
    for node in new.nodes.values():
        node._properties |= {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": bootstrap}
    ids = {key: encode_uuid(each.directories[0].directory_id) for key, each in planned.read().brokers.items()}
    tools = KafkaTools(LATEST, at=f"--bootstrap-server {new.nodes[1].address}")
    with new:
        status = quorum(tools)
        assert all(directory_id in status for directory_id in ids.values())
        run(tools, QUORUM, f"remove-controller --controller-id 3 --controller-directory-id {ids[3]}")
        voters = next(line for line in quorum(tools).splitlines() if line.startswith("CurrentVoters:"))
        assert (ids[2] in voters, ids[3] in voters) == (True, False)
        assert len(consume(new.addresses, "orders", 0)) == RECORDS
        for node in new.nodes.values():
            node.kill()  # of two voters the last one would wait for a controller before it stops
    (snapshot,) = planned.brokers[1][0].glob("__cluster_metadata-0/*100-*1.checkpoint")
    assert '"kRaftVersion":1' in dump(snapshot)
    planned.undo()
    assert not list(planned.folder.rglob("__cluster_metadata*"))


def run(tools: KafkaTools, main: str, words: str) -> str:
    return tools.run(main, f"{tools.names['at']} {words}")


def is_upgraded(tools: KafkaTools) -> bool:
    """Raises: AssertionError for another reason than that the leader does not know yet what voters support."""
    try:
        run(tools, FEATURES, "upgrade --release-version 4.4")
    except AssertionError as fault:
        if "not all of the voters support it" not in str(fault):
            raise
        return False
    return True


def quorum(tools: KafkaTools) -> str:
    return run(tools, QUORUM, "describe --status")
