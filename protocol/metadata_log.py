"""Records of `__cluster_metadata`: what KRaft's controllers write down. Read only, and only those that a broker takes
over.

    unsigned varint  frame version, 1
    unsigned varint  type
    unsigned varint  version of the record, all flexible
                     body

| type | record | | type | record |
|---|---|---|---|---|
| 2 | topic | | 15 | producer ids |
| 3 | partition | | 18 | access rule |
| 4 | config | | 19 | access rule removed |
| 9 | topic removed | | 23, 24, 25 | begin, end, abort of a metadata transaction (KIP-868) |
| 11, 22 | SCRAM credential, removed | | other | skipped |
| 14 | client quota | | | |

Source: Kafka 3.9 `AbstractApiMessageSerde`, metadata/src/main/resources/common/metadata.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from .errors import MalformedFrame
from .primitives import read_uvarint
from .schema import (
    array,
    binary,
    boolean,
    decode,
    float64,
    int8,
    int32,
    int64,
    message,
    schema_of,
    string,
    struct,
    uuid,
)

FRAME_VERSION: Final = 1


@message(versions="0", flexible="0+")
class TopicRecord:
    name: str = string()
    topic_id: UUID = uuid()


@message(versions="0-2", flexible="0+")
class PartitionRecord:
    """Its tagged fields are skipped."""

    partition_id: int = int32(default=-1)
    topic_id: UUID = uuid()
    replicas: Sequence[int] = array(int32)
    isr: Sequence[int] = array(int32)
    removing_replicas: Sequence[int] = array(int32)
    adding_replicas: Sequence[int] = array(int32)
    leader: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    partition_epoch: int = int32(default=-1)
    directories: Sequence[UUID] = array(uuid, "1+")


@message(versions="0", flexible="0+")
class ConfigRecord:
    """A null value removes the key."""

    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(nullable="0+")


@message(versions="0", flexible="0+")
class RemoveTopicRecord:
    topic_id: UUID = uuid()


@struct
class EntityData:
    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


@message(versions="0", flexible="0+")
class ClientQuotaRecord:
    entity: Sequence[EntityData] = array(EntityData)
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


@message(versions="0", flexible="0+")
class ProducerIdsRecord:
    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    next_producer_id: int = int64()


@message(versions="0", flexible="0+")
class AccessControlEntryRecord:
    """An access rule under an id of its own."""

    acl_id: UUID = uuid()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8()
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@message(versions="0", flexible="0+")
class RemoveAccessControlEntryRecord:
    acl_id: UUID = uuid()


@message(versions="0", flexible="0+")
class UserScramCredentialRecord:
    name: str = string()
    mechanism: int = int8()
    salt: bytes = binary()
    stored_key: bytes = binary()
    server_key: bytes = binary()
    iterations: int = int32()


@message(versions="0", flexible="0+")
class RemoveUserScramCredentialRecord:
    name: str = string()
    mechanism: int = int8()


@message(versions="0", flexible="0+")
class BeginTransactionRecord:
    """What follows counts when the transaction ends, not before."""


@message(versions="0", flexible="0+")
class EndTransactionRecord:
    """The transaction counts."""


@message(versions="0", flexible="0+")
class AbortTransactionRecord:
    """The transaction does not count."""


_TYPES: Final[Mapping[int, type[Any]]] = {
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    9: RemoveTopicRecord,
    11: UserScramCredentialRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
}


_ACCESS_RULES: Final = (AccessControlEntryRecord, RemoveAccessControlEntryRecord)


def decode_metadata_record(value: memoryview) -> Any | None:
    """The record; None when it is of a type, or in a version, that nothing is taken from. An access rule is never
    passed over.

    Raises: MalformedFrame.
    """
    frame_version, position = read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise MalformedFrame(f"metadata records have frame version {FRAME_VERSION}, found {frame_version}")
    kind, position = read_uvarint(value, position)
    version, position = read_uvarint(value, position)
    record_class = _TYPES.get(kind)
    if record_class is None:
        return None
    if version not in (schema_of(record_class).versions or ()):
        if record_class in _ACCESS_RULES:
            raise MalformedFrame(f"an access rule is written in version {version}, which is not known")
        return None
    return decode(record_class, version, value[position:])
