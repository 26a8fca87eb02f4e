"""ListOffsets (key 2), versions 0–9, flexible from 6: finds offsets by timestamp.

v0 asks for up to `max_num_offsets` segment starts and gets an array; v1+ gets one offset and its timestamp. Special
timestamps: -1 end, -2 start, -3 largest timestamp (v7+), -4 local log start (v8+), -5 tiered (v9+).
"""

from collections.abc import Sequence

from ..schema import array, int8, int16, int32, int64, message, string, struct


@struct
class ListOffsetsPartition:
    partition_index: int = int32()
    current_leader_epoch: int = int32("4+", default=-1, ignorable=True)
    timestamp: int = int64()
    max_num_offsets: int = int32("0", default=1)


@struct
class ListOffsetsTopic:
    name: str = string()
    partitions: Sequence[ListOffsetsPartition] = array(ListOffsetsPartition)


@message(versions="0-9", flexible="6+")
class ListOffsetsRequest:
    """Partitions and the timestamps to look for."""

    replica_id: int = int32()
    isolation_level: int = int8("2+")
    topics: Sequence[ListOffsetsTopic] = array(ListOffsetsTopic)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int = int32()
    error_code: int = int16()
    old_style_offsets: Sequence[int] = array(int64, "0")
    timestamp: int = int64("1+", default=-1)
    offset: int = int64("1+", default=-1)
    leader_epoch: int = int32("4+", default=-1)


@struct
class ListOffsetsTopicResponse:
    name: str = string()
    partitions: Sequence[ListOffsetsPartitionResponse] = array(ListOffsetsPartitionResponse)


@message(versions="0-9", flexible="6+")
class ListOffsetsResponse:
    """The offset found for each partition."""

    throttle_time_ms: int = int32("2+", ignorable=True)
    topics: Sequence[ListOffsetsTopicResponse] = array(ListOffsetsTopicResponse)
