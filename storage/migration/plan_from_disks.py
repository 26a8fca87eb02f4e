"""Makes a plan for a cluster that has lost its ZooKeeper, from its disks alone.

The replica with the highest leader epoch, and among those the highest end offset, becomes the leader and the only ISR.
Batches of magic 0 or 1 have no epochs, so another replica with such batches would not notice that it differs from the
leader: it is set aside and fetched again. The settings are unknown, so every topic keeps all its records.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from uuid import UUID, uuid4

from ..metadata.cluster_state import HIGHEST_METADATA_VERSION, METADATA_VERSION, ClusterState, StoredTopic
from ..metadata.partition_record import NO_LEADER, PartitionRecord, next_epoch
from .directory_survey import PlannedBroker, RefusedDirectory
from .folder_survey import NO_MAGIC, FolderSurvey
from .migration_plan import MigrationPlan, choose_voters, find_or_make_cluster_id
from .plan_check import faults_of_ids
from .plan_making import NAMES_SHOWN, SPARE_PRODUCER_IDS, describe_double_replicas, describe_strays

KEEP_EVERYTHING = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
INTERNAL = {
    "__consumer_offsets": {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
    "__transaction_state": {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    },
}
"""Kafka's settings for these topics, but `min.insync.replicas` is 1, so that a single remaining replica can work."""
MAGIC_WITH_EPOCHS = 2
MOST_PARTITIONS = 200_000
"""The most partitions of a topic, more than any real cluster has: a folder named by a date looks like a partition."""
UNKNOWN_SETTINGS = (
    "the settings of topics: all of them keep everything now (cleanup.policy=delete, retention.ms=-1); set them in "
    "this plan, or in Kafka"
)
UNKNOWN_ACCESS = "users, access rules, quotas and dynamic settings of brokers: they were in ZooKeeper alone"

Replicas = dict[int, FolderSurvey]


def plan_from_disks(brokers: Mapping[int, PlannedBroker], release: str, made_ms: int) -> MigrationPlan:
    """Makes the plan. Raises: RefusedDirectory."""
    plan = MigrationPlan(
        release=release,
        cluster_id=find_or_make_cluster_id(brokers),
        made_ms=made_ms,
        source="the disks alone",
        brokers=dict(brokers),
        voters=choose_voters(list(brokers)),
        lost=[UNKNOWN_SETTINGS, UNKNOWN_ACCESS],
    )
    topics: dict[str, dict[int, Replicas]] = {}
    for broker in brokers.values():
        for folder in broker.folders:
            if folder.partition >= MOST_PARTITIONS:
                raise RefusedDirectory(
                    f"{broker.directories[folder.disk].path}/{folder.topic}-{folder.partition}: a topic has at most "
                    f"{MOST_PARTITIONS} partitions, move this folder out of the log directory"
                )
            topics.setdefault(folder.topic, {}).setdefault(folder.partition, {})[broker.broker_id] = folder
    last_id = max((each.last_producer_id for each in brokers.values()), default=-1)
    plan.state = ClusterState(
        topics={name: _make_topic(name, topics[name]) for name in sorted(topics)},
        next_producer_id=last_id + 1 + SPARE_PRODUCER_IDS,
        features={METADATA_VERSION: HIGHEST_METADATA_VERSION},
    )
    _plan_folders_to_set_aside(plan)
    plan.stops += [
        *describe_double_replicas(brokers),
        *_describe_missing_partitions(plan.state),
        *faults_of_ids(plan.state),
    ]
    plan.lost += _describe_different_replicas(plan.state, topics)
    plan.notes += [f"set aside by Kafka: {line}" for line in describe_strays(plan, frozenset())]
    return plan


def _make_topic(name: str, partitions: Mapping[int, Replicas]) -> StoredTopic:
    topic_id = _most_common_topic_id(partitions)
    return StoredTopic(
        topic_id=topic_id,
        configs=INTERNAL.get(name, KEEP_EVERYTHING),
        replicas=tuple(_make_partition(partitions.get(index, {}), topic_id) for index in range(1 + max(partitions))),
    )


def _most_common_topic_id(partitions: Mapping[int, Replicas]) -> UUID:
    """The topic id that most folders have; a new one if no folder has one."""
    folders = [folder for replicas in partitions.values() for folder in replicas.values()]
    ids = Counter(folder.topic_id for folder in folders if folder.topic_id is not None)
    return ids.most_common(1)[0][0] if ids else uuid4()


def _make_partition(replicas: Replicas, topic_id: UUID) -> PartitionRecord:
    own = {broker_id: each for broker_id, each in replicas.items() if each.topic_id in (None, topic_id)}
    if not own:
        return PartitionRecord(replicas=(), isr=(), leader=NO_LEADER)
    leader = max(own, key=lambda broker_id: (own[broker_id].leader_epoch, own[broker_id].end_offset, -broker_id))
    others = sorted(broker_id for broker_id in own if broker_id != leader)
    return PartitionRecord(
        replicas=(leader, *others),
        isr=(leader,),
        leader=leader,
        leader_epoch=next_epoch(max(0, *(each.leader_epoch for each in own.values()))),
    )


def _plan_folders_to_set_aside(plan: MigrationPlan) -> None:
    for broker_id, broker in plan.brokers.items():
        names = [
            f"{each.topic}-{each.partition}"
            for each in broker.folders
            if NO_MAGIC < each.lowest_magic < MAGIC_WITH_EPOCHS
            and _leader_of(plan.state, each) not in (broker_id, NO_LEADER)
        ]
        plan.brokers[broker_id] = replace(broker, set_aside=tuple(sorted(names)))


def _leader_of(state: ClusterState, folder: FolderSurvey) -> int:
    return state.topics[folder.topic].replicas[folder.partition].leader


def _describe_missing_partitions(state: ClusterState) -> Iterator[str]:
    for name, topic in state.topics.items():
        missing = [index for index, each in enumerate(topic.replicas) if not each.replicas]
        if missing:
            shown = ", ".join(map(str, missing[:NAMES_SHOWN]))
            yield (
                f"{name}: {len(missing)} of {topic.partitions} partitions are on no disk ({shown}): pass all brokers, "
                "or give these partitions a replica below, where they begin empty"
            )


def _describe_different_replicas(state: ClusterState, topics: Mapping[str, Mapping[int, Replicas]]) -> Iterator[str]:
    for name, partitions in sorted(topics.items()):
        for index, replicas in sorted(partitions.items()):
            leader = state.topics[name].replicas[index].leader
            for broker_id, each in sorted(replicas.items()):
                if leader in replicas and each.end_offset > replicas[leader].end_offset:
                    yield (
                        f"{name}-{index}: the offsets {replicas[leader].end_offset} to {each.end_offset - 1} that only "
                        f"broker {broker_id} has, of an older leader epoch than those of broker {leader}"
                    )
