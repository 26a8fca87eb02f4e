"""OffsetDelete (key 47), version 0, never flexible: removes committed offsets of a group (KIP-496)."""

from collections.abc import Sequence

from ..schema import array, int16, int32, message, string, struct


@struct
class OffsetDeleteRequestPartition:
    partition_index: int = int32()


@struct
class OffsetDeleteRequestTopic:
    name: str = string()
    partitions: Sequence[OffsetDeleteRequestPartition] = array(OffsetDeleteRequestPartition)


@message(versions="0")
class OffsetDeleteRequest:
    """Partitions of one group."""

    group_id: str = string()
    topics: Sequence[OffsetDeleteRequestTopic] = array(OffsetDeleteRequestTopic)


@struct
class OffsetDeleteResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class OffsetDeleteResponseTopic:
    name: str = string()
    partitions: Sequence[OffsetDeleteResponsePartition] = array(OffsetDeleteResponsePartition)


@message(versions="0")
class OffsetDeleteResponse:
    """How that went, per partition."""

    error_code: int = int16()
    throttle_time_ms: int = int32(ignorable=True)
    topics: Sequence[OffsetDeleteResponseTopic] = array(OffsetDeleteResponseTopic)
