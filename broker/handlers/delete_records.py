"""DeleteRecords, versions 0-2 (KIP-107): raises the log start offset.

Records below the given offset (-1: the high watermark) are gone at once; their segments are deleted with the next
retention. An offset below the log's start changes nothing and succeeds. Only the leader does it; followers in the same
process learn of it at once and are not waited for. The new start is on the disk when the answer goes out, so that a
crash does not bring records back (Kafka writes it once a minute). Not possible where `cleanup.policy` has no `delete`,
nor for internal topics.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services

log = logging.getLogger(__name__)

HIGH_WATERMARK = -1
NO_LOW_WATERMARK = -1


async def handle(services: "Services", request: DeleteRecordsRequest, call: Call) -> DeleteRecordsResponse:
    topics = []
    for topic in request.topics:
        partitions = await call.turn.map(partial(_delete_and_answer, services, call, topic.name), topic.partitions)
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=partitions))
        await call.turn.next()
    await services.run_in_worker(services.log_manager.checkpoints.write_log_starts)
    return DeleteRecordsResponse(topics=topics)


def refuse(request: DeleteRecordsRequest, error: ApiError, call: Call) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[_make_failure(partition, error) for partition in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _delete_and_answer(
    services: "Services", call: Call, name: str, asked: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    try:
        low_watermark = _delete_records(services, name, asked, call)
    except ApiError as error:
        return _make_failure(asked, error)
    return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=low_watermark)


def _delete_records(services: "Services", name: str, asked: DeleteRecordsPartition, call: Call) -> int:
    """The log's start afterwards. Raises ApiError 1, 3, 6, 17 or 44."""
    partition = services.cluster.partition(name, asked.partition_index)
    topic = services.cluster.topics[name]
    if topic.is_internal:
        raise ApiError(f"{name} is an internal topic", ErrorCode.INVALID_TOPIC_EXCEPTION)
    services.cluster.check_led_here(partition)
    if not topic.settings.deletes_old_segments:
        raise ApiError(f"{name}: cleanup.policy has no delete", ErrorCode.POLICY_VIOLATION)
    high_watermark = partition.high_watermark
    offset = high_watermark if asked.offset == HIGH_WATERMARK else asked.offset
    if not 0 <= offset <= high_watermark:
        raise ApiError(
            f"{name}-{asked.partition_index}: offset {offset} is not in [0, {high_watermark}]",
            ErrorCode.OFFSET_OUT_OF_RANGE,
        )
    if partition.log.advance_log_start(offset):
        log.info("%s: records below offset %d are deleted by %s", partition.log.name, offset, call.requester)
    partition.wake_followers()
    return partition.log.log_start_offset


def _make_failure(asked: DeleteRecordsPartition, error: ApiError) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=NO_LOW_WATERMARK, error_code=error.code
    )
