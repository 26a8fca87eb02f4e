"""ListOffsets, versions 0-9: offsets by time, and the ends of a log.

| timestamp | since | answers |
|---|---|---|
| -1 latest | v0 | high watermark, last stable offset for read_committed, log end for replicas |
| -2 earliest | v0 | log start |
| -3 largest timestamp | v7 | the first record that has it |
| -4 earliest local | v8 | log start: nothing is tiered |
| -5 latest tiered | v9 | -1: nothing is tiered |
| >= 0 | v0 | first record not older |

Version notes: v0 answers a list of offsets, by the time segments were last written; v2 isolation; v4 leader epochs. A
negative timestamp that the version does not have gives UNSUPPORTED_VERSION. Nothing found: offset, timestamp and
epoch -1, no error.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ...storage.log.offset_lookup import TimestampOffset
from ..dispatch.call import Call
from ..dispatch.repeated_items import find_repeated_names
from ..metadata.partition import DEBUGGING_REPLICA, Partition

if TYPE_CHECKING:
    from ..services import Services

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
FIRST_VERSION = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}

CONSUMER = -1
FIRST_VERSION_WITH_EPOCHS = 4
FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE = 5
NOTHING = TimestampOffset(timestamp=-1, offset=-1)


async def handle(services: "Services", request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
    named = ((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions)
    repeated = await find_repeated_names(named, call.turn) if call.version > 0 else set()

    async def answer(name: str, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        try:
            if call.version == 0:
                return _find_offsets_v0(services, request, name, asked)
            if (name, asked.partition_index) in repeated:
                raise ApiError(f"{name}-{asked.partition_index} is asked for twice", ErrorCode.INVALID_REQUEST)
            return await _find_one_offset(services, request, name, asked, call.version)
        except ApiError as error:
            return _make_failure(asked, error)

    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            partitions.append(await answer(topic.name, asked))
            await call.turn.next()
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
        await call.turn.next()
    return ListOffsetsResponse(topics=topics)


def refuse(request: ListOffsetsRequest, error: ApiError, call: Call) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name, partitions=[_make_failure(asked, error) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _make_failure(asked: ListOffsetsPartition, error: ApiError) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=error.code)


async def _find_one_offset(
    services: "Services", request: ListOffsetsRequest, name: str, asked: ListOffsetsPartition, version: int
) -> ListOffsetsPartitionResponse:
    timestamp = asked.timestamp
    if timestamp < 0 and version < FIRST_VERSION.get(timestamp, version + 1):
        raise ApiError(f"version {version} has no timestamp {timestamp}", ErrorCode.UNSUPPORTED_VERSION)
    partition = services.cluster.partition(name, asked.partition_index)
    partition.check_leader_epoch(asked.current_leader_epoch)
    _check_led_here(services, request, partition)
    # A replica sees all that is written; only consumers (-1) have an isolation level.
    end = partition.log.log_end_offset
    if request.replica_id == CONSUMER:
        end = partition.visible_end_offset(request.isolation_level)
        if timestamp == LATEST or timestamp >= 0:
            _check_knows_high_watermark(partition, version)
    found = await _find_timestamp_offset(services, partition, timestamp, end) or NOTHING
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if version >= FIRST_VERSION_WITH_EPOCHS else -1,
    )


def _check_led_here(services: "Services", request: ListOffsetsRequest, partition: Partition) -> None:
    """All but debuggers ask the leader. Raises ApiError NOT_LEADER_OR_FOLLOWER."""
    if request.replica_id != DEBUGGING_REPLICA:
        services.cluster.check_led_here(partition)


def _check_knows_high_watermark(partition: Partition, version: int) -> None:
    """Raises ApiError 78, before v5 5, if a new leader does not know its high watermark yet (KIP-207)."""
    try:
        partition.check_knows_high_watermark()
    except ApiError as error:
        if version < FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE:
            raise ApiError(str(error), ErrorCode.LEADER_NOT_AVAILABLE) from error
        raise


async def _find_timestamp_offset(
    services: "Services", partition: Partition, timestamp: int, end: int
) -> TimestampOffset | None:
    log = partition.log
    if timestamp == LATEST:
        return TimestampOffset(timestamp=-1, offset=end, leader_epoch=partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        epoch = log.epochs.epoch_at(log.log_start_offset)
        if epoch < 0 and not log.epochs.entries and log.log_end_offset == 0:
            epoch = partition.leader_epoch  # nothing is written yet: the leader's epoch begins here
        return TimestampOffset(timestamp=-1, offset=log.log_start_offset, leader_epoch=epoch)
    if timestamp == LATEST_TIERED:
        return None
    found = await services.find_offset_by_time(log, None if timestamp == MAX_TIMESTAMP else timestamp)
    return found if found is not None and found.offset < end else None


def _find_offsets_v0(
    services: "Services", request: ListOffsetsRequest, name: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    if asked.timestamp < EARLIEST:
        raise ApiError(f"version 0 has no timestamp {asked.timestamp}", ErrorCode.UNSUPPORTED_VERSION)
    partition = services.cluster.partition(name, asked.partition_index)
    _check_led_here(services, request, partition)
    offsets = partition.log.legacy_offsets_before(asked.timestamp, asked.max_num_offsets)
    if request.replica_id == CONSUMER and any(offset > partition.high_watermark for offset in offsets):
        high_watermark = partition.high_watermark
        offsets = [high_watermark, *(offset for offset in offsets if offset <= high_watermark)]
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, old_style_offsets=offsets)
