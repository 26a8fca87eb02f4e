"""ElectLeaders (key 43), versions 0–2, flexible from 2.

Elects leaders: preferred ones, or from v1 unclean ones (KIP-460).
"""

from collections.abc import Sequence

from ..schema import array, int8, int16, int32, message, string, struct


@struct
class TopicPartitions:
    topic: str = string()
    partitions: Sequence[int] = array(int32)


@message(versions="0-2", flexible="2+")
class ElectLeadersRequest:
    """Partitions (null: all)."""

    election_type: int = int8("1+")
    topic_partitions: Sequence[TopicPartitions] | None = array(TopicPartitions, nullable="0+")
    timeout_ms: int = int32(default=60000)


@struct
class PartitionResult:
    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@struct
class ReplicaElectionResult:
    topic: str = string()
    partition_result: Sequence[PartitionResult] = array(PartitionResult)


@message(versions="0-2", flexible="2+")
class ElectLeadersResponse:
    """How that went, per partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16("1+")
    replica_election_results: Sequence[ReplicaElectionResult] = array(ReplicaElectionResult)
