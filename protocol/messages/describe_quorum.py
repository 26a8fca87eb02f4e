"""DescribeQuorum (key 55), versions 0–2, flexible in all.

Shows the state of the metadata quorum (KIP-595). v1 adds fetch times, v2 directory ids and endpoints.
"""

from collections.abc import Sequence
from uuid import UUID

from ..schema import array, int16, int32, int64, message, string, struct, uint16, uuid


@struct
class PartitionData:
    partition_index: int = int32()


@struct
class TopicData:
    topic_name: str = string()
    partitions: Sequence[PartitionData] = array(PartitionData)


@message(versions="0-2", flexible="0+")
class DescribeQuorumRequest:
    """Partitions of the metadata topic."""

    topics: Sequence[TopicData] = array(TopicData)


@struct
class ReplicaState:
    replica_id: int = int32()
    replica_directory_id: UUID = uuid("2+")
    log_end_offset: int = int64()
    last_fetch_timestamp: int = int64("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = int64("1+", default=-1, ignorable=True)


@struct
class ResponsePartitionData:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string("2+", nullable="2+", ignorable=True)
    leader_id: int = int32()
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: Sequence[ReplicaState] = array(ReplicaState)
    observers: Sequence[ReplicaState] = array(ReplicaState)


@struct
class ResponseTopicData:
    topic_name: str = string()
    partitions: Sequence[ResponsePartitionData] = array(ResponsePartitionData)


@struct
class Listener:
    name: str = string("2+")
    host: str = string("2+")
    port: int = uint16("2+")


@struct
class Node:
    node_id: int = int32("2+")
    listeners: Sequence[Listener] = array(Listener, "2+")


@message(versions="0-2", flexible="0+")
class DescribeQuorumResponse:
    """Leader, voters and observers."""

    error_code: int = int16()
    error_message: str | None = string("2+", nullable="2+", ignorable=True)
    topics: Sequence[ResponseTopicData] = array(ResponseTopicData)
    nodes: Sequence[Node] = array(Node, "2+")
