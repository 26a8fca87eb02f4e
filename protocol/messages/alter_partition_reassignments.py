"""AlterPartitionReassignments (key 45), version 0, flexible in all.

Starts or cancels reassignments of replicas (KIP-455).
"""

from collections.abc import Sequence

from ..schema import array, int16, int32, message, string, struct


@struct
class ReassignablePartition:
    partition_index: int = int32()
    replicas: Sequence[int] | None = array(int32, nullable="0+", default=None)


@struct
class ReassignableTopic:
    name: str = string()
    partitions: Sequence[ReassignablePartition] = array(ReassignablePartition)


@message(versions="0", flexible="0+")
class AlterPartitionReassignmentsRequest:
    """Partitions and their new replicas (null: cancel)."""

    timeout_ms: int = int32(default=60000)
    topics: Sequence[ReassignableTopic] = array(ReassignableTopic)


@struct
class ReassignablePartitionResponse:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@struct
class ReassignableTopicResponse:
    name: str = string()
    partitions: Sequence[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


@message(versions="0", flexible="0+")
class AlterPartitionReassignmentsResponse:
    """How that went, per partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    responses: Sequence[ReassignableTopicResponse] = array(ReassignableTopicResponse)
