"""ListPartitionReassignments (key 46), version 0, flexible in all: lists reassignments under way (KIP-455)."""

from collections.abc import Sequence

from ..schema import array, int16, int32, message, string, struct


@struct
class ListPartitionReassignmentsTopics:
    name: str = string()
    partition_indexes: Sequence[int] = array(int32)


@message(versions="0", flexible="0+")
class ListPartitionReassignmentsRequest:
    """Partitions (null: all)."""

    timeout_ms: int = int32(default=60000)
    topics: Sequence[ListPartitionReassignmentsTopics] | None = array(
        ListPartitionReassignmentsTopics, nullable="0+", default=None
    )


@struct
class OngoingPartitionReassignment:
    partition_index: int = int32()
    replicas: Sequence[int] = array(int32)
    adding_replicas: Sequence[int] = array(int32)
    removing_replicas: Sequence[int] = array(int32)


@struct
class OngoingTopicReassignment:
    name: str = string()
    partitions: Sequence[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


@message(versions="0", flexible="0+")
class ListPartitionReassignmentsResponse:
    """Replicas being added and removed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    topics: Sequence[OngoingTopicReassignment] = array(OngoingTopicReassignment)
