"""ConsumerGroupDescribe (key 69), versions 0–1, flexible in all.

Shows members and state of groups of the new protocol (KIP-848). v1 comes from Kafka 4.0: which protocol a member
speaks.
"""

from collections.abc import Sequence
from uuid import UUID

from ..schema import array, boolean, int8, int16, int32, message, string, struct, structure, uuid


@message(versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest:
    """The groups to show."""

    group_ids: Sequence[str] = array(string)
    include_authorized_operations: bool = boolean()


@struct
class TopicPartitions:
    topic_id: UUID = uuid()
    topic_name: str = string()
    partitions: Sequence[int] = array(int32)


@struct
class Assignment:
    topic_partitions: Sequence[TopicPartitions] = array(TopicPartitions)


@struct
class Member:
    member_id: str = string()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: Sequence[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+", default=None)
    assignment: Assignment = structure(Assignment)
    target_assignment: Assignment = structure(Assignment)
    member_type: int = int8("1+", default=-1, ignorable=True)


@struct
class DescribedGroup:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: Sequence[Member] = array(Member)
    authorized_operations: int = int32(default=-2147483648)


@message(versions="0-1", flexible="0+")
class ConsumerGroupDescribeResponse:
    """One description per group."""

    throttle_time_ms: int = int32()
    groups: Sequence[DescribedGroup] = array(DescribedGroup)
