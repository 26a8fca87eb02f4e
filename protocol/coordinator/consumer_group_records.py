"""A consumer group (KIP-848) in `__consumer_offsets`, one record per part of its state.

    key version  key                 value (version 0, flexible)
    3            group               group epoch
    4            group               subscribed topics with their partitions and racks
    5            group, member       what the member asked for
    6            group               epoch of the target assignment
    7            group, member       target assignment of the member
    8            group, member       what the member owns now, and its epochs

Source: Kafka 3.9, ConsumerGroup*Key.json and ConsumerGroup*Value.json. A null value takes the part away.
"""

from collections.abc import Sequence
from uuid import UUID

from ..schema import array, binary, int8, int32, message, string, struct, structure, uuid


@message(versions="3")
class ConsumerGroupMetadataKey:
    """Which group."""

    group_id: str = string("3")


@message(versions="0", flexible="0+")
class ConsumerGroupMetadataValue:
    """The epoch that grows with each change of members, subscriptions or topics."""

    epoch: int = int32()


@message(versions="4")
class ConsumerGroupPartitionMetadataKey:
    """Which group."""

    group_id: str = string("4")


@struct
class PartitionMetadata:
    """Racks that hold replicas of a partition."""

    partition: int = int32()
    racks: Sequence[str] = array(string)


@struct
class TopicMetadata:
    """A subscribed topic as the target assignment saw it; no partitions listed: no racks are known."""

    topic_id: UUID = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: Sequence[PartitionMetadata] = array(PartitionMetadata)


@message(versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue:
    """The subscribed topics that exist."""

    topics: Sequence[TopicMetadata] = array(TopicMetadata)


@message(versions="5")
class ConsumerGroupMemberMetadataKey:
    """Which member."""

    group_id: str = string("5")
    member_id: str = string("5")


@struct
class ClassicProtocol:
    """An assignor that a member of the classic protocol supports, with its subscription."""

    name: str = string()
    metadata: bytes = binary()


@struct
class ClassicMemberMetadata:
    """What is kept of a member that speaks the classic protocol in a consumer group."""

    session_timeout_ms: int = int32()
    supported_protocols: Sequence[ClassicProtocol] = array(ClassicProtocol)


@message(versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue:
    """What the member asked for."""

    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: Sequence[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string(nullable="0+", default=None)
    classic_member_metadata: ClassicMemberMetadata | None = structure(ClassicMemberMetadata, nullable="0+", tag=0)


@message(versions="6")
class ConsumerGroupTargetAssignmentMetadataKey:
    """Which group."""

    group_id: str = string("6")


@message(versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue:
    """The group epoch for which the target assignment was made."""

    assignment_epoch: int = int32()


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: Sequence[int] = array(int32)


@message(versions="7")
class ConsumerGroupTargetAssignmentMemberKey:
    """Which member."""

    group_id: str = string("7")
    member_id: str = string("7")


@message(versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue:
    """What the member is to own in the end."""

    topic_partitions: Sequence[TopicPartitions] = array(TopicPartitions)


@message(versions="8")
class ConsumerGroupCurrentMemberAssignmentKey:
    """Which member."""

    group_id: str = string("8")
    member_id: str = string("8")


@message(versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue:
    """What the member owns. `state`: 1 stable, 2 has to give partitions back, 3 waits for partitions of others."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: Sequence[TopicPartitions] = array(TopicPartitions)
    partitions_pending_revocation: Sequence[TopicPartitions] = array(TopicPartitions)
