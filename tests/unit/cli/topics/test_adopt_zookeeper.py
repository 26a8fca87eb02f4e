"""`stepdown topics adopt --zookeeper-data`: settings, ids, numbers of partitions, and who may do what."""

import json
from pathlib import Path

import pytest
from stepdown.storage.directories.meta_properties import read_meta_properties
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import decode_uuid
from stepdown.storage.metadata.cluster_state import ClusterState
from stepdown.storage.metadata.metadata_store import MetadataStore
from support.command import run_command
from support.migrating import CLUSTER_ID, write_directory, write_replica
from support.zookeeper_files import create, kafka_nodes, leave, log, snapshot, with_parents

TOPIC_ID = "Z5Ba2LYRRq2xBRZxp5os2Q"
SCRAM = "salt=a2V5,stored_key=a2V5,server_key=a2V5,iterations=4096"
RULE = {"principal": "User:a", "permissionType": "Allow", "operation": "Read", "host": "*"}
NODES = {
    "/brokers/topics/orders": {"version": 3, "topic_id": TOPIC_ID, "partitions": {"0": [1], "1": [1]}},
    "/config/topics/orders": {"config": {"retention.ms": "1000", "x.y": "z", "segment.bytes": "many"}},
    "/config/users/alice": {"config": {"SCRAM-SHA-256": SCRAM, "producer_byte_rate": "1024"}},
    "/kafka-acl/Topic/orders": {"acls": [RULE]},
    "/latest_producer_id_block": {"block_end": "1999"},
}


@pytest.fixture
def zookeeper(tmp_path: Path) -> Path:
    topics = {"__consumer_offsets": [([1], 1, 0, [1])] * 3, "orders": [([1], 1, 0, [1])]}
    nodes = kafka_nodes(topics, CLUSTER_ID) | {path: json.dumps(value).encode() for path, value in NODES.items()}
    files = {"snapshot.0": snapshot({}), "log.1": log(1, [create(*each) for each in with_parents(nodes).items()])}
    return leave(tmp_path / "zookeeper", files)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = write_directory(tmp_path / "data", 1)
    for name, index in (("orders", 0), ("orders", 1), ("__consumer_offsets", 0)):
        write_replica(path, name, index)
    return path


def state_of(data: Path) -> ClusterState:
    return MetadataStore.read(Files(read_only=True), [str(data)]).state


def test_a_directory_has_all_of_it(data: Path, zookeeper: Path) -> None:
    words = ("topics", "adopt", "--zookeeper-data", zookeeper, "--log-dir", data)
    tried = run_command(*words, "--dry-run")
    assert tried.exit_code == 0, tried.stderr
    assert not list(data.rglob("partition.metadata"))
    done = run_command(*words)
    assert done.exit_code == 0, done.stderr
    assert "1 passwords of users of ZooKeeper" in done.stdout
    assert "segment.bytes=many is left out" in done.stderr
    state = state_of(data)
    assert state.topics["orders"].topic_id == decode_uuid(TOPIC_ID)
    assert state.topics["orders"].configs == {"retention.ms": "1000"}
    assert state.topics["__consumer_offsets"].partitions == 3
    assert state.scram_credentials.keys() == {("alice", "SCRAM-SHA-256")}
    assert state.client_quotas == {(("user", "alice"),): {"producer_byte_rate": 1024.0}}
    assert [acl.principal for acl in state.acls] == ["User:a"]
    assert state.next_producer_id >= 2000
    again = run_command(*words)
    assert again.exit_code == 0, again.stderr
    assert state_of(data).acls == state.acls


def test_a_directory_of_0_10_0_gets_the_id_of_the_cluster(data: Path, zookeeper: Path) -> None:
    (data / "meta.properties").write_text("version=0\nbroker.id=1\n")
    done = run_command("topics", "adopt", "--zookeeper-data", zookeeper, "--log-dir", data)
    assert done.exit_code == 0, done.stderr
    meta = read_meta_properties(Files(), str(data))
    assert meta is not None
    assert meta.cluster_id == CLUSTER_ID


@pytest.mark.parametrize("words", [(), ("--dry-run",)], ids=["changing", "dry run"])
def test_a_zookeeper_of_another_cluster_is_refused(tmp_path: Path, zookeeper: Path, words: tuple[str, ...]) -> None:
    other = write_directory(tmp_path / "other", 1, cluster_id="other")
    write_replica(other, "orders", 0)
    done = run_command("topics", "adopt", "--zookeeper-data", zookeeper, "--log-dir", other, *words)
    assert done.exit_code == 1
    assert "cluster other" in done.stderr


def test_one_source_is_named(data: Path, zookeeper: Path) -> None:
    words = ("topics", "adopt", "--log-dir", data, "--defaults", "--zookeeper-data", zookeeper)
    assert run_command(*words).exit_code == 2
