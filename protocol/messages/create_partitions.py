"""CreatePartitions (key 37), versions 0–3, flexible from 2: raises the number of partitions of topics."""

from collections.abc import Sequence

from ..schema import array, boolean, int16, int32, message, string, struct


@struct
class CreatePartitionsAssignment:
    broker_ids: Sequence[int] = array(int32)


@struct
class CreatePartitionsTopic:
    name: str = string()
    count: int = int32()
    assignments: Sequence[CreatePartitionsAssignment] | None = array(CreatePartitionsAssignment, nullable="0+")


@message(versions="0-3", flexible="2+")
class CreatePartitionsRequest:
    """Topics and their new counts."""

    topics: Sequence[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


@struct
class CreatePartitionsTopicResult:
    name: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@message(versions="0-3", flexible="2+")
class CreatePartitionsResponse:
    """How that went, per topic."""

    throttle_time_ms: int = int32()
    results: Sequence[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)
