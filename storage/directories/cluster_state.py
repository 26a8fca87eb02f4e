"""The cluster metadata that a broker keeps on disk: topics and their configs, dynamic configs, producer ids, quotas,
access rules. A broker alone keeps its own, in a cluster the controller keeps it for all.

Kafka keeps these in ZooKeeper or in `__cluster_metadata-0`. Here they are one JSON document, see `metadata_store.py`:

    {
      "version": 1,
      "generation": 17,                       grows with every write; of two files the higher one counts
      "topics": {"orders": {"id": "Q2x6TqCvQ1KJPgMHkWsTVw", "partitions": 3, "configs": {"retention.ms": "1000"}}},
      "deleting": ["W3v0Zw8nS0mZr0m8o2hGkg"], ids of topics whose folders may still be there
      "broker_configs": {"log.retention.ms": "5000"},     of this broker
      "cluster_configs": {},                              default of all brokers
      "next_producer_id": 3000,               first id of the next block
      "client_quotas": [{"entity": {"user": "a", "client-id": null}, "quotas": {"producer_byte_rate": 1024.0}}],
      "acls": [[2, "orders", 3, "User:a", "*", 3, 3]],    resource type, name, pattern type, principal, host, operation,
                                                          permission: the codes of `protocol/acls.py`
      "scram_credentials": [{"user": "a", "mechanism": "SCRAM-SHA-256", "salt": …, "stored_key": …, "server_key": …,
                             "iterations": 4096}],           bytes in base64
      "features": {"metadata.version": 21},   finalized levels
      "features_epoch": 4
    }

In a cluster its controller keeps the document for all brokers, with two things more: a topic has "replicas", a list for
each partition (see `partition_record.py`), and "configs_of_brokers" has the dynamic configs of each broker by its id.

Folders say which partitions exist; where both speak of a topic, the larger number of partitions counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from ...protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from ...protocol.scram import HASHES, ScramCredential, base64_bytes, base64_text
from ..files.partition_metadata import decode_uuid, encode_uuid
from .partition_record import PartitionRecord, decode_record, encode_record

VERSION = 1
MAX_PRODUCER_ID = (1 << 63) - 1

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, name or None for the default), ordered by type."""


