"""Requests that go to the leaders of partitions. All functions raise CommandFailure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..support.failures import CommandFailure

if TYPE_CHECKING:
    from ...client.operation import TopicPartition
    from ..support.command_client import CommandClient


def group_partitions_by_leader(client: CommandClient, topics: Sequence[str]) -> dict[int, list[TopicPartition]]:
    """Returns all partitions of the topics, by the id of their leader."""
    from ...client.operations.partition_leaders import PartitionLeaders

    leaders = PartitionLeaders()
    counts = client.run(leaders.refresh_and_count_partitions(topics))
    partitions = [(topic, partition) for topic, count in counts.items() for partition in range(count)]
    found = leaders.group_by_leader(partitions)
    missing = sorted({*partitions}.difference(*found.values()))
    if missing:
        topic, partition = missing[0]
        raise CommandFailure(f"{topic}-{partition} has no leader", "`stepdown topics describe` shows leaders.")
    return found


def offsets_at_time(client: CommandClient, topics: Sequence[str], timestamp: int) -> dict[TopicPartition, int]:
    """Returns the offset of each partition for `timestamp`, which is EARLIEST or LATEST."""
    from ...client.operations.offsets import look_up_offsets

    found: dict[TopicPartition, int] = {}
    for leader, partitions in group_partitions_by_leader(client, topics).items():
        found |= client.run(look_up_offsets(partitions, timestamp, to=leader))
    return found
