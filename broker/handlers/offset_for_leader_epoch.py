"""OffsetForLeaderEpoch, versions 0-4 (KIP-101, 279, 320): where the records of a leader's epoch end.

Consumers ask after a change of leader whether what they read still exists. Version notes: v1 answers the epoch that
the offset belongs to; v2 names the client's current epoch, and fences an old one; v3 has the replica id (-2 for
clients).
"""

from functools import partial
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services

UNDEFINED = -1


async def handle(
    services: "Services", request: OffsetForLeaderEpochRequest, call: Call
) -> OffsetForLeaderEpochResponse:
    topics = []
    for topic in request.topics:
        partitions = await call.turn.map(partial(_find_end_offset, services, topic.topic), topic.partitions)
        topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions))
        await call.turn.next()
    return OffsetForLeaderEpochResponse(topics=topics)


def refuse(request: OffsetForLeaderEpochRequest, error: ApiError, call: Call) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_make_failure(asked, error) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _find_end_offset(services: "Services", name: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = services.cluster.partition(name, asked.partition)
        partition.check_leader_epoch(asked.current_leader_epoch)
        services.cluster.check_led_here(partition)
        epoch, end_offset = partition.end_of_epoch(asked.leader_epoch)
    except ApiError as error:
        return _make_failure(asked, error)
    return EpochEndOffset(partition=asked.partition, leader_epoch=epoch, end_offset=end_offset)


def _make_failure(asked: OffsetForLeaderPartition, error: ApiError) -> EpochEndOffset:
    return EpochEndOffset(
        partition=asked.partition, error_code=error.code, leader_epoch=UNDEFINED, end_offset=UNDEFINED
    )
