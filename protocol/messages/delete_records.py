"""DeleteRecords (key 21), versions 0–2, flexible from 2.

Moves the start of partitions up, so that older records are gone.
"""

from collections.abc import Sequence

from ..schema import array, int16, int32, int64, message, string, struct


@struct
class DeleteRecordsPartition:
    partition_index: int = int32()
    offset: int = int64()


@struct
class DeleteRecordsTopic:
    name: str = string()
    partitions: Sequence[DeleteRecordsPartition] = array(DeleteRecordsPartition)


@message(versions="0-2", flexible="2+")
class DeleteRecordsRequest:
    """New first offsets; -1 is the high watermark."""

    topics: Sequence[DeleteRecordsTopic] = array(DeleteRecordsTopic)
    timeout_ms: int = int32()


@struct
class DeleteRecordsPartitionResult:
    partition_index: int = int32()
    low_watermark: int = int64()
    error_code: int = int16()


@struct
class DeleteRecordsTopicResult:
    name: str = string()
    partitions: Sequence[DeleteRecordsPartitionResult] = array(DeleteRecordsPartitionResult)


@message(versions="0-2", flexible="2+")
class DeleteRecordsResponse:
    """The start offset of each partition."""

    throttle_time_ms: int = int32()
    topics: Sequence[DeleteRecordsTopicResult] = array(DeleteRecordsTopicResult)
