"""OffsetFetch (key 9), versions 0–9, flexible from 6: reads committed offsets.

v0 read from ZooKeeper. v2+ null topics mean all; v2 adds a group-level error; v8 asks for several groups in one
request.
"""

from collections.abc import Sequence

from ..schema import array, boolean, int16, int32, int64, message, string, struct


@struct
class OffsetFetchRequestTopic:
    name: str = string("0-7")
    partition_indexes: Sequence[int] = array(int32, "0-7")


@struct
class OffsetFetchRequestTopics:
    name: str = string("8+")
    partition_indexes: Sequence[int] = array(int32, "8+")


@struct
class OffsetFetchRequestGroup:
    group_id: str = string("8+")
    member_id: str | None = string("9+", nullable="9+", default=None, ignorable=True)
    member_epoch: int = int32("9+", default=-1, ignorable=True)
    topics: Sequence[OffsetFetchRequestTopics] | None = array(OffsetFetchRequestTopics, "8+", nullable="8+")


@message(versions="0-9", flexible="6+")
class OffsetFetchRequest:
    """Which groups' offsets to tell."""

    group_id: str = string("0-7")
    topics: Sequence[OffsetFetchRequestTopic] | None = array(OffsetFetchRequestTopic, "0-7", nullable="2-7")
    groups: Sequence[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, "8+")
    require_stable: bool = boolean("7+")


@struct
class OffsetFetchResponsePartition:
    partition_index: int = int32("0-7")
    committed_offset: int = int64("0-7")
    committed_leader_epoch: int = int32("5-7", default=-1, ignorable=True)
    metadata: str | None = string("0-7", nullable="0-7")
    error_code: int = int16("0-7")


@struct
class OffsetFetchResponseTopic:
    name: str = string("0-7")
    partitions: Sequence[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition, "0-7")


@struct
class OffsetFetchResponsePartitions:
    partition_index: int = int32("8+")
    committed_offset: int = int64("8+")
    committed_leader_epoch: int = int32("8+", default=-1, ignorable=True)
    metadata: str | None = string("8+", nullable="8+")
    error_code: int = int16("8+")


@struct
class OffsetFetchResponseTopics:
    name: str = string("8+")
    partitions: Sequence[OffsetFetchResponsePartitions] = array(OffsetFetchResponsePartitions, "8+")


@struct
class OffsetFetchResponseGroup:
    group_id: str = string("8+")
    topics: Sequence[OffsetFetchResponseTopics] = array(OffsetFetchResponseTopics, "8+")
    error_code: int = int16("8+")


@message(versions="0-9", flexible="6+")
class OffsetFetchResponse:
    """Offsets, by partition up to v7, by group from v8."""

    throttle_time_ms: int = int32("3+", ignorable=True)
    topics: Sequence[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, "0-7")
    error_code: int = int16("2-7", ignorable=True)
    groups: Sequence[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, "8+")
