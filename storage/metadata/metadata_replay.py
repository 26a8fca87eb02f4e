"""Applies metadata records one after the other, and builds the state of the cluster from them.

As for Kafka's controller, a record for an unknown topic is damage. Source: Kafka 3.9 `MetadataDelta`,
`TopicDelta`, `PartitionRegistration.merge`.
"""

from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any
from uuid import UUID

from ...protocol import metadata_log as records
from ...protocol.acls import ACL_FIELDS, Acl
from ...protocol.errors import InvalidRecord
from ...protocol.scram import SCRAM_MECHANISMS, ScramCredential
from .cluster_state import ClusterState, ConfigResource, StoredTopic
from .partition_record import PartitionRecord, next_epoch

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4


@dataclass(slots=True)
class _Topic:
    name: str
    partitions: dict[int, PartitionRecord] = field(default_factory=dict)


class MetadataReplay:
    """`apply` takes each record in order; `build_state` returns the state. Records of a metadata transaction are
    applied when it ends."""

    def __init__(self) -> None:
        self._state = ClusterState()
        self._topics: dict[UUID, _Topic] = {}
        self._configs: dict[ConfigResource, dict[str, str]] = {}
        self._passwords: dict[tuple[str, str], ScramCredential] = {}
        self._acls: dict[UUID, Acl] = {}
        self._pending: list[Any] | None = None

    @property
    def is_in_transaction(self) -> bool:
        """Whether a metadata transaction was begun and not ended, because its writer stopped."""
        return self._pending is not None

    def apply(self, record: Any) -> None:
        """Raises: InvalidRecord."""
        match record:
            case records.BeginTransactionRecord():
                self._pending = []
            case records.AbortTransactionRecord():
                self._pending = None
            case records.EndTransactionRecord():
                pending, self._pending = self._pending or (), None
                for waiting in pending:
                    self._apply(waiting)
            case _ if self._pending is not None:
                self._pending.append(record)
            case _:
                self._apply(record)

    def build_state(self) -> ClusterState:
        """The state after all records. Raises: InvalidRecord for a topic that lacks a partition."""
        state = self._state
        state.topics = {topic.name: self._build_topic(topic_id, topic) for topic_id, topic in self._topics.items()}
        state.acls = {acl: acl_id for acl_id, acl in self._acls.items()}
        state.scram_credentials = dict(self._passwords)
        for (kind, name), configs in self._configs.items():
            if kind == BROKER_RESOURCE and not name:
                state.cluster_configs = configs
            elif kind == BROKER_RESOURCE and name.isdecimal():
                state.configs_of_brokers[int(name)] = configs
            elif configs and (kind != TOPIC_RESOURCE or name not in state.topics):
                state.other_configs[kind, name] = configs
        return state

    def _build_topic(self, topic_id: UUID, topic: _Topic) -> StoredTopic:
        indexes = range(len(topic.partitions))
        if not topic.partitions or not topic.partitions.keys() >= set(indexes):
            raise InvalidRecord(f"topic {topic.name} has only the partitions {sorted(topic.partitions)[:20]}")
        return StoredTopic(
            topic_id=topic_id,
            replicas=tuple(topic.partitions[index] for index in indexes),
            configs=self._configs.get((TOPIC_RESOURCE, topic.name), {}),
        )

    def _apply(self, record: Any) -> None:
        # singledispatchmethod would make a wrapper for each record: a tenth of a start with 10,000 partitions.
        self._replay.dispatch(type(record))(self, record)

    @singledispatch
    def _replay(self, record: Any) -> None:
        raise TypeError(f"{type(record).__name__} is not replayed")

    # Topics

    @_replay.register
    def _(self, record: records.TopicRecord) -> None:
        self._topics[record.topic_id] = _Topic(record.name)

    @_replay.register
    def _(self, record: records.PartitionRecord) -> None:
        self._topic(record.topic_id).partitions[record.partition_id] = PartitionRecord(
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            adding=tuple(record.adding_replicas),
            removing=tuple(record.removing_replicas),
            directories=tuple(record.directories),
            recovery_state=record.leader_recovery_state,
            eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )

    @_replay.register
    def _(self, record: records.PartitionChangeRecord) -> None:
        topic = self._topic(record.topic_id)
        before = topic.partitions.get(record.partition_id)
        if before is None:
            raise InvalidRecord(f"{topic.name}-{record.partition_id} is changed, but was not made")
        topic.partitions[record.partition_id] = _merge(before, record)

    @_replay.register
    def _(self, record: records.RemoveTopicRecord) -> None:
        name = self._topic(record.topic_id).name
        del self._topics[record.topic_id]
        self._configs.pop((TOPIC_RESOURCE, name), None)

    @_replay.register
    def _(self, record: records.ClearElrRecord) -> None:
        for topic in self._topics.values():
            if record.topic_name in ("", topic.name):
                for index, before in topic.partitions.items():
                    topic.partitions[index] = replace(before, eligible_leader_replicas=(), last_known_elr=())

    def _topic(self, topic_id: UUID) -> _Topic:
        topic = self._topics.get(topic_id)
        if topic is None:
            raise InvalidRecord(f"there is no topic with the id {topic_id}")
        return topic

    # Settings

    @_replay.register
    def _(self, record: records.ConfigRecord) -> None:
        configs = self._configs.setdefault((record.resource_type, record.resource_name), {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value

    @_replay.register
    def _(self, record: records.FeatureLevelRecord) -> None:
        self._state.features[record.name] = record.feature_level
        if record.feature_level == 0:
            del self._state.features[record.name]

    @_replay.register
    def _(self, record: records.ZkMigrationStateRecord) -> None:
        self._state.zk_migration_state = record.zk_migration_state

    # Clients

    @_replay.register
    def _(self, record: records.ClientQuotaRecord) -> None:
        entity = tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
        quotas = self._state.client_quotas.setdefault(entity, {})
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if not quotas:
            del self._state.client_quotas[entity]

    @_replay.register
    def _(self, record: records.ProducerIdsRecord) -> None:
        self._state.next_producer_id = max(self._state.next_producer_id, record.next_producer_id)

    @_replay.register
    def _(self, record: records.AccessControlEntryRecord) -> None:
        try:
            self._acls[record.acl_id] = Acl.from_numbers({name: getattr(record, name) for name in ACL_FIELDS})
        except ValueError as fault:
            raise InvalidRecord(f"the access rule {record.acl_id} cannot be understood: {fault}") from fault

    @_replay.register
    def _(self, record: records.RemoveAccessControlEntryRecord) -> None:
        self._acls.pop(record.acl_id, None)

    @_replay.register
    def _(self, record: records.UserScramCredentialRecord) -> None:
        mechanism = SCRAM_MECHANISMS.get(record.mechanism)
        if mechanism is None:
            raise InvalidRecord(f"a password of {record.name} has the mechanism {record.mechanism}, which is not known")
        self._passwords[record.name, mechanism] = ScramCredential(
            salt=bytes(record.salt),
            stored_key=bytes(record.stored_key),
            server_key=bytes(record.server_key),
            iterations=record.iterations,
        )

    @_replay.register
    def _(self, record: records.RemoveUserScramCredentialRecord) -> None:
        self._passwords.pop((record.name, SCRAM_MECHANISMS.get(record.mechanism, "")), None)

    @_replay.register
    def _(self, record: records.DelegationTokenRecord) -> None:
        self._state.delegation_tokens[record.token_id] = record

    @_replay.register
    def _(self, record: records.RemoveDelegationTokenRecord) -> None:
        self._state.delegation_tokens.pop(record.token_id, None)

    # Brokers

    @_replay.register
    def _(self, record: records.RegisterBrokerRecord) -> None:
        self._state.registrations[record.broker_id] = record.broker_epoch

    @_replay.register
    def _(self, record: records.UnregisterBrokerRecord) -> None:
        self._state.registrations.pop(record.broker_id, None)


def _merge(before: PartitionRecord, change: records.PartitionChangeRecord) -> PartitionRecord:
    names_leader = change.leader != records.UNCHANGED_LEADER
    keeps_recovery = change.leader_recovery_state == records.UNCHANGED_RECOVERY
    replicas = _or_before(change.replicas, before.replicas)
    directories = _or_before(change.directories, before.directories)
    return PartitionRecord(
        replicas=replicas,
        isr=_or_before(change.isr, before.isr),
        leader=change.leader if names_leader else before.leader,
        leader_epoch=next_epoch(before.leader_epoch) if names_leader else before.leader_epoch,
        partition_epoch=next_epoch(before.partition_epoch),
        adding=_or_before(change.adding_replicas, before.adding),
        removing=_or_before(change.removing_replicas, before.removing),
        directories=directories if len(directories) == len(replicas) else (),
        recovery_state=before.recovery_state if keeps_recovery else change.leader_recovery_state,
        eligible_leader_replicas=_or_before(change.eligible_leader_replicas, before.eligible_leader_replicas),
        last_known_elr=_or_before(change.last_known_elr, before.last_known_elr),
    )


def _or_before(after: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    return before if after is None else tuple(after)
