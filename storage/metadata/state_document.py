"""`stepdown-metadata.json`: where stepdown kept what Kafka keeps in its metadata log. It is read once, never written.

    {
      "version": 1,
      "generation": 17,                       grew with every write; of two files the higher one counts
      "topics": {"orders": {"id": "Q2x6TqCvQ1KJPgMHkWsTVw", "partitions": 3, "configs": {"retention.ms": "1000"}}},
      "broker_configs": {"log.retention.ms": "5000"},     of this broker
      "cluster_configs": {},                              default of all brokers
      "next_producer_id": 3000,               first id of the next block
      "client_quotas": [{"entity": {"user": "a", "client-id": null}, "quotas": {"producer_byte_rate": 1024.0}}],
      "acls": [[2, "orders", 3, "User:a", "*", 3, 3]],    resource type, name, pattern type, principal, host, operation,
                                                          permission: the codes of `protocol/acls.py`
      "scram_credentials": [{"user": "a", "mechanism": "SCRAM-SHA-256", "salt": …, "stored_key": …, "server_key": …,
                             "iterations": 4096}],           bytes in base64
      "features": {"metadata.version": 21},   finalized levels
      "deleting": [], "features_epoch": 4     not used any more
    }

That of a cluster has two things more: a topic has "replicas", a list for each partition, its empty ends left out,

    [[1, 2, 3], [1, 3], 1, 4, 9, [], []]    replicas, isr, leader, leader epoch, partition epoch, adding, removing

and "configs_of_brokers" has the dynamic configs of each broker by its id.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID, uuid4

from ...protocol.acls import ACL_FIELDS, Acl
from ...protocol.scram import HASHES, ScramCredential, base64_bytes
from ..files.partition_metadata import decode_uuid
from .cluster_state import ClusterState, QuotaEntity, StoredTopic
from .partition_record import PartitionRecord

VERSION = 1
MAX_PRODUCER_ID = (1 << 63) - 1
NUMBERS = 3
LISTS_BEFORE_NUMBERS = 2


class MalformedState(ValueError):
    """The document is not what stepdown wrote; the message says where."""


def decode(document: object, node_id: int) -> tuple[int, ClusterState]:
    """The generation of a document, and the state in it; broker `node_id` wrote it.

    Raises: MalformedState.
    """
    fields = _mapping(document, "the document")
    version = fields.get("version")
    if version != VERSION:
        raise MalformedState(f"version {VERSION} expected, found {version!r}; a newer stepdown may have written it")
    of_brokers = dict(_configs_of_brokers(fields.get("configs_of_brokers", {})))
    broker_configs = _texts(fields.get("broker_configs"), "broker_configs")
    return _whole(fields, "generation"), ClusterState(
        topics={name: _topic(name, each, node_id) for name, each in _mapping(fields.get("topics"), "topics").items()},
        cluster_configs=_texts(fields.get("cluster_configs"), "cluster_configs"),
        configs_of_brokers={node_id: broker_configs, **of_brokers} if broker_configs else of_brokers,
        next_producer_id=_whole(fields, "next_producer_id"),
        client_quotas=dict(_quotas(value) for value in _list(fields.get("client_quotas"), "client_quotas")),
        scram_credentials=dict(
            _credential(value) for value in _list(fields.get("scram_credentials", []), "scram_credentials")
        ),
        acls={_acl(value): uuid4() for value in _list(fields.get("acls", []), "acls")},
        features={name: _level(name, level) for name, level in _mapping(fields.get("features"), "features").items()},
    )


def _topic(name: str, value: object, node_id: int) -> StoredTopic:
    place = f"topics.{name}"
    fields = _mapping(value, place)
    partitions = _whole(fields, "partitions", place)
    if not 0 < partitions < 1 << 31:
        raise MalformedState(f"{place}.partitions: a number of partitions expected, found {partitions}")
    alone = PartitionRecord(replicas=(node_id,), isr=(node_id,), leader=node_id)
    return StoredTopic(
        topic_id=_uuid(fields.get("id"), f"{place}.id"),
        configs=_texts(fields.get("configs"), f"{place}.configs"),
        replicas=_records(fields.get("replicas", []), partitions, f"{place}.replicas") or (alone,) * partitions,
    )


def _records(value: object, partitions: int, place: str) -> tuple[PartitionRecord, ...]:
    try:
        records = tuple(map(_decode_record, _list(value, place)))
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


def _acl(value: object) -> Acl:
    try:
        parts = dict(zip(ACL_FIELDS, _list(value, "acls"), strict=True))
        if not all(isinstance(parts[name], str) for name in ("resource_name", "principal", "host")):
            raise ValueError("texts expected for name, principal and host")
        return Acl.from_numbers(parts)
    except ValueError as fault:
        raise MalformedState(f"acls: {value!r} is no access rule: {fault}") from fault


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


def _decode_record(value: object) -> PartitionRecord:
    """The record behind a list. Raises: ValueError."""
    if not isinstance(value, list) or len(value) < LISTS_BEFORE_NUMBERS + NUMBERS:
        raise ValueError(f"replicas, isr, leader and two epochs expected, found {value!r}")
    replicas, isr, leader, leader_epoch, partition_epoch, *reassignment = value
    numbers = leader, leader_epoch, partition_epoch
    if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
        raise ValueError(f"a leader and two epochs expected, found {numbers!r}")
    adding, removing = reassignment if reassignment else ((), ())
    return PartitionRecord(
        replicas=_ids(replicas),
        isr=_ids(isr),
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        adding=_ids(adding),
        removing=_ids(removing),
    )


def _ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not all(type(each) is int and each >= 0 for each in value):
        raise ValueError(f"broker ids expected, found {value!r}")
    return tuple(value)
