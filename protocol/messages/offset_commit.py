"""OffsetCommit (key 8), versions 0–9, flexible from 8: stores consumed offsets of a group.

v0 stored in ZooKeeper; v1 alone has a commit timestamp per partition; v2–v4 a retention time for all; v6 adds the
leader epoch; v7 the group instance id (KIP-345).
"""

from collections.abc import Sequence

from ..schema import array, int16, int32, int64, message, string, struct


@struct
class OffsetCommitRequestPartition:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("6+", default=-1, ignorable=True)
    commit_timestamp: int = int64("1", default=-1)
    committed_metadata: str | None = string(nullable="0+")


@struct
class OffsetCommitRequestTopic:
    name: str = string()
    partitions: Sequence[OffsetCommitRequestPartition] = array(OffsetCommitRequestPartition)


@message(versions="0-9", flexible="8+")
class OffsetCommitRequest:
    """Offsets to store."""

    group_id: str = string()
    generation_id_or_member_epoch: int = int32("1+", default=-1, ignorable=True)
    member_id: str = string("1+", ignorable=True)
    group_instance_id: str | None = string("7+", nullable="7+", default=None)
    retention_time_ms: int = int64("2-4", default=-1, ignorable=True)
    topics: Sequence[OffsetCommitRequestTopic] = array(OffsetCommitRequestTopic)


@struct
class OffsetCommitResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class OffsetCommitResponseTopic:
    name: str = string()
    partitions: Sequence[OffsetCommitResponsePartition] = array(OffsetCommitResponsePartition)


@message(versions="0-9", flexible="8+")
class OffsetCommitResponse:
    """One error code per partition."""

    throttle_time_ms: int = int32("3+", ignorable=True)
    topics: Sequence[OffsetCommitResponseTopic] = array(OffsetCommitResponseTopic)
