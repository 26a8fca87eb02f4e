"""What Kafka kept in ZooKeeper, of all versions, and nodes that cannot be understood."""

import base64
import json
from typing import Any

import pytest
from stepdown.protocol.acls import AclOperation, PatternType, PermissionType, ResourceType
from stepdown.storage.files.partition_metadata import decode_uuid
from stepdown.storage.zookeeper.kafka_cluster import KafkaCluster, find_cluster_tree, read_cluster
from stepdown.storage.zookeeper.znode_json import MalformedZnode
from stepdown.storage.zookeeper.znode_tree import ZnodeTree
from support.zookeeper_files import kafka_nodes, with_parents

CLUSTER_ID = "Q2x6TqCvQ1KJPgMHkWsTVw"
KEY = base64.b64encode(b"key").decode()
SCRAM = f"salt={KEY},stored_key={KEY},server_key={KEY},iterations=4096"


def cluster_of(more: dict[str, Any] | None = None) -> KafkaCluster:
    nodes = kafka_nodes({"orders": [([1, 2], 1, 4, [1])]}, CLUSTER_ID)
    nodes |= {path: json.dumps(value).encode() for path, value in (more or {}).items()}
    return read_cluster(ZnodeTree(with_parents(nodes)))


def test_a_topic_has_leader_isr_and_epoch_of_its_state() -> None:
    (partition,) = cluster_of().topics["orders"].partitions
    assert (partition.replicas, partition.leader, partition.leader_epoch, partition.isr) == ((1, 2), 1, 4, (1,))


def test_a_node_that_a_broker_made_again_is_no_topic() -> None:
    """Fault: one such node, left of a topic that was removed by hand, kept the whole cluster from being read."""
    state = {"leader": 1, "leader_epoch": 3, "isr": [1]}
    found = cluster_of({"/brokers/topics/gone/partitions/0/state": state})
    assert found.topics.keys() == {"orders"}


def test_a_topic_of_2_8_has_an_id_and_its_reassignment() -> None:
    path = "/brokers/topics/orders"
    fields = {"version": 3, "topic_id": CLUSTER_ID, "partitions": {"0": [1, 2, 3]}}
    found = cluster_of({path: fields | {"adding_replicas": {"0": [3]}, "removing_replicas": {"0": [1]}}})
    assert found.topics["orders"].topic_id == decode_uuid(CLUSTER_ID)
    assert found.topics["orders"].partitions[0].adding == (3,)
    assert found.topics["orders"].partitions[0].removing == (1,)


def test_a_reassignment_before_2_4_goes_on_where_it_had_begun() -> None:
    asked = {"partitions": [{"topic": "orders", "partition": 0, "replicas": [2]}]}
    (partition,) = cluster_of({"/admin/reassign_partitions": asked}).topics["orders"].partitions
    assert (partition.adding, partition.removing) == ((2,), (1,))
    asked["partitions"][0]["replicas"] = [3]
    found = cluster_of({"/admin/reassign_partitions": asked})
    assert found.waiting_reassignments == ["orders-0"]
    assert not found.topics["orders"].partitions[0].is_being_reassigned


def test_settings_are_those_of_topics_all_brokers_and_each() -> None:
    found = cluster_of(
        {
            "/config/topics/orders": {"version": 1, "config": {"retention.ms": "1000"}},
            "/config/topics/empty": {"version": 1, "config": {}},
            "/config/brokers/<default>": {"config": {"log.retention.ms": "5000"}},
            "/config/brokers/1": {"config": {"log.cleaner.threads": "2"}},
        }
    )
    assert found.topic_configs == {"orders": {"retention.ms": "1000"}}
    assert found.cluster_configs == {"log.retention.ms": "5000"}
    assert found.configs_of_brokers == {1: {"log.cleaner.threads": "2"}}


