"""Reassignments of partitions to other brokers (KIP-455)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from ...protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from ..errors import raise_if_error
from ..operation import CONTROLLER, Operation, TopicPartition, ask
from .outcome import Outcome, outcome_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A partition that is being moved: its replicas now, and which of them are being added and removed."""

    topic: str
    partition: int
    replicas: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]


def reassign_partitions(targets: Mapping[TopicPartition, Sequence[int] | None]) -> Operation[list[Outcome]]:
    """Moves each partition to these brokers, the preferred leader first; None cancels its reassignment.

    Raises: KafkaError.
    """
    by_topic: dict[str, list[ReassignablePartition]] = {}
    for (topic, partition), replicas in targets.items():
        entry = ReassignablePartition(partition_index=partition, replicas=None if replicas is None else tuple(replicas))
        by_topic.setdefault(topic, []).append(entry)
    topics = tuple(ReassignableTopic(name=name, partitions=tuple(each)) for name, each in by_topic.items())
    response = yield from ask(AlterPartitionReassignmentsRequest(topics=topics), CONTROLLER)
    raise_if_error("reassignment", response)
    return [
        outcome_of(f"{topic.name}-{each.partition_index}", each)
        for topic in response.responses
        for each in topic.partitions
    ]


def list_reassignments() -> Operation[list[Reassignment]]:
    """The ongoing reassignments, sorted by topic and partition. Raises: KafkaError."""
    response = yield from ask(ListPartitionReassignmentsRequest(), CONTROLLER)
    raise_if_error("reassignments", response)
    found = [
        Reassignment(
            topic=topic.name,
            partition=each.partition_index,
            replicas=each.replicas,
            adding=each.adding_replicas,
            removing=each.removing_replicas,
        )
        for topic in response.topics
        for each in topic.partitions
    ]
    return sorted(found, key=lambda each: (each.topic, each.partition))
