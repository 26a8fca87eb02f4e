"""`stepdown-metadata.json`: the file in which earlier versions of stepdown kept the metadata; only read, and once.

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

The file of a cluster has two more parts. A topic has "replicas", a list for each partition, without empty lists at its
end,

    [[1, 2, 3], [1, 3], 1, 4, 9, [], []]    replicas, isr, leader, leader epoch, partition epoch, adding, removing

and "configs_of_brokers" has the dynamic configs of each broker by its id.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from ...protocol.acls import ACL_FIELDS, Acl
from ...protocol.scram import HASHES, ScramCredential, base64_bytes
from .cluster_state import ClusterState, QuotaEntity, StoredTopic
from .document_values import MalformedDocument, read_list, read_mapping, read_uuid, read_whole_number
from .partition_record import PartitionRecord

VERSION = 1
MAX_PRODUCER_ID = (1 << 63) - 1
NUMBERS = 3
LISTS_BEFORE_NUMBERS = 2


def decode_document(document: object, node_id: int) -> tuple[int, ClusterState]:
    """Decodes the generation and the state of a document that broker `node_id` wrote.

    Raises: MalformedDocument.
    """
    fields = read_mapping(document, "the document")
    version = fields.get("version")
    if version != VERSION:
        raise MalformedDocument(f"version {VERSION} expected, found {version!r}; a newer stepdown may have written it")
    of_brokers = dict(_decode_broker_configs(fields.get("configs_of_brokers", {})))
    broker_configs = _read_texts(fields.get("broker_configs"), "broker_configs")
    return _read_nonnegative(fields, "generation"), ClusterState(
        topics={
            name: _decode_topic(name, each, node_id)
            for name, each in read_mapping(fields.get("topics"), "topics").items()
        },
        cluster_configs=_read_texts(fields.get("cluster_configs"), "cluster_configs"),
        configs_of_brokers={node_id: broker_configs, **of_brokers} if broker_configs else of_brokers,
        next_producer_id=_read_nonnegative(fields, "next_producer_id"),
        client_quotas=dict(_decode_quotas(value) for value in read_list(fields.get("client_quotas"), "client_quotas")),
        scram_credentials=dict(
            _decode_credential(value) for value in read_list(fields.get("scram_credentials", []), "scram_credentials")
        ),
        acls={_decode_acl(value): uuid4() for value in read_list(fields.get("acls", []), "acls")},
        features={
            name: read_whole_number(level, f"features.{name}")
            for name, level in read_mapping(fields.get("features"), "features").items()
        },
    )


def _decode_topic(name: str, value: object, node_id: int) -> StoredTopic:
    place = f"topics.{name}"
    fields = read_mapping(value, place)
    partitions = _read_nonnegative(fields, "partitions", place)
    if not 0 < partitions < 1 << 31:
        raise MalformedDocument(f"{place}.partitions: a number of partitions expected, found {partitions}")
    alone = PartitionRecord(replicas=(node_id,), isr=(node_id,), leader=node_id)
    return StoredTopic(
        topic_id=read_uuid(fields.get("id"), f"{place}.id"),
        configs=_read_texts(fields.get("configs"), f"{place}.configs"),
        replicas=_decode_partitions(fields.get("replicas", []), partitions, f"{place}.replicas")
        or (alone,) * partitions,
    )


def _decode_partitions(value: object, partitions: int, place: str) -> tuple[PartitionRecord, ...]:
    try:
        records = tuple(map(_decode_partition, read_list(value, place)))
    except ValueError as fault:
        raise MalformedDocument(f"{place}: {fault}") from fault
    if records and len(records) != partitions:
        raise MalformedDocument(f"{place}: {partitions} records expected, found {len(records)}")
    return records


def _decode_broker_configs(value: object) -> Iterator[tuple[int, dict[str, str]]]:
    for node_id, configs in read_mapping(value, "configs_of_brokers").items():
        if not node_id.isdecimal():
            raise MalformedDocument(f"configs_of_brokers: broker ids expected, found {node_id!r}")
        yield int(node_id), _read_texts(configs, f"configs_of_brokers.{node_id}")


def _decode_quotas(value: object) -> tuple[QuotaEntity, dict[str, float]]:
    fields = read_mapping(value, "client_quotas")
    entity = read_mapping(fields.get("entity"), "client_quotas.entity")
    if not all(name is None or isinstance(name, str) for name in entity.values()):
        raise MalformedDocument(f"client_quotas.entity: names or null expected, found {entity!r}")
    quotas = read_mapping(fields.get("quotas"), "client_quotas.quotas")
    if not all(isinstance(number, int | float) for number in quotas.values()):
        raise MalformedDocument(f"client_quotas.quotas: numbers expected, found {quotas!r}")
    return tuple(sorted(entity.items())), {key: float(number) for key, number in quotas.items()}


def _decode_acl(value: object) -> Acl:
    try:
        parts = dict(zip(ACL_FIELDS, read_list(value, "acls"), strict=True))
        if not all(isinstance(parts[name], str) for name in ("resource_name", "principal", "host")):
            raise ValueError("texts expected for name, principal and host")
        return Acl.from_numbers(parts)
    except ValueError as fault:
        raise MalformedDocument(f"acls: {value!r} is no access rule: {fault}") from fault


def _decode_credential(value: object) -> tuple[tuple[str, str], ScramCredential]:
    """Decodes one SCRAM credential; error messages show none of its keys."""
    fields = read_mapping(value, "scram_credentials")
    user, mechanism = fields.get("user"), fields.get("mechanism")
    if not isinstance(user, str) or not isinstance(mechanism, str) or mechanism not in HASHES:
        raise MalformedDocument("scram_credentials: a user and a mechanism expected")
    try:
        salt, stored_key, server_key = (base64_bytes(fields[name]) for name in ("salt", "stored_key", "server_key"))
    except (KeyError, TypeError, ValueError):
        raise MalformedDocument("scram_credentials: salt and keys in base64 expected") from None
    iterations = _read_nonnegative(fields, "iterations", "scram_credentials")
    return (user, mechanism), ScramCredential(
        salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations
    )


def _read_texts(value: object, place: str) -> dict[str, str]:
    texts = read_mapping(value, place)
    if not all(isinstance(text, str) for text in texts.values()):
        raise MalformedDocument(f"{place}: texts expected, found {texts!r}")
    return texts


def _read_nonnegative(fields: Mapping[str, Any], name: str, place: str = "") -> int:
    where = f"{place}{'.' if place else ''}{name}"
    number = read_whole_number(fields.get(name), where)
    if not 0 <= number <= MAX_PRODUCER_ID:
        raise MalformedDocument(f"{where}: a whole number from 0 on expected, found {number}")
    return number


def _decode_partition(value: object) -> PartitionRecord:
    """Decodes one partition from a list of replicas, isr, leader, epochs and reassignment. Raises: ValueError."""
    if not isinstance(value, list) or len(value) < LISTS_BEFORE_NUMBERS + NUMBERS:
        raise ValueError(f"replicas, isr, leader and two epochs expected, found {value!r}")
    replicas, isr, leader, leader_epoch, partition_epoch, *reassignment = value
    numbers = leader, leader_epoch, partition_epoch
    if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
        raise ValueError(f"a leader and two epochs expected, found {numbers!r}")
    adding, removing = reassignment if reassignment else ((), ())
    return PartitionRecord(
        replicas=_read_broker_ids(replicas),
        isr=_read_broker_ids(isr),
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        adding=_read_broker_ids(adding),
        removing=_read_broker_ids(removing),
    )


def _read_broker_ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not all(type(each) is int and each >= 0 for each in value):
        raise ValueError(f"broker ids expected, found {value!r}")
    return tuple(value)
