"""OffsetCommit, versions 0-9: stores what a group has consumed (KIP-98, 211, 320, 345, 848).

An unknown partition, or metadata that is too long, is an error of that partition alone; a member that may not commit
gets its error for every partition.

Version notes: v0 and v1 are what clients of 0.8.x send; their offsets are kept with all others, where Kafka kept those
of v0 in ZooKeeper and refuses them without it. v1 gives a timestamp per partition, v2 to v4 a retention, v6 the leader
epoch, v7 the instance id; in v9 the generation may be the epoch of a KIP-848 member.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ..dispatch.acted_release import refuse_zookeeper_offsets
from ..dispatch.call import Call
from ..groups.offsets.committed_offsets import TopicPartition
from ..groups.offsets.offset_requests import Committer, NewOffset
from ..metadata.image import MetadataImage

if TYPE_CHECKING:
    from ..services import Services

OFFSETS_A_BATCH = 100
"""How many offsets of one request are written together, in a fraction of a millisecond."""


async def handle(services: "Services", request: OffsetCommitRequest, call: Call) -> OffsetCommitResponse:
    known = []
    for topic in request.topics:
        await call.turn.next()
        for partition in topic.partitions:
            if has_partition(services.cluster, topic.name, partition.partition_index):
                known.append(_new_offset(topic.name, partition, request.retention_time_ms))
            await call.turn.next()
    committer = Committer(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id_or_member_epoch,
        version=call.version,
    )
    codes: dict[TopicPartition, ErrorCode] = {}
    for at in range(0, len(known), OFFSETS_A_BATCH):
        if at:
            await call.turn.next()
        batch = known[at : at + OFFSETS_A_BATCH]
        try:
            refuse_zookeeper_offsets(services.settings.stepdown_act_as, call.version)
            codes |= await services.groups.commit_offsets(committer, batch)
        except ApiError as error:
            codes |= {(each.topic, each.partition): error.code for each in batch}
    return _make_response(request, codes, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def refuse(request: OffsetCommitRequest, error: ApiError, call: Call) -> OffsetCommitResponse:
    return _make_response(request, {}, error.code)


def has_partition(cluster: MetadataImage, topic: str, partition: int) -> bool:
    found = cluster.topics.get(topic)
    return found is not None and partition in found.partitions


def _new_offset(topic: str, asked: OffsetCommitRequestPartition, retention_ms: int) -> NewOffset:
    return NewOffset(
        topic=topic,
        partition=asked.partition_index,
        offset=asked.committed_offset,
        leader_epoch=asked.committed_leader_epoch,
        metadata=asked.committed_metadata,
        commit_ms=asked.commit_timestamp,
        retention_ms=retention_ms,
    )


def _make_response(
    request: OffsetCommitRequest, codes: Mapping[TopicPartition, ErrorCode], otherwise: ErrorCode
) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name, partitions=_make_partitions(topic.name, topic.partitions, codes, otherwise)
            )
            for topic in request.topics
        )
    )


def _make_partitions(
    topic: str,
    asked: Sequence[OffsetCommitRequestPartition],
    codes: Mapping[TopicPartition, ErrorCode],
    otherwise: ErrorCode,
) -> tuple[OffsetCommitResponsePartition, ...]:
    return tuple(
        OffsetCommitResponsePartition(
            partition_index=each.partition_index, error_code=codes.get((topic, each.partition_index), otherwise)
        )
        for each in asked
    )
