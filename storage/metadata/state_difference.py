"""The metadata records that lead from one state of a cluster to another; from the empty state, they are a snapshot.

A changed partition is written as a whole PartitionRecord, since with a change record a leader epoch could only rise by
one. Feature levels come first, topics before their partitions. Source: Kafka 3.9 `MetadataImage.write`,
`ReplicationControlManager.replay`.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from ...protocol import metadata_log as records
from ...protocol.acls import Acl
from ...protocol.schema import NO_UUID
from ...protocol.scram import SCRAM_MECHANISMS, ScramCredential
from .cluster_state import METADATA_VERSION, ClusterState, QuotaEntity, StoredTopic
from .metadata_replay import BROKER_RESOURCE, TOPIC_RESOURCE
from .partition_record import PartitionRecord

FIRST_WITH_DIRECTORIES = 17  # 3.7-IV2
FIRST_WITH_ELR = 23  # 4.0-IV1

_MECHANISMS = {name: number for number, name in SCRAM_MECHANISMS.items()}


def partition_record_version(metadata_version: int) -> int:
    """The version of PartitionRecord that belongs to this metadata.version."""
    return (metadata_version >= FIRST_WITH_DIRECTORIES) + (metadata_version >= FIRST_WITH_ELR)


Find = Callable[[Hashable, object, object], Iterable[Any] | None]
"""Looks up records that were encoded in advance: of a topic (by its name), of the ACLs (RULES) or of a password."""

RULES = ("access rules",)


def difference_records(
    before: ClusterState,
    after: ClusterState,
    node_id: int,
    find: Find = lambda *_: None,
    quotas: Collection[QuotaEntity] | None = None,
) -> Iterator[Any]:
    """Yields the records that lead from `before` to `after`; producer ids are recorded for broker `node_id`.

    Records that `find` returns are used as they are. `quotas`: the only entities whose quotas may have changed; None if
    any may have.
    """
    yield from _feature_records(before.features, after.features)
    for name, topic in before.topics.items():
        present = after.topics.get(name)
        if present is None or not _is_same_topic(topic, present):
            yield from find(name, topic, None) or records_to_remove_topic(name, topic)
    for name, topic in after.topics.items():
        known = before.topics.get(name)
        if known is not topic:
            yield from find(name, known, topic) or records_to_put_topic(name, known, topic)
    yield from _config_records(BROKER_RESOURCE, "", before.cluster_configs, after.cluster_configs)
    for broker_id in sorted(before.configs_of_brokers.keys() | after.configs_of_brokers.keys()):
        own = (configs.get(broker_id, {}) for configs in (before.configs_of_brokers, after.configs_of_brokers))
        yield from _config_records(BROKER_RESOURCE, str(broker_id), *own)
    for kind, name in sorted(before.other_configs.keys() | after.other_configs.keys()):
        own = (configs.get((kind, name), {}) for configs in (before.other_configs, after.other_configs))
        yield from _config_records(kind, name, *own)
    old, new = before.client_quotas, after.client_quotas
    yield from _quota_records(
        old, new, [*(each for each in old if each not in new), *new] if quotas is None else quotas
    )
    if after.next_producer_id != before.next_producer_id:
        yield records.ProducerIdsRecord(broker_id=node_id, next_producer_id=after.next_producer_id)
    if before.acls is not after.acls:
        yield from find(RULES, before.acls, after.acls) or acl_change_records(before.acls, after.acls)
    if before.scram_credentials is not after.scram_credentials:
        yield from _credential_records(before.scram_credentials, after.scram_credentials, find)
    for token_id in before.delegation_tokens.keys() - after.delegation_tokens.keys():
        yield records.RemoveDelegationTokenRecord(token_id=token_id)
    for token_id, token in after.delegation_tokens.items():
        if before.delegation_tokens.get(token_id) != token:
            yield token
    if after.zk_migration_state != before.zk_migration_state:
        yield records.ZkMigrationStateRecord(zk_migration_state=after.zk_migration_state)
    for broker_id in before.registrations.keys() - after.registrations.keys():
        yield records.UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=before.registrations[broker_id])


def _feature_records(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Any]:
    changed = {name for name in before.keys() | after.keys() if before.get(name, 0) != after.get(name, 0)}
    for name in sorted(changed, key=lambda name: (name != METADATA_VERSION, name)):
        yield records.FeatureLevelRecord(name=name, feature_level=after.get(name, 0))


def records_to_remove_topic(name: str, topic: StoredTopic) -> Iterator[Any]:
    """The records that remove a topic. Its settings are removed first: otherwise Kafka gives them to a new topic of
    that name, if it replays both at once.
    """
    yield from _config_records(TOPIC_RESOURCE, name, topic.configs, {})
    yield records.RemoveTopicRecord(topic_id=topic.topic_id)


def records_to_put_topic(name: str, before: StoredTopic | None, after: StoredTopic) -> Iterator[Any]:
    """The records that lead from `before` to `after`, which may be a new topic of that name."""
    if before is None or not _is_same_topic(before, after):
        yield records.TopicRecord(name=name, topic_id=after.topic_id)
        before = StoredTopic(topic_id=after.topic_id, replicas=())
    yield from _config_records(TOPIC_RESOURCE, name, before.configs, after.configs)
    known = before.replicas
    for index, record in enumerate(after.replicas):
        if index >= len(known) or (known[index] is not record and known[index] != record):
            yield _to_partition_record(after.topic_id, index, record)


def _is_same_topic(before: StoredTopic, after: StoredTopic) -> bool:
    """Whether `after` continues the topic `before`. With fewer partitions it does not: no record removes one."""
    return before.topic_id == after.topic_id and before.partitions <= after.partitions


def _to_partition_record(topic_id: UUID, index: int, record: PartitionRecord) -> records.PartitionRecord:
    is_complete = len(record.directories) == len(record.replicas)
    return records.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=record.replicas,
        isr=record.isr,
        removing_replicas=record.removing,
        adding_replicas=record.adding,
        leader=record.leader,
        leader_recovery_state=record.recovery_state,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        directories=record.directories if is_complete else (NO_UUID,) * len(record.replicas),
        eligible_leader_replicas=record.eligible_leader_replicas or None,
        last_known_elr=record.last_known_elr or None,
    )


def _config_records(kind: int, resource: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Any]:
    for name in [*(each for each in before if each not in after), *after]:
        if before.get(name) != after.get(name):
            yield records.ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=after.get(name))


def _quota_records(
    before: Mapping[QuotaEntity, Mapping[str, float]],
    after: Mapping[QuotaEntity, Mapping[str, float]],
    entities: Iterable[QuotaEntity],
) -> Iterator[Any]:
    for entity in entities:
        old, new = before.get(entity, {}), after.get(entity, {})
        if old is new:
            continue
        parts = [records.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        for key in old.keys() - new.keys():
            yield records.ClientQuotaRecord(entity=parts, key=key, remove=True)
        for key, value in new.items():
            if old.get(key) != value:
                yield records.ClientQuotaRecord(entity=parts, key=key, value=value)


def acl_change_records(before: Mapping[Acl, UUID], after: Mapping[Acl, UUID]) -> Iterator[Any]:
    """The records that lead from the ACLs `before` to `after`."""
    for acl in set(before).difference(after):  # unlike `keys() - keys()` it hashes none of them again
        yield records.RemoveAccessControlEntryRecord(acl_id=before[acl])
    for acl, acl_id in after.items():
        if acl not in before:
            yield _rule_record(acl_id, acl)


def _rule_record(acl_id: UUID, acl: Acl) -> records.AccessControlEntryRecord:
    return records.AccessControlEntryRecord(
        acl_id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _credential_records(
    before: Mapping[tuple[str, str], ScramCredential], after: Mapping[tuple[str, str], ScramCredential], find: Find
) -> Iterator[Any]:
    for user, mechanism in before.keys() - after.keys():
        yield records.RemoveUserScramCredentialRecord(name=user, mechanism=_MECHANISMS[mechanism])
    for key, credential in after.items():
        known = before.get(key)
        if known is not credential and known != credential:
            yield from find(key, known, credential) or [scram_credential_record(*key, credential)]


def scram_credential_record(
    user: str, mechanism: str, credential: ScramCredential
) -> records.UserScramCredentialRecord:
    """The record that sets a password."""
    return records.UserScramCredentialRecord(
        name=user,
        mechanism=_MECHANISMS[mechanism],
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
