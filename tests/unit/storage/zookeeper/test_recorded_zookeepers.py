"""What ZooKeepers of Kafka 0.10.2, 1.1.1 and 2.8.2 left (`tests/vectors/zookeeper`), after Kafka's tools had been used:
a topic `orders`, users, quotas and access rules were made, a topic `gone` was deleted."""

import gzip
from pathlib import Path

import pytest
from stepdown.protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.scram import credential_of, salt_password
from stepdown.storage.files.files import Files
from stepdown.storage.zookeeper.data_directory import DataDirectory, read_data_directory
from stepdown.storage.zookeeper.kafka_cluster import read_cluster

VECTORS = Path(__file__).parents[3] / "vectors" / "zookeeper"
READ_ORDERS = Acl(
    resource_type=ResourceType.TOPIC,
    resource_name="orders",
    pattern_type=PatternType.LITERAL,
    principal="User:alice",
    host="*",
    operation=AclOperation.READ,
    permission_type=PermissionType.ALLOW,
)


def read(folder: Path, version: str, left_out: str = "nothing") -> DataDirectory:
    folder.mkdir()
    for path in (VECTORS / version).iterdir():
        if not path.name.startswith(left_out):
            (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return read_data_directory(Files(read_only=True), [str(folder)])


@pytest.mark.parametrize("version", ["0.10.2.2", "1.1.1", "2.8.2"])
def test_all_of_the_cluster_is_understood(tmp_path: Path, version: str) -> None:
    found = read(tmp_path / "zookeeper", version)
    assert not found.notes + found.gaps
    cluster = read_cluster(found.tree)
    assert len(cluster.cluster_id) == 22
    assert len(cluster.topics["orders"].partitions) == 3
    assert all(each.isr == each.replicas == (1,) for each in cluster.topics["orders"].partitions)
    assert (cluster.topics["orders"].topic_id is not None) == (version == "2.8.2")
    kept = {"orders", "gone"} if version == "0.10.2.2" else {"orders"}  # where delete.topic.enable is false
    assert set(cluster.topics) - cluster.deleted_topics == kept
    assert cluster.topic_configs == {"orders": {"segment.bytes": "20000"}}
    assert cluster.quotas == {
        (("client-id", "app"), ("user", "a=b,c")): {"producer_byte_rate": 1048576.0},
        (("client-id", None),): {"consumer_byte_rate": 2097152.0},
    }
    assert READ_ORDERS in cluster.acls
    assert len(cluster.acls) == 3 + (version == "2.8.2")
    assert cluster.next_producer_id == (0 if version == "0.10.2.2" else 1000)
    stored = cluster.passwords["alice", "SCRAM-SHA-256"]
    salted = salt_password("SCRAM-SHA-256", "secret", stored.salt, stored.iterations)
    assert stored == credential_of("SCRAM-SHA-256", stored.salt, salted, stored.iterations)


def test_the_log_alone_says_the_same_as_the_snapshot(tmp_path: Path) -> None:
    both, log = read(tmp_path / "both", "2.8.2"), read(tmp_path / "log", "2.8.2", left_out="snapshot")
    own = {"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"}  # every ZooKeeper has them
    assert log.zxid == both.zxid
    assert set(log.tree.paths()) - own == set(both.tree.paths()) - own
    assert all(log.tree.get(path) == both.tree.get(path) for path in set(both.tree.paths()) - own)
