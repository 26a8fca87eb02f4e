"""ConsumerGroupHeartbeat (key 68), versions 0–1, flexible in all.

Joins, keeps alive and leaves a group of the new protocol (KIP-848). v1 comes from Kafka 4.0: a regular expression
instead of topic names, and members that make their own id (KIP-1082). librdkafka speaks nothing older.
"""

from collections.abc import Sequence
from uuid import UUID

from ..schema import array, int16, int32, message, string, struct, structure, uuid


@struct
class TopicPartitions:
    topic_id: UUID = uuid()
    partitions: Sequence[int] = array(int32)


@message(versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest:
    """A member and what changed for it."""

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: Sequence[str] | None = array(string, nullable="0+", default=None)
    subscribed_topic_regex: str | None = string("1+", nullable="1+", default=None)
    server_assignor: str | None = string(nullable="0+", default=None)
    topic_partitions: Sequence[TopicPartitions] | None = array(TopicPartitions, nullable="0+", default=None)


@struct
class Assignment:
    topic_partitions: Sequence[TopicPartitions] = array(TopicPartitions)


@message(versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse:
    """The member's epoch and, when it changed, its assignment."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = structure(Assignment, nullable="0+")
