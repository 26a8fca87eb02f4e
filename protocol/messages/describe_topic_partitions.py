"""DescribeTopicPartitions (key 75), version 0, flexible in all: shows partitions of topics page by page (KIP-966)."""

from collections.abc import Sequence
from uuid import UUID

from ..schema import array, boolean, int16, int32, message, string, struct, structure, uuid


@struct
class TopicRequest:
    name: str = string()


@struct
class Cursor:
    topic_name: str = string()
    partition_index: int = int32()


@message(versions="0", flexible="0+")
class DescribeTopicPartitionsRequest:
    """Topics, and where to go on."""

    topics: Sequence[TopicRequest] = array(TopicRequest)
    response_partition_limit: int = int32(default=2000)
    cursor: Cursor | None = structure(Cursor, nullable="0+")


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(default=-1, ignorable=True)
    replica_nodes: Sequence[int] = array(int32)
    isr_nodes: Sequence[int] = array(int32)
    eligible_leader_replicas: Sequence[int] | None = array(int32, nullable="0+", default=None)
    last_known_elr: Sequence[int] | None = array(int32, nullable="0+", default=None)
    offline_replicas: Sequence[int] = array(int32, ignorable=True)


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: int = int16()
    name: str | None = string(nullable="0+")
    topic_id: UUID = uuid(ignorable=True)
    is_internal: bool = boolean(ignorable=True)
    partitions: Sequence[DescribeTopicPartitionsResponsePartition] = array(DescribeTopicPartitionsResponsePartition)
    topic_authorized_operations: int = int32(default=-2147483648)


@message(versions="0", flexible="0+")
class DescribeTopicPartitionsResponse:
    """Partitions, and where the next page begins."""

    throttle_time_ms: int = int32(ignorable=True)
    topics: Sequence[DescribeTopicPartitionsResponseTopic] = array(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = structure(Cursor, nullable="0+")
