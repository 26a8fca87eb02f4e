"""Decodes topics in ZooKeeper: the replicas of their partitions, and the state of each partition.

    /brokers/topics/<topic>                     {"version": 1, "partitions": {"0": [1, 2]}}
                                                2: also "adding_replicas", "removing_replicas"; 3: also "topic_id"
    /brokers/topics/<topic>/partitions/<n>/state   {"leader": 1, "leader_epoch": 3, "isr": [1], "controller_epoch": 2}
    /admin/reassign_partitions                  {"partitions": [{"topic": "a", "partition": 0, "replicas": [2, 3]}]}
    /admin/delete_topics/<topic>                the topic is being deleted

Source: Kafka 1.1.1, 2.8 and 3.9 `ZkData`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ..files.file_names import fault_of_topic_name
from ..files.partition_metadata import decode_uuid
from ..metadata.partition_record import NO_LEADER, PartitionRecord
from .znode_json import MalformedZnode, parse_broker_ids, parse_whole_number, read_object
from .znode_tree import ZnodeTree

TOPICS = "/brokers/topics"
DELETED_TOPICS = "/admin/delete_topics"
REASSIGNMENTS = "/admin/reassign_partitions"

Reassignments = Mapping[tuple[str, int], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperTopic:
    """A topic; `topic_id` is None before 2.8. `without_state`: partitions that never had a leader."""

    topic_id: UUID | None
    partitions: tuple[PartitionRecord, ...]
    without_state: tuple[int, ...] = field(default=())


def read_topics(tree: ZnodeTree) -> dict[str, ZookeeperTopic]:
    """Reads all topics by name, even those that are being deleted. Raises: MalformedZnode.

    Like Kafka, it ignores nodes without data: if somebody removes a topic's node by hand, a broker that writes the
    state of a partition creates an empty one again.
    """
    reassignments = dict(_read_reassignments(tree))
    names = [name for name in tree.children(TOPICS) if tree.get(f"{TOPICS}/{name}")]
    return {name: _read_topic(tree, name, reassignments) for name in names}


def read_deleted_topics(tree: ZnodeTree) -> frozenset[str]:
    """Reads the names of topics that are being deleted."""
    return frozenset(tree.children(DELETED_TOPICS))


def read_waiting_reassignments(tree: ZnodeTree) -> list[str]:
    """Reads the partitions whose reassignment was requested and has not begun."""
    topics = read_topics(tree)
    return [
        f"{topic}-{index}"
        for (topic, index), target in _read_reassignments(tree)
        if topic in topics
        and index < len(topics[topic].partitions)
        and not set(target) <= set(topics[topic].partitions[index].replicas)
    ]


def _read_reassignments(tree: ZnodeTree) -> Iterator[tuple[tuple[str, int], tuple[int, ...]]]:
    rows = read_object(tree, REASSIGNMENTS).get("partitions", [])
    for row in rows if isinstance(rows, list) else ():
        fields = row if isinstance(row, dict) else {}
        partition = parse_whole_number(REASSIGNMENTS, fields.get("partition"))
        yield (str(fields.get("topic")), partition), parse_broker_ids(REASSIGNMENTS, fields.get("replicas"))


def _read_topic(tree: ZnodeTree, name: str, reassignments: Reassignments) -> ZookeeperTopic:
    path = f"{TOPICS}/{name}"
    fault = fault_of_topic_name(name)
    if fault is not None:
        raise MalformedZnode(f"ZooKeeper's {path}: {fault}")
    fields = read_object(tree, path)
    partitions = fields.get("partitions")
    if not isinstance(partitions, dict) or {str(n) for n in range(len(partitions))} != partitions.keys():
        raise MalformedZnode(f"ZooKeeper's {path}: partitions from 0 on expected, found {str(partitions)[:100]}")
    found = [
        _read_partition(tree, path, index, fields, reassignments.get((name, index))) for index in range(len(partitions))
    ]
    return ZookeeperTopic(
        topic_id=_parse_topic_id(path, fields),
        partitions=tuple(found),
        without_state=tuple(n for n in range(len(found)) if f"{path}/partitions/{n}/state" not in tree),
    )


def _parse_topic_id(path: str, fields: Mapping[str, Any]) -> UUID | None:
    text = fields.get("topic_id")
    if text is None:
        return None
    try:
        return decode_uuid(str(text))
    except ValueError as fault:
        raise MalformedZnode(f"ZooKeeper's {path}: topic_id: {fault}") from fault


def _read_partition(
    tree: ZnodeTree, path: str, index: int, fields: Mapping[str, Any], target: tuple[int, ...] | None
) -> PartitionRecord:
    replicas = parse_broker_ids(path, fields["partitions"][str(index)])
    adding = _replicas_of(path, fields, "adding_replicas", index)
    removing = _replicas_of(path, fields, "removing_replicas", index)
    state_path = f"{path}/partitions/{index}/state"
    state = read_object(tree, state_path)
    isr = parse_broker_ids(state_path, state.get("isr", []))
    if target is not None and not adding and not removing and set(target) < set(replicas):
        # Before 2.4, the replicas during a reassignment are the old and the new ones together.
        adding = tuple(replica for replica in target if replica not in isr)
        removing = tuple(replica for replica in replicas if replica not in target)
    return PartitionRecord(
        replicas=replicas,
        isr=tuple(replica for replica in isr if replica in replicas),
        leader=parse_whole_number(state_path, state.get("leader", NO_LEADER)),
        leader_epoch=parse_whole_number(state_path, state.get("leader_epoch", 0)),
        adding=adding,
        removing=removing,
    )


def _replicas_of(path: str, fields: Mapping[str, Any], name: str, index: int) -> tuple[int, ...]:
    by_partition = fields.get(name) or {}
    if not isinstance(by_partition, dict):
        raise MalformedZnode(f"ZooKeeper's {path}: {name} by partition expected")
    return parse_broker_ids(path, by_partition.get(str(index), []))