class MalformedState(ValueError):
    """The document is not what `encode` writes; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTopic:
    """A topic as it is remembered; `configs` are its own values only.

    `replicas` has a record for each partition in a cluster, else none.
    """

    topic_id: UUID
    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: tuple[PartitionRecord, ...] = ()


@dataclass(slots=True, kw_only=True)
class ClusterState:
    """All that is remembered. Changes are saved through the store."""

    generation: int = 0
    topics: dict[str, StoredTopic] = field(default_factory=dict)
    deleting: set[UUID] = field(default_factory=set)
    broker_configs: dict[str, str] = field(default_factory=dict)
    cluster_configs: dict[str, str] = field(default_factory=dict)
    next_producer_id: int = 0
    client_quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)
    acls: frozenset[Acl] = frozenset()
    scram_credentials: dict[tuple[str, str], ScramCredential] = field(default_factory=dict)
    """By user and mechanism."""
    features: dict[str, int] = field(default_factory=dict)
    features_epoch: int = 0
    configs_of_brokers: dict[int, dict[str, str]] = field(default_factory=dict)

    def copy(self) -> "ClusterState":
        """The same state, not affected by what is put into or taken out of this one."""
        return replace(
            self,
            topics=dict(self.topics),
            deleting=set(self.deleting),
            broker_configs=dict(self.broker_configs),
            cluster_configs=dict(self.cluster_configs),
            client_quotas=dict(self.client_quotas),
            features=dict(self.features),
            configs_of_brokers=dict(self.configs_of_brokers),
            scram_credentials=dict(self.scram_credentials),
        )


def encode(state: ClusterState) -> dict[str, Any]:
    """The document of this state."""
    of_brokers = {str(node_id): configs for node_id, configs in state.configs_of_brokers.items() if configs}
    return {
        "version": VERSION,
        "generation": state.generation,
        "topics": {name: _encode_topic(topic) for name, topic in state.topics.items()},
        "deleting": sorted(encode_uuid(topic_id) for topic_id in state.deleting),
        "broker_configs": state.broker_configs,
        "cluster_configs": state.cluster_configs,
        "next_producer_id": state.next_producer_id,
        "client_quotas": [
            {"entity": dict(entity), "quotas": quotas} for entity, quotas in state.client_quotas.items() if quotas
        ],
        "acls": [_encode_acl(acl) for acl in sorted(state.acls)],
        "scram_credentials": [
            _encode_credential(user, mechanism, credential)
            for (user, mechanism), credential in state.scram_credentials.items()
        ],
        "features": state.features,
        "features_epoch": state.features_epoch,
        **({"configs_of_brokers": of_brokers} if of_brokers else {}),
    }


def decode(document: object) -> ClusterState:
    """The state behind a document.

    Raises: MalformedState.
    """
    fields = _mapping(document, "the document")
    version = fields.get("version")
    if version != VERSION:
        raise MalformedState(f"version {VERSION} expected, found {version!r}; a newer stepdown may have written it")
    return ClusterState(
        generation=_whole(fields, "generation"),
        topics={name: _topic(name, value) for name, value in _mapping(fields.get("topics"), "topics").items()},
        deleting={_uuid(text, "deleting") for text in _list(fields.get("deleting"), "deleting")},
        broker_configs=_texts(fields.get("broker_configs"), "broker_configs"),
        cluster_configs=_texts(fields.get("cluster_configs"), "cluster_configs"),
        next_producer_id=_whole(fields, "next_producer_id"),
        client_quotas=dict(_quotas(value) for value in _list(fields.get("client_quotas"), "client_quotas")),
        scram_credentials=dict(
            _credential(value) for value in _list(fields.get("scram_credentials", []), "scram_credentials")
        ),
        acls=frozenset(_acl(value) for value in _list(fields.get("acls", []), "acls")),
        features={name: _level(name, level) for name, level in _mapping(fields.get("features"), "features").items()},
        features_epoch=_whole(fields, "features_epoch"),
        configs_of_brokers=dict(_configs_of_brokers(fields.get("configs_of_brokers", {}))),
    )


def _encode_topic(topic: StoredTopic) -> dict[str, Any]:
    document = {"id": encode_uuid(topic.topic_id), "partitions": topic.partitions, "configs": dict(topic.configs)}
    if topic.replicas:
        document["replicas"] = [encode_record(record) for record in topic.replicas]
    return document


def _topic(name: str, value: object) -> StoredTopic:
    place = f"topics.{name}"
    fields = _mapping(value, place)
    partitions = _whole(fields, "partitions", place)
    if not 0 < partitions < 1 << 31:
        raise MalformedState(f"{place}.partitions: a number of partitions expected, found {partitions}")
    return StoredTopic(
        topic_id=_uuid(fields.get("id"), f"{place}.id"),
        partitions=partitions,
        configs=_texts(fields.get("configs"), f"{place}.configs"),
        replicas=_records(fields.get("replicas", []), partitions, f"{place}.replicas"),
    )


def _records(value: object, partitions: int, place: str) -> tuple[PartitionRecord, ...]:
    try:
        records = tuple(map(decode_record, _list(value, place)))
    except ValueError as fault:
        raise MalformedState(f"{place}: {fault}") from fault
    if records and len(records) != partitions:
        raise MalformedState(f"{place}: {partitions} records expected, found {len(records)}")
    return records


def _configs_of_brokers(value: object) -> Iterator[tuple[int, dict[str, str]]]:
    for node_id, configs in _mapping(value, "configs_of_brokers").items():
        if not node_id.isdecimal():
            raise MalformedState(f"configs_of_brokers: broker ids expected, found {node_id!r}")
        yield int(node_id), _texts(configs, f"configs_of_brokers.{node_id}")


def _quotas(value: object) -> tuple[QuotaEntity, dict[str, float]]:
    fields = _mapping(value, "client_quotas")
    entity = _mapping(fields.get("entity"), "client_quotas.entity")
    if not all(name is None or isinstance(name, str) for name in entity.values()):
        raise MalformedState(f"client_quotas.entity: names or null expected, found {entity!r}")
    quotas = _mapping(fields.get("quotas"), "client_quotas.quotas")
    if not all(isinstance(number, int | float) for number in quotas.values()):
        raise MalformedState(f"client_quotas.quotas: numbers expected, found {quotas!r}")
    return tuple(sorted(entity.items())), {key: float(number) for key, number in quotas.items()}


def _encode_acl(acl: Acl) -> list[Any]:
    return [
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission_type,
    ]


def _acl(value: object) -> Acl:
    try:
        kind, name, pattern, principal, host, operation, permission = _list(value, "acls")
        acl = Acl(
            resource_type=ResourceType(kind),
            resource_name=name,
            pattern_type=PatternType(pattern),
            principal=principal,
            host=host,
            operation=AclOperation(operation),
            permission_type=PermissionType(permission),
        )
    except ValueError as fault:
        raise MalformedState(f"acls: {value!r} is no access rule: {fault}") from fault
    if not all(isinstance(text, str) for text in (name, principal, host)):
        raise MalformedState(f"acls: texts expected for name, principal and host, found {value!r}")
    return acl


def _encode_credential(user: str, mechanism: str, credential: ScramCredential) -> dict[str, Any]:
    return {
        "user": user,
        "mechanism": mechanism,
        "salt": base64_text(credential.salt),
        "stored_key": base64_text(credential.stored_key),
        "server_key": base64_text(credential.server_key),
        "iterations": credential.iterations,
    }


def _credential(value: object) -> tuple[tuple[str, str], ScramCredential]:
    """No message shows what is stored."""
    fields = _mapping(value, "scram_credentials")
    user, mechanism = fields.get("user"), fields.get("mechanism")
    if not isinstance(user, str) or mechanism not in HASHES:
        raise MalformedState("scram_credentials: a user and a mechanism expected")
    try:
        salt, stored_key, server_key = (
            base64_bytes(str(fields.get(name))) for name in ("salt", "stored_key", "server_key")
        )
    except ValueError:
        raise MalformedState("scram_credentials: salt and keys in base64 expected") from None
    iterations = _whole(fields, "iterations", "scram_credentials")
    return (user, mechanism), ScramCredential(
        salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations
    )


def _level(name: str, level: object) -> int:
    if isinstance(level, bool) or not isinstance(level, int):
        raise MalformedState(f"features.{name}: a whole number expected, found {level!r}")
    return level


def _mapping(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedState(f"{place}: an object expected, found {type(value).__name__}")
    return value


def _list(value: object, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise MalformedState(f"{place}: a list expected, found {type(value).__name__}")
    return value


def _texts(value: object, place: str) -> dict[str, str]:
    texts = _mapping(value, place)
    if not all(isinstance(text, str) for text in texts.values()):
        raise MalformedState(f"{place}: texts expected, found {texts!r}")
    return texts


def _whole(fields: Mapping[str, Any], name: str, place: str = "") -> int:
    number = fields.get(name)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_PRODUCER_ID:
        raise MalformedState(f"{place}{'.' if place else ''}{name}: a whole number expected, found {number!r}")
    return number


def _uuid(text: object, place: str) -> UUID:
    try:
        return decode_uuid(str(text))
    except ValueError as fault:
        raise MalformedState(f"{place}: {fault}") from fault
