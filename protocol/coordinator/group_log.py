"""Records of `__consumer_offsets`: an int16 version before each key and value; a key's says what the record is.

    key version  record                       versions we write: key, value
    0, 1         offset commit                1, 3 (value 1 when the commit sets its own expiry, as Kafka 3.9 does)
    2            classic group                2, 3
    3 - 8        consumer group (KIP-848)     3 - 8, 0
    other        skipped, as Kafka skips what a newer broker has written

Source: Kafka 3.9, CoordinatorRecordSerde and CoordinatorRecordHelpers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..schema import decode
from . import consumer_group_records as consumer
from .group_records import GroupMetadataKey, GroupMetadataValue
from .offset_records import OffsetCommitKey, OffsetCommitValue
from .versioned import encode_with_version, split_version


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """A key and its value; None is the tombstone that takes it away."""

    key: Any
    value: Any | None


EncodedGroupRecord = tuple[bytes, bytes | None]
"""Key and value; None is the tombstone."""

_TYPES: Final[Mapping[int, tuple[type, type]]] = {
    0: (OffsetCommitKey, OffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
    3: (consumer.ConsumerGroupMetadataKey, consumer.ConsumerGroupMetadataValue),
    4: (consumer.ConsumerGroupPartitionMetadataKey, consumer.ConsumerGroupPartitionMetadataValue),
    5: (consumer.ConsumerGroupMemberMetadataKey, consumer.ConsumerGroupMemberMetadataValue),
    6: (consumer.ConsumerGroupTargetAssignmentMetadataKey, consumer.ConsumerGroupTargetAssignmentMetadataValue),
    7: (consumer.ConsumerGroupTargetAssignmentMemberKey, consumer.ConsumerGroupTargetAssignmentMemberValue),
    8: (consumer.ConsumerGroupCurrentMemberAssignmentKey, consumer.ConsumerGroupCurrentMemberAssignmentValue),
}
_KEY_VERSION: Final = {key_type: version for version, (key_type, _) in _TYPES.items()}
_OFFSET_VALUE_VERSION: Final = 3
_OFFSET_VALUE_VERSION_WITH_EXPIRY: Final = 1
_GROUP_VALUE_VERSION: Final = 3


def encode_group_record(record: GroupRecord) -> EncodedGroupRecord:
    """The key's and the value's bytes; a tombstone has no value."""
    key = encode_with_version(record.key, _KEY_VERSION[type(record.key)])
    return key, None if record.value is None else encode_with_version(record.value, _version_to_write(record.value))


def decode_group_record(key: bytes | memoryview, value: bytes | memoryview | None) -> GroupRecord | None:
    """The record; None when the key's version is not known, which a newer broker may have written.

    Raises: MalformedFrame when the bytes are not what their version says.
    """
    version, body = split_version(key)
    types = _TYPES.get(version)
    if types is None:
        return None
    key_type, value_type = types
    return GroupRecord(key=decode(key_type, version, body), value=_decode_value(value_type, value))


def _decode_value(value_type: type, value: bytes | memoryview | None) -> Any | None:
    if value is None:
        return None
    version, body = split_version(value)
    return decode(value_type, version, body)


def _version_to_write(value: object) -> int:
    if isinstance(value, OffsetCommitValue):
        return _OFFSET_VALUE_VERSION if value.expire_timestamp == -1 else _OFFSET_VALUE_VERSION_WITH_EXPIRY
    return _GROUP_VALUE_VERSION if isinstance(value, GroupMetadataValue) else 0
