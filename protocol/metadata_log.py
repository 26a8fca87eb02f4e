"""Records of `__cluster_metadata`: what KRaft's controllers write down, read and written.

    unsigned varint  frame version, 1
    unsigned varint  type
    unsigned varint  version of the record, all flexible
                     body

| type | record | | type | record |
|---|---|---|---|---|
| 0, 1 | broker registered, unregistered | | 14 | client quota |
| 2 | topic | | 15 | producer ids |
| 3, 5 | partition, its change | | 18, 19 | access rule, removed |
| 4 | config | | 21 | state of a migration from ZooKeeper |
| 9 | topic removed | | 23, 24, 25 | begin, end, abort of a metadata transaction (KIP-868) |
| 10, 26 | delegation token, removed | | 28 | eligible leader replicas cleared |
| 11, 22 | SCRAM credential, removed | | 7, 8, 17, 20, 27, 29 | fencing, controllers, no-op: passed over |
| 12 | feature level | | | |

Any other type, and a newer version of these, is refused: what it says cannot be guessed. Source: Kafka 3.9 and 4.4
`AbstractApiMessageSerde`, metadata/src/main/resources/common/metadata.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from .errors import MalformedFrame
from .primitives import read_uvarint, write_uvarint
from .schema import (
    array,
    binary,
    boolean,
    decode,
    encode,
    float64,
    int8,
    int16,
    int32,
    int64,
    message,
    schema_of,
    string,
    struct,
    uint16,
    uuid,
)

FRAME_VERSION: Final = 1
UNCHANGED_LEADER: Final = -2
UNCHANGED_RECOVERY: Final = -1


@message(versions="0", flexible="0+")
class TopicRecord:
    name: str = string()
    topic_id: UUID = uuid()


@struct
class BrokerEndpoint:
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


@struct
class BrokerFeature:
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@message(versions="0-4", flexible="0+")
class RegisterBrokerRecord:
    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean("2+", ignorable=True)
    incarnation_id: UUID = uuid()
    broker_epoch: int = int64()
    end_points: Sequence[BrokerEndpoint] = array(BrokerEndpoint)
    features: Sequence[BrokerFeature] = array(BrokerFeature)
    rack: str | None = string(nullable="0+")
    fenced: bool = boolean(default=True)
    in_controlled_shutdown: bool = boolean("1+", ignorable=True)
    log_dirs: Sequence[UUID] = array(uuid, "3+", tag=0, ignorable=True)
    cordoned_log_dirs: Sequence[UUID] | None = array(uuid, "4+", nullable="4+", default=None, tag=1, ignorable=True)


@message(versions="0", flexible="0+")
class UnregisterBrokerRecord:
    broker_id: int = int32()
    broker_epoch: int = int64()


@message(versions="0-2", flexible="0+")
class PartitionRecord:
    partition_id: int = int32(default=-1)
    topic_id: UUID = uuid()
    replicas: Sequence[int] = array(int32)
    isr: Sequence[int] = array(int32)
    removing_replicas: Sequence[int] = array(int32)
    adding_replicas: Sequence[int] = array(int32)
    leader: int = int32(default=-1)
    leader_recovery_state: int = int8(tag=0)
    leader_epoch: int = int32(default=-1)
    partition_epoch: int = int32(default=-1)
    directories: Sequence[UUID] = array(uuid, "1+", ignorable=True)
    eligible_leader_replicas: Sequence[int] | None = array(
        int32, "2+", nullable="2+", default=None, tag=1, ignorable=True
    )
    last_known_elr: Sequence[int] | None = array(int32, "2+", nullable="2+", default=None, tag=2, ignorable=True)


@message(versions="0-2", flexible="0+")
class PartitionChangeRecord:
    """None and the defaults of numbers: not changed. A leader raises the leader epoch by one."""

    partition_id: int = int32(default=-1)
    topic_id: UUID = uuid()
    isr: Sequence[int] | None = array(int32, nullable="0+", default=None, tag=0)
    leader: int = int32(default=UNCHANGED_LEADER, tag=1)
    replicas: Sequence[int] | None = array(int32, nullable="0+", default=None, tag=2)
    removing_replicas: Sequence[int] | None = array(int32, nullable="0+", default=None, tag=3)
    adding_replicas: Sequence[int] | None = array(int32, nullable="0+", default=None, tag=4)
    leader_recovery_state: int = int8(default=UNCHANGED_RECOVERY, tag=5)
    eligible_leader_replicas: Sequence[int] | None = array(int32, "2+", nullable="2+", default=None, tag=6)
    last_known_elr: Sequence[int] | None = array(int32, "2+", nullable="2+", default=None, tag=7)
    directories: Sequence[UUID] | None = array(uuid, "1+", nullable="1+", default=None, tag=8)


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
class FeatureLevelRecord:
    """Level 0 removes the feature."""

    name: str = string()
    feature_level: int = int16()


@message(versions="0", flexible="0+")
class DelegationTokenRecord:
    owner: str = string()
    requester: str = string()
    renewers: Sequence[str] = array(string)
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    expiration_timestamp: int = int64()
    token_id: str = string()


@message(versions="0", flexible="0+")
class RemoveDelegationTokenRecord:
    token_id: str = string()


@message(versions="0", flexible="0+")
class ZkMigrationStateRecord:
    zk_migration_state: int = int8()


@message(versions="0", flexible="0+")
class ClearElrRecord:
    """An empty name stands for all topics."""

    topic_name: str = string()


@message(versions="0", flexible="0+")
class BeginTransactionRecord:
    """What follows counts when the transaction ends, not before."""

    name: str | None = string(nullable="0+", default=None, tag=0)


@message(versions="0", flexible="0+")
class EndTransactionRecord:
    """The transaction counts."""


@message(versions="0", flexible="0+")
class AbortTransactionRecord:
    """The transaction does not count."""

    reason: str | None = string(nullable="0+", default=None, tag=0)


_TYPES: Final[Mapping[int, type[Any]]] = {
    0: RegisterBrokerRecord,
    1: UnregisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    21: ZkMigrationStateRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
    26: RemoveDelegationTokenRecord,
    28: ClearElrRecord,
}
_NUMBERS: Final = {record_class: number for number, record_class in _TYPES.items()}
_WITHOUT_STATE: Final = {7: 0, 8: 0, 17: 3, 20: 0, 27: 0, 29: 0}
"""Types that nothing is taken from, and their last version."""


class MetadataRecordTooNew(MalformedFrame):
    """A record of a type, or in a version, that is not known: a newer Kafka wrote it."""


def decode_metadata_record(value: memoryview) -> Any | None:
    """The record; None for one that nothing is taken from. Tagged fields that are not known are passed over.

    Raises: MetadataRecordTooNew, MalformedFrame.
    """
    frame_version, position = read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise MalformedFrame(f"metadata records have frame version {FRAME_VERSION}, found {frame_version}")
    kind, position = read_uvarint(value, position)
    version, position = read_uvarint(value, position)
    record_class = _TYPES.get(kind)
    if record_class is None:
        if version <= _WITHOUT_STATE.get(kind, -1):
            return None
        raise MetadataRecordTooNew(f"a metadata record has type {kind}, version {version}, which is not known")
    if version not in (schema_of(record_class).versions or ()):
        raise MetadataRecordTooNew(f"a {record_class.__name__} has version {version}, which is not known")
    return decode(record_class, version, value[position:])


def encode_metadata_record(record: object, version: int = 0) -> bytes:
    """The value of the record, at that version. Raises: ValueError for what has no place in it."""
    head = bytearray().join(map(write_uvarint, (FRAME_VERSION, _NUMBERS[type(record)], version)))
    return b"".join(bytes(piece) for piece in encode(record, version, head))  # type: ignore[arg-type]  # all are bytes
