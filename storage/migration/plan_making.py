"""Makes a plan from ZooKeeper's data and the disks.

Leader and ISR are taken from ZooKeeper. A broker whose disks lack the partition's folder is removed from the ISR; none
is added. The leader is a broker of the ISR whose disks are in the plan. The leader epoch is above that in ZooKeeper and
all those on the disks, since a leader drops the history of higher epochs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4, uuid5

from ...config import TOPIC_KEYS
from ...config.keys.value_checks import OnlyValue
from ...config.keys.value_types import parse
from ...protocol.acls import Acl
from ...protocol.plural import plural
from ..index.time_index import TimeIndex
from ..log.segment import DEFAULT_INDEX_INTERVAL_BYTES
from ..metadata.cluster_state import HIGHEST_METADATA_VERSION, METADATA_VERSION, ClusterState, StoredTopic
from ..metadata.partition_record import NO_LEADER, PartitionRecord, next_epoch
from ..zookeeper.kafka_cluster import KafkaCluster
from ..zookeeper.znode_topics import ZookeeperTopic
from .directory_survey import PlannedBroker, RefusedDirectory
from .folder_survey import FolderSurvey
from .migration_plan import MigrationPlan, choose_voters, find_or_make_cluster_id
from .release_preparation import INDEX_BYTES, RELEASES, ReleasePreparation, raise_index_bytes

DEFAULT_INDEX_BYTES = "log.index.size.max.bytes"
INDEX_INTERVAL = "index.interval.bytes"
INT_DIGITS = 10
LEAST_BATCH_BYTES = 26
"""The size of a message of format v0 without key and value."""
SPARE_ENTRIES = 2
"""A recovery leaves one entry of a time index free, and adds one for the largest timestamp."""
ENCRYPTED = "encryptedPassword:"
NAMES_SHOWN = 5
SPARE_PRODUCER_IDS = 1_000_000
"""The number of producer ids that are skipped above the highest known one. Some ids were handed out and not used yet,
and after an undo the old brokers continue from ZooKeeper's. The first batches of a producer whose id another one had
would be taken for duplicates.
"""

Replicas = Mapping[int, FolderSurvey]
"""The folders of a partition, by broker id."""


@dataclass(slots=True)
class PlanMaking:
    """Makes a plan for brokers whose directories were surveyed."""

    brokers: Mapping[int, PlannedBroker]
    release: str
    made_ms: int
    _replicas: dict[tuple[str, int], dict[int, FolderSurvey]] = field(default_factory=dict)
    _narrowed: list[str] = field(default_factory=list)
    _leaderless: list[str] = field(default_factory=list)
    _stale: list[str] = field(default_factory=list)
    _unsafe: list[str] = field(default_factory=list)

    def make(self, cluster: KafkaCluster, source: str) -> MigrationPlan:
        """Makes the plan with the data of ZooKeeper. Raises: RefusedDirectory."""
        self._check_cluster(cluster)
        plan = MigrationPlan(
            release=self.release,
            cluster_id=cluster.cluster_id or find_or_make_cluster_id(self.brokers),
            made_ms=self.made_ms,
            source=source,
            brokers=dict(self.brokers),
            voters=choose_voters(list(self.brokers)),
        )
        self._group_replicas()
        plan.stops += describe_double_replicas(self.brokers)
        topics = {name: topic for name, topic in cluster.topics.items() if name not in cluster.deleted_topics}
        plan.state = self._adapt_to_release(plan, self._make_state(cluster, topics))
        self._add_explanations(plan, cluster)
        return plan

    def _check_cluster(self, cluster: KafkaCluster) -> None:
        if not cluster.topics and not cluster.cluster_id:
            raise RefusedDirectory("ZooKeeper has no topics and no cluster id: it is not that of a cluster of Kafka")
        for broker in self.brokers.values():
            if broker.cluster_id is not None and cluster.cluster_id and broker.cluster_id != cluster.cluster_id:
                raise RefusedDirectory(
                    f"the directories of broker {broker.broker_id} are of cluster {broker.cluster_id}, this ZooKeeper "
                    f"is that of cluster {cluster.cluster_id}"
                )

    def _group_replicas(self) -> None:
        for broker in self.brokers.values():
            for each in broker.folders:
                self._replicas.setdefault((each.topic, each.partition), {})[broker.broker_id] = each

    def _make_state(self, cluster: KafkaCluster, topics: Mapping[str, ZookeeperTopic]) -> ClusterState:
        last_id = max((each.last_producer_id for each in self.brokers.values()), default=-1)
        return ClusterState(
            topics={name: self._make_topic(name, topic, cluster.topic_configs) for name, topic in topics.items()},
            cluster_configs=cluster.cluster_configs,
            configs_of_brokers=cluster.configs_of_brokers,
            next_producer_id=max(cluster.next_producer_id, last_id + 1) + SPARE_PRODUCER_IDS,
            client_quotas=cluster.quotas,
            acls=number_acls(cluster.acls),
            scram_credentials=cluster.passwords,
            features={METADATA_VERSION: HIGHEST_METADATA_VERSION},
        )

    def _make_topic(self, name: str, topic: ZookeeperTopic, configs: Mapping[str, Mapping[str, str]]) -> StoredTopic:
        topic_id = topic.topic_id or self._find_topic_id(name)
        return StoredTopic(
            topic_id=topic_id,
            configs=configs.get(name, {}),
            replicas=tuple(
                self._make_partition(name, index, record, topic_id, is_new=index in topic.without_state)
                for index, record in enumerate(topic.partitions)
            ),
        )

    def _find_topic_id(self, name: str) -> UUID:
        """The topic id in the folders, if a later Kafka has begun to write it; else a new one."""
        found = (each.topic_id for broker in self.brokers.values() for each in broker.folders if each.topic == name)
        return next((topic_id for topic_id in found if topic_id is not None), None) or uuid4()

    def _make_partition(
        self, name: str, index: int, record: PartitionRecord, topic_id: UUID, *, is_new: bool
    ) -> PartitionRecord:
        label = f"{name}-{index}"
        folders = {
            broker_id: folder
            for broker_id, folder in self._replicas.get((name, index), {}).items()
            if broker_id in record.replicas and folder.topic_id in (None, topic_id)
        }
        highest = max((folder.leader_epoch for folder in folders.values()), default=-1)
        if highest > record.leader_epoch:
            self._stale.append(label)
        isr = self._choose_isr(label, record, folders, is_new=is_new)
        here = [broker_id for broker_id in record.replicas if broker_id in isr and broker_id in self.brokers]
        leader = record.leader if record.leader in here else next(iter(here), NO_LEADER)
        if leader == NO_LEADER:
            self._leaderless.append(label)
        return replace(record, isr=isr, leader=leader, leader_epoch=next_epoch(max(record.leader_epoch, highest)))

    def _choose_isr(self, label: str, record: PartitionRecord, folders: Replicas, *, is_new: bool) -> tuple[int, ...]:
        isr = record.isr or (record.replicas if is_new else ())
        if not any(folder.end_offset for folder in folders.values()):
            return isr
        left = tuple(broker_id for broker_id in isr if broker_id in folders or broker_id not in self.brokers)
        if left and left != isr:
            self._narrowed.append(label)
        if not left or (is_new and not record.isr):
            self._unsafe.append(label)
        return left or isr

    def _adapt_to_release(self, plan: MigrationPlan, state: ClusterState) -> ClusterState:
        """The state with the settings that the release takes; adds a line to the plan for each change."""
        preparation = ReleasePreparation(release=RELEASES[self.release], lines=plan.changes)
        prepared = preparation.prepare(
            replace(
                state,
                cluster_configs=_drop_secrets("all brokers", state.cluster_configs, plan.lost),
                configs_of_brokers={
                    broker_id: _drop_secrets(f"broker {broker_id}", configs, plan.lost)
                    for broker_id, configs in state.configs_of_brokers.items()
                },
            )
        )
        for name, topic in prepared.topics.items():
            prepared.topics[name] = replace(topic, configs=drop_unreadable_settings(name, topic.configs, plan.changes))
        self._raise_index_bytes(prepared, plan.changes)
        return prepared

    def _raise_index_bytes(self, state: ClusterState, lines: list[str]) -> None:
        """Raises the index sizes to what the indexes on the disks need: in each topic's settings, or the default."""
        folders: dict[str, list[FolderSurvey]] = {}
        for each in (folder for broker in self.brokers.values() for folder in broker.folders):
            folders.setdefault(each.topic, []).append(each)
        sizes = {
            name: index_bytes(folders.get(name, []), topic.configs, state.cluster_configs)
            for name, topic in state.topics.items()
        }
        for name, topic in state.topics.items():
            configs = raise_index_bytes(name, INDEX_BYTES, topic.configs, sizes[name], lines)
            state.topics[name] = replace(topic, configs=configs)
        without_own = [name for name, topic in state.topics.items() if INDEX_BYTES not in topic.configs]
        by_default = max((sizes[name] for name in without_own), default=0)
        state.cluster_configs = raise_index_bytes(
            "all brokers", DEFAULT_INDEX_BYTES, state.cluster_configs, by_default, lines
        )
        for broker_id, configs in state.configs_of_brokers.items():
            state.configs_of_brokers[broker_id] = raise_index_bytes(
                f"broker {broker_id}", DEFAULT_INDEX_BYTES, configs, by_default, lines
            )

    def _add_explanations(self, plan: MigrationPlan, cluster: KafkaCluster) -> None:
        plan.stops += self._list_stops(cluster)
        plan.lost += self._list_losses(cluster)
        plan.notes += self._list_notes(cluster)
        plan.notes += [f"set aside by Kafka: {line}" for line in describe_strays(plan, cluster.deleted_topics)]

    def _list_stops(self, cluster: KafkaCluster) -> Iterator[str]:
        if cluster.is_migrating:
            yield (
                "a migration to KRaft was begun (/migration in ZooKeeper), and ZooKeeper may be behind: go on with "
                "Kafka's own migration, or delete this line if it was never finished"
            )
        if self._stale:
            yield (
                f"{_summarize(self._stale)} have a higher leader epoch on the disks than in ZooKeeper: this ZooKeeper "
                "is older than the disks, and its ISR may name replicas that lack records"
            )
        if self._unsafe:
            yield (
                f"{_summarize(self._unsafe)} have records, and no broker of the ISR has their folder: that broker "
                "would begin empty, and the others would follow it. Pass all its directories, or set isr "
                "and leader by hand"
            )

    def _list_losses(self, cluster: KafkaCluster) -> Iterator[str]:
        if self._leaderless:
            yield f"{_summarize(self._leaderless)} have no leader: no broker of the ISR is in this plan"
        if cluster.delegation_tokens:
            yield f"{cluster.delegation_tokens} delegation tokens: clients that use them have to ask for new ones"
        if cluster.waiting_reassignments:
            waiting = _summarize(cluster.waiting_reassignments)
            yield f"the reassignment of {waiting}, which had not begun: ask for it again"
        if cluster.groups:
            names = ", ".join(cluster.groups[:NAMES_SHOWN])
            yield f"the offsets that {plural(len(cluster.groups), 'group')} kept in ZooKeeper, not in Kafka ({names})"

    def _list_notes(self, cluster: KafkaCluster) -> Iterator[str]:
        if self._narrowed:
            yield f"{_summarize(self._narrowed)} have a smaller ISR than in ZooKeeper: a disk lacks their folder"
        absent = {id for topic in cluster.topics.values() for each in topic.partitions for id in each.replicas}
        absent -= self.brokers.keys()
        if absent:
            yield f"the brokers {sorted(absent)} have replicas and are not in this plan: their partitions wait for them"
        deleted = sum(each.deleted_folders for each in self.brokers.values())
        if deleted:
            yield f"{deleted} folders of deleted topics (-delete) are deleted by Kafka, as the old broker would have"


