"""Produce (key 0), versions 0–11, flexible from 9: appends record sets to partitions.

From v3 the records are one batch of magic 2; zstd from v7. v3 adds the transactional id; v8 per-record errors; v10
the new leader in the response (KIP-951). v11 is v10 with a new error code. With acks 0 no response is sent at all.
"""

from collections.abc import Sequence

from ..schema import Buffer, array, int16, int32, int64, message, record_set, string, struct, structure


@struct
class PartitionProduceData:
    index: int = int32()
    records: Buffer | None = record_set(nullable="0+")


@struct
class TopicProduceData:
    name: str = string()
    partition_data: Sequence[PartitionProduceData] = array(PartitionProduceData)


@message(versions="0-11", flexible="9+")
class ProduceRequest:
    """What a producer sends."""

    transactional_id: str | None = string("3+", nullable="3+", default=None)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: Sequence[TopicProduceData] = array(TopicProduceData)


@struct
class BatchIndexAndErrorMessage:
    batch_index: int = int32("8+")
    batch_index_error_message: str | None = string("8+", nullable="8+", default=None)


@struct
class LeaderIdAndEpoch:
    leader_id: int = int32("10+", default=-1)
    leader_epoch: int = int32("10+", default=-1)


@struct
class PartitionProduceResponse:
    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64("2+", default=-1, ignorable=True)
    log_start_offset: int = int64("5+", default=-1, ignorable=True)
    record_errors: Sequence[BatchIndexAndErrorMessage] = array(BatchIndexAndErrorMessage, "8+", ignorable=True)
    error_message: str | None = string("8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = structure(LeaderIdAndEpoch, "10+", tag=0)


@struct
class TopicProduceResponse:
    name: str = string()
    partition_responses: Sequence[PartitionProduceResponse] = array(PartitionProduceResponse)


@struct
class NodeEndpoint:
    node_id: int = int32("10+")
    host: str = string("10+")
    port: int = int32("10+")
    rack: str | None = string("10+", nullable="10+", default=None)


@message(versions="0-11", flexible="9+")
class ProduceResponse:
    """One result per partition."""

    responses: Sequence[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32("1+", ignorable=True)
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "10+", tag=0)
