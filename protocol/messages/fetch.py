"""Fetch (key 1), versions 0–17, flexible from 12: reads record sets from partitions.

The version tells what the reader understands: v0–v1 magic 0, v2–v3 magic 0 and 1, v4+ all three; zstd from v10. v3
limits the whole response; v4 adds isolation levels; v7 fetch sessions (KIP-227); v12 divergence detection; v13 names
topics by id (KIP-516); v15 moves the replica id into `replica_state` (KIP-903); v16 adds leader endpoints (KIP-951).
"""

from collections.abc import Sequence
from uuid import UUID

from ..schema import Piece, array, int8, int16, int32, int64, message, record_set, string, struct, structure, uuid


@struct
class ReplicaState:
    replica_id: int = int32("15+", default=-1)
    replica_epoch: int = int64("15+", default=-1)


@struct
class FetchPartition:
    partition: int = int32()
    current_leader_epoch: int = int32("9+", default=-1, ignorable=True)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32("12+", default=-1)
    log_start_offset: int = int64("5+", default=-1, ignorable=True)
    partition_max_bytes: int = int32()
    replica_directory_id: UUID = uuid("17+", tag=0, ignorable=True)


@struct
class FetchTopic:
    topic: str = string("0-12", ignorable=True)
    topic_id: UUID = uuid("13+", ignorable=True)
    partitions: Sequence[FetchPartition] = array(FetchPartition)


@struct
class ForgottenTopic:
    topic: str = string("7-12", ignorable=True)
    topic_id: UUID = uuid("13+", ignorable=True)
    partitions: Sequence[int] = array(int32, "7+")


@message(versions="0-17", flexible="12+")
class FetchRequest:
    """What a consumer or a follower asks."""

    cluster_id: str | None = string("12+", nullable="12+", default=None, tag=0, ignorable=True)
    replica_id: int = int32("0-14", default=-1)
    replica_state: ReplicaState = structure(ReplicaState, "15+", tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32("3+", default=0x7FFFFFFF, ignorable=True)
    isolation_level: int = int8("4+", ignorable=True)
    session_id: int = int32("7+", ignorable=True)
    session_epoch: int = int32("7+", default=-1, ignorable=True)
    topics: Sequence[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: Sequence[ForgottenTopic] = array(ForgottenTopic, "7+")
    rack_id: str = string("11+", ignorable=True)


@struct
class EpochEndOffset:
    epoch: int = int32("12+", default=-1)
    end_offset: int = int64("12+", default=-1)


@struct
class LeaderIdAndEpoch:
    leader_id: int = int32("12+", default=-1)
    leader_epoch: int = int32("12+", default=-1)


@struct
class SnapshotId:
    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


@struct
class AbortedTransaction:
    producer_id: int = int64("4+")
    first_offset: int = int64("4+")


@struct
class PartitionData:
    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64("4+", default=-1, ignorable=True)
    log_start_offset: int = int64("5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = structure(EpochEndOffset, "12+", tag=0)
    current_leader: LeaderIdAndEpoch = structure(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id: SnapshotId = structure(SnapshotId, "12+", tag=2)
    aborted_transactions: Sequence[AbortedTransaction] | None = array(
        AbortedTransaction, "4+", nullable="4+", ignorable=True
    )
    preferred_read_replica: int = int32("11+", default=-1)
    records: Piece | None = record_set(nullable="0+")


@struct
class FetchableTopicResponse:
    topic: str = string("0-12", ignorable=True)
    topic_id: UUID = uuid("13+", ignorable=True)
    partitions: Sequence[PartitionData] = array(PartitionData)


@struct
class NodeEndpoint:
    node_id: int = int32("16+")
    host: str = string("16+")
    port: int = int32("16+")
    rack: str | None = string("16+", nullable="16+", default=None)


@message(versions="0-17", flexible="12+")
class FetchResponse:
    """The records found, partition by partition."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16("7+", ignorable=True)
    session_id: int = int32("7+")
    responses: Sequence[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "16+", tag=0)