def describe_double_replicas(brokers: Mapping[int, PlannedBroker]) -> Iterator[str]:
    """Yields a line for each partition that a broker has twice."""
    for broker_id, broker in brokers.items():
        counts = Counter((each.topic, each.partition) for each in broker.folders)
        for (topic, partition), count in counts.items():
            if count > 1:
                yield (
                    f"{topic}-{partition} is in two directories of broker {broker_id}, and Kafka does not start then: "
                    "move one of them out of the log directory, and plan again"
                )


def index_bytes(folders: Sequence[FolderSurvey], configs: Mapping[str, str], defaults: Mapping[str, str]) -> int:
    """The index size that Kafka needs for the topic: for the existing entries, or those that a recovery may write."""
    text = configs.get(INDEX_INTERVAL, defaults.get(f"log.{INDEX_INTERVAL}", ""))
    interval = int(text) if text.isdecimal() and len(text) <= INT_DIGITS else DEFAULT_INDEX_INTERVAL_BYTES
    recovered = max((each.recovered_bytes for each in folders), default=0)
    entries = recovered // max(interval, LEAST_BATCH_BYTES) + SPARE_ENTRIES if recovered else 0
    return max(entries * TimeIndex.layout.size, *(each.index_bytes for each in folders), 0)


def number_acls(acls: Sequence[Acl]) -> dict[Acl, UUID]:
    """The ACLs with their ids, which are the same at each call."""
    return {acl: uuid5(UUID(int=0), repr(acl)) for acl in acls}


