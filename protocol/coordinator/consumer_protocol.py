"""What consumers put into JoinGroup and SyncGroup when the group's protocol type is `consumer`.

    subscription  version int16 | topics [string] | user data nullable bytes | owned partitions [topic, [int32]] (1+) |
                  generation id int32 (2+) | rack id nullable string (3+)
    assignment    version int16 | partitions [topic, [int32]] | user data nullable bytes

Each version only adds at the end, so a newer version than ours is read as our newest (Kafka 3.9, ConsumerProtocol). The
broker looks inside for offset expiry, OffsetDelete, and groups that move between the classic and the consumer protocol.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from ..errors import MalformedFrame
from ..schema import array, binary, decode, int32, message, string, struct
from .versioned import VERSION_BYTES, encode_with_version, split_version

PROTOCOL_TYPE: Final = "consumer"
NEWEST_VERSION: Final = 3

T = TypeVar("T")


@struct
class ConsumerTopicPartitions:
    """Partitions of one topic."""

    topic: str = string()
    partitions: Sequence[int] = array(int32)


@message(versions="0-3")
class ConsumerSubscription:
    """What a member wants to read, and what it owned before it joined."""

    topics: Sequence[str] = array(string)
    user_data: bytes | None = binary(nullable="0+", default=None)
    owned_partitions: Sequence[ConsumerTopicPartitions] = array(ConsumerTopicPartitions, "1+", ignorable=True)
    generation_id: int = int32("2+", default=-1, ignorable=True)
    rack_id: str | None = string("3+", nullable="3+", default=None, ignorable=True)


@message(versions="0-3")
class ConsumerAssignment:
    """What the leader gave a member."""

    assigned_partitions: Sequence[ConsumerTopicPartitions] = array(ConsumerTopicPartitions)
    user_data: bytes | None = binary(nullable="0+", default=None)


def protocol_version(data: bytes | memoryview) -> int:
    """The version that `data` begins with. Raises: MalformedFrame."""
    version, _ = split_version(data)
    if version < 0:
        raise MalformedFrame(f"version {version} of the consumer protocol")
    return version


def decode_subscription(data: bytes | memoryview, *, newest: int = NEWEST_VERSION) -> ConsumerSubscription:
    """The subscription, read as version `newest` at most. Raises: MalformedFrame."""
    return _decode_up_to_newest(ConsumerSubscription, data, newest)


def decode_assignment(data: bytes | memoryview) -> ConsumerAssignment:
    """The assignment; no bytes are an assignment of nothing. Raises: MalformedFrame."""
    return _decode_up_to_newest(ConsumerAssignment, data, NEWEST_VERSION) if len(data) else ConsumerAssignment()


def partitions_in_assignment(protocol_type: str, data: bytes | memoryview) -> list[tuple[str, int]]:
    """What a member was assigned; nothing where that is the members' own affair, or unreadable."""
    if protocol_type != PROTOCOL_TYPE:
        return []
    try:
        assigned = decode_assignment(data).assigned_partitions
    except MalformedFrame:
        return []
    return [(each.topic, partition) for each in assigned for partition in each.partitions]


def encode_assignment(assignment: ConsumerAssignment, version: int) -> bytes:
    """The bytes of `assignment` for a member that speaks `version`."""
    return encode_with_version(assignment, min(version, NEWEST_VERSION))


def encode_subscription(subscription: ConsumerSubscription, version: int) -> bytes:
    """The bytes of `subscription`, as a consumer of `version` sends them."""
    return encode_with_version(subscription, version)


def _decode_up_to_newest(message_type: type[T], data: bytes | memoryview, newest: int) -> T:
    version = min(protocol_version(data), newest)
    return decode(message_type, version, memoryview(data)[VERSION_BYTES:])