def test_rules_are_literal_or_prefixed() -> None:
    rule = {"principal": "User:a", "permissionType": "Deny", "operation": "IdempotentWrite", "host": "*"}
    found = cluster_of(
        {
            "/kafka-acl/TransactionalId/*": {"acls": [rule]},
            "/kafka-acl-extended/prefixed/Topic/or": {"acls": [rule | {"operation": "All", "permissionType": "Allow"}]},
        }
    )
    assert [(each.resource_type, each.resource_name, each.pattern_type) for each in found.acls] == [
        (ResourceType.TOPIC, "or", PatternType.PREFIXED),
        (ResourceType.TRANSACTIONAL_ID, "*", PatternType.LITERAL),
    ]
    assert [(each.operation, each.permission_type) for each in found.acls] == [
        (AclOperation.ALL, PermissionType.ALLOW),
        (AclOperation.IDEMPOTENT_WRITE, PermissionType.DENY),
    ]


def test_users_have_passwords_and_quotas_under_names_that_are_encoded() -> None:
    found = cluster_of(
        {
            "/config/users/a%3Db": {"config": {"SCRAM-SHA-256": SCRAM, "producer_byte_rate": "1024"}},
            "/config/users/a%3Db/clients/<default>": {"config": {"consumer_byte_rate": "8.5"}},
            "/config/clients/app%2A": {"config": {"request_percentage": "50"}},
            "/config/ips/<default>": {"config": {"connection_creation_rate": "3"}},
            "/config/users/nobody": {"config": {}},
        }
    )
    assert found.passwords["a=b", "SCRAM-SHA-256"].stored_key == b"key"
    assert found.quotas == {
        (("user", "a=b"),): {"producer_byte_rate": 1024.0},
        (("client-id", None), ("user", "a=b")): {"consumer_byte_rate": 8.5},
        (("client-id", "app*"),): {"request_percentage": 50.0},
        (("ip", None),): {"connection_creation_rate": 3.0},
    }


def test_producer_ids_begin_after_the_last_block() -> None:
    block = {"version": 1, "broker": 1, "block_start": "1000", "block_end": "1999"}
    assert cluster_of({"/latest_producer_id_block": block}).next_producer_id == 2000


def test_deleted_topics_tokens_and_a_migration_are_seen() -> None:
    found = cluster_of({"/admin/delete_topics/orders": None, "/delegation_token/tokens/x": {}, "/migration": {}})
    assert (found.deleted_topics, found.delegation_tokens, found.is_migrating) == (frozenset({"orders"}), 1, True)


def test_a_cluster_is_found_below_its_chroot() -> None:
    nodes = kafka_nodes({"a": [([1], 1, 0, [1])]}, CLUSTER_ID)
    below = {f"/kafka/one{path}": data for path, data in nodes.items()}
    assert read_cluster(find_cluster_tree(ZnodeTree(with_parents(below)), None)).topics.keys() == {"a"}
    both = ZnodeTree(with_parents(below | {f"/two{path}": data for path, data in kafka_nodes({"b": []}, "x").items()}))
    assert read_cluster(find_cluster_tree(both, CLUSTER_ID)).topics.keys() == {"a"}
    for tree, cluster_id in ((both, "third"), (ZnodeTree({}), None)):
        with pytest.raises(MalformedZnode):
            find_cluster_tree(tree, cluster_id)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/brokers/topics/orders", {"partitions": {"1": [1]}}),
        ("/brokers/topics/orders", {"partitions": {"0": ["one"]}}),
        ("/brokers/topics/orders", {"partitions": {"0": [1]}, "topic_id": "short"}),
        ("/brokers/topics/orders", []),
        ("/brokers/topics/or:ders", {"partitions": {"0": [1]}}),
        ("/brokers/topics/orders/partitions/0/state", {"isr": 1}),
        ("/brokers/topics/orders/partitions/0/state", {"leader": "one"}),
        ("/kafka-acl/Topic/a", {"acls": [{"principal": "User:a"}]}),
        ("/kafka-acl/Nothing/a", {"acls": [{}]}),
        ("/config/users/a", {"config": {"SCRAM-SHA-256": "salt=secret"}}),
        ("/config/clients/a", {"config": {"producer_byte_rate": "much"}}),
        ("/config/clients/a", {"config": {"producer_byte_rate": "NaN"}}),
        ("/config/brokers/one", {"config": {"a": "b"}}),
        ("/latest_producer_id_block", {"block_end": "many"}),
    ],
)
def test_a_node_that_cannot_be_understood_is_named(path: str, value: object) -> None:
    with pytest.raises(MalformedZnode, match=path.split("/")[1]) as caught:
        cluster_of({path: value})
    assert "secret" not in str(caught.value)