def drop_unreadable_settings(
    name: str, configs: Mapping[str, str], lines: list[str], *, has_tiers: bool = True
) -> dict[str, str]:
    """The settings of a topic without unreadable ones, with which Kafka would not start; adds a line for each of those.

    `has_tiers`: the settings are for Kafka, which has tiered storage; stepdown has not.
    """
    kept = {}
    for key, value in configs.items():
        try:
            known = TOPIC_KEYS.get(key)
            if known is not None and has_tiers and isinstance(known.check, OnlyValue):
                parse(known.kind, value)
            elif known is not None:
                known.value_of(value)
            kept[key] = value
        except ValueError:
            lines.append(f"{name}: {key}={value} is left out, {TOPIC_KEYS[key].expected} was expected")
    return kept


def _drop_secrets(owner: str, configs: Mapping[str, str], lost: list[str]) -> dict[str, str]:
    secret = [key for key, value in configs.items() if ENCRYPTED in value]
    lost += [f"{owner}: {key}, which only the old broker can decrypt: set it again" for key in secret]
    return {key: value for key, value in configs.items() if key not in secret}


def describe_strays(plan: MigrationPlan, deleted: frozenset[str]) -> list[str]:
    """A line for each folder that Kafka will rename to `-stray`, with the reason."""
    found = []
    for broker_id, broker in plan.brokers.items():
        for each in broker.folders:
            reason = _reason_for_stray(plan.state.topics.get(each.topic), each, broker_id, deleted)
            if reason:
                path = broker.directories[each.disk].path
                found.append(f"broker {broker_id}: {path}/{each.topic}-{each.partition}, {reason}")
    return found


def _reason_for_stray(topic: StoredTopic | None, folder: FolderSurvey, broker_id: int, deleted: frozenset[str]) -> str:
    if topic is None:
        return "its topic is being deleted" if folder.topic in deleted else "its topic is not known"
    if folder.partition >= topic.partitions:
        return f"its topic has {plural(topic.partitions, 'partition')}"
    if broker_id not in topic.replicas[folder.partition].replicas:
        return "its broker is no replica"
    return "" if folder.topic_id in (None, topic.topic_id) else "it is of an earlier topic of that name"


def _summarize(labels: Sequence[str]) -> str:
    more = ", …" if len(labels) > NAMES_SHOWN else ""
    return f"{plural(len(labels), 'partition')} ({', '.join(labels[:NAMES_SHOWN])}{more})"
