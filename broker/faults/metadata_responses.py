"""Faults in Metadata responses: wrong leaders, or stale ones."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ...protocol.errors import ErrorCode
from ...protocol.messages.metadata import MetadataResponse, MetadataResponsePartition
from .error_responses import Meant

if TYPE_CHECKING:
    from ..metadata.image import MetadataImage

Place = tuple[str, int]
Leader = tuple[int, int]


def leaders_now(cluster: "MetadataImage") -> dict[Place, Leader]:
    """Leader and epoch of each partition, to be shown later."""
    return {partition.key: (partition.leader_id, partition.leader_epoch) for partition in cluster.local_partitions()}


def with_leader(response: MetadataResponse, leader: int, is_meant: Meant) -> MetadataResponse:
    """Names that broker as leader; -1: none."""
    return _change_partitions(response, is_meant, lambda topic, part: _with_leader(part, leader, part.leader_epoch))


def with_old_leaders(response: MetadataResponse, leaders: Mapping[Place, Leader], is_meant: Meant) -> MetadataResponse:
    """Names the leaders that `leaders_now` returned earlier; newer partitions stay as they are."""

    def change(topic: str, part: MetadataResponsePartition) -> MetadataResponsePartition:
        old = leaders.get((topic, part.partition_index))
        return part if old is None else _with_leader(part, *old)

    return _change_partitions(response, is_meant, change)


def _with_leader(part: MetadataResponsePartition, leader: int, epoch: int) -> MetadataResponsePartition:
    code = ErrorCode.LEADER_NOT_AVAILABLE if leader < 0 else ErrorCode.NONE
    return replace(part, leader_id=leader, leader_epoch=epoch, error_code=code)


def _change_partitions(
    response: MetadataResponse,
    is_meant: Meant,
    change: Callable[[str, MetadataResponsePartition], MetadataResponsePartition],
) -> MetadataResponse:
    topics = tuple(
        replace(
            topic,
            partitions=tuple(
                change(topic.name or "", part) if is_meant(topic.name, part.partition_index) else part
                for part in topic.partitions
            ),
        )
        for topic in response.topics
    )
    return replace(response, topics=topics)
