"""Finds faults in an edited plan that would keep Kafka from starting, before anything is written."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from uuid import UUID

from ...protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from ..files.file_names import MAX_PARTITION, fault_of_topic_name, parse_log_folder_name
from ..metadata.cluster_state import ClusterState, StoredTopic
from ..metadata.partition_record import PartitionRecord, next_epoch
from .directory_survey import PlannedBroker
from .folder_survey import FolderSurvey
from .migration_plan import HIGHEST_KRAFT_VERSION, MigrationPlan
from .plan_making import drop_unreadable_settings
from .release_preparation import RELEASES, ReleasePreparation

MOST = MAX_PARTITION
"""Ids of brokers, epochs and iterations are int32."""
MOST_MS = 2**63 - 1
HIGHEST_PORT = 2**16 - 1
RESERVED_TOPIC_IDS, RESERVED_DIRECTORY_IDS = 2, 100
"""Kafka reserves the lowest ids (`Uuid`, `DirectoryId`)."""
FIRST_WITH_VOTERS = 21
"""The lowest metadata.version at which the metadata may name the voters (`KRaftVersion`, 3.9-IV0)."""
_FILTERS = (
    ResourceType.UNKNOWN, ResourceType.ANY, PatternType.UNKNOWN, PatternType.ANY, PatternType.MATCH,
    AclOperation.UNKNOWN, AclOperation.ANY, PermissionType.UNKNOWN, PermissionType.ANY,
)  # fmt: skip


def faults_of_plan(plan: MigrationPlan) -> list[str]:
    """A sentence for each fault; none if the plan can be applied."""
    return [
        *_faults_of_head(plan),
        *_faults_of_addresses(plan),
        *(line for each in plan.brokers.values() for line in _faults_of_broker(each)),
        *faults_of_ids(plan.state),
        *(line for name, topic in plan.state.topics.items() for line in _faults_of_topic(name, topic)),
        *faults_of_epochs(plan),
        *_faults_of_access(plan.state),
        *_faults_of_settings(plan),
    ]


def faults_of_ids(state: ClusterState) -> Iterator[str]:
    """A line for each topic id that several topics have: Kafka would take them for one topic."""
    names: dict[UUID, list[str]] = {}
    for name, topic in state.topics.items():
        names.setdefault(topic.topic_id, []).append(name)
    for topic_id, same in names.items():
        if len(same) > 1:
            yield (
                f"the topics {', '.join(same)} have one id, and Kafka would have one topic of them: their folders are "
                "copies, one of them has to leave the log directories, or needs another id"
            )
        if topic_id.int < RESERVED_TOPIC_IDS:
            yield f"{same[0]}: the id {topic_id} is Kafka's own, another one is needed"


def faults_of_epochs(plan: MigrationPlan) -> Iterator[str]:
    """A line for each partition whose leader epoch is not above those on the disks.

    A leader drops the history of epochs above its own, and undoing the plan drops epochs from the plan's on.
    """
    highest: dict[tuple[str, int], int] = {}
    for broker_id, broker in plan.brokers.items():
        for each in broker.folders:
            if _is_replica(plan.state.topics.get(each.topic), each, broker_id):
                key = each.topic, each.partition
                highest[key] = max(highest.get(key, -1), each.leader_epoch)
    for (name, index), epoch in highest.items():
        found = plan.state.topics[name].replicas[index].leader_epoch
        if found < next_epoch(epoch):
            yield f"{name}-{index}: a leader_epoch above {epoch}, which is on the disks, expected, found {found}"


def _is_replica(topic: StoredTopic | None, folder: FolderSurvey, broker_id: int) -> bool:
    """Whether Kafka takes the folder for a replica of the topic."""
    return (
        topic is not None
        and 0 <= folder.partition < topic.partitions
        and folder.topic_id in (None, topic.topic_id)
        and broker_id in topic.replicas[folder.partition].replicas
    )


def _faults_of_head(plan: MigrationPlan) -> Iterator[str]:
    release, level = RELEASES[plan.release], plan.state.metadata_version
    if not release.lowest_level <= level <= release.highest_level:
        yield (
            f"metadata_version: {release.lowest_level} to {release.highest_level} expected for Kafka {release.name}, "
            f"found {level}"
        )
    if not 0 <= plan.kraft_version <= HIGHEST_KRAFT_VERSION:
        yield f"kraft_version: 0 to {HIGHEST_KRAFT_VERSION} expected, found {plan.kraft_version}"
    if plan.kraft_version == 1 and level < FIRST_WITH_VOTERS:
        yield f"kraft_version: 1 needs a metadata_version of {FIRST_WITH_VOTERS} at least, found {level}"
    if not _is_word(plan.cluster_id):
        yield f"cluster_id: an id expected, found {plan.cluster_id!r}"
    if not 0 <= plan.made_ms <= MOST_MS:
        yield f"made_ms: milliseconds since 1970 expected, found {plan.made_ms}"
    if len(set(plan.voters)) < len(plan.voters):
        yield f"voters: each broker once expected, found {list(plan.voters)}"
    ids = [each.directory_id for broker in plan.brokers.values() for each in broker.directories]
    if len(set(ids)) < len(ids) or any(each.int < RESERVED_DIRECTORY_IDS for each in ids):
        yield "directories: an id of its own for each directory expected"


def _faults_of_addresses(plan: MigrationPlan) -> Iterator[str]:
    """A line for each address that several listeners have: with the plan's defaults, nodes do not find each other."""
    used = Counter((each.host, each.port) for each in plan.brokers.values())
    voters = (plan.brokers[broker_id] for broker_id in dict.fromkeys(plan.voters))
    used.update((each.host, each.controller_port) for each in voters)
    for (host, port), count in used.items():
        if count > 1:
            yield f"{host}:{port} is the address of {count} listeners: set host and ports of each broker"


def _faults_of_broker(broker: PlannedBroker) -> Iterator[str]:
    place = f"brokers.{broker.broker_id}"
    if not 0 <= broker.broker_id <= MOST:
        yield f"{place}: an id from 0 to {MOST} expected"
    if not _is_word(broker.host):
        yield f"{place}.host: a host expected, found {broker.host!r}"
    if any(not 0 < port <= HIGHEST_PORT for port in (broker.port, broker.controller_port)):
        yield f"{place}: ports from 1 to {HIGHEST_PORT} expected, found {broker.port} and {broker.controller_port}"
    paths = [each.path for each in broker.directories]
    if len(set(paths)) < len(paths) or not all(path.startswith("/") for path in paths):
        yield f"{place}.directories: absolute paths expected, each once, found {', '.join(paths)}"
    for name in broker.set_aside:
        parsed = parse_log_folder_name(name)
        if parsed is None or parsed.suffix:
            yield f"{place}.set_aside: the name of the folder of a partition expected, found {name!r}"


def _faults_of_topic(name: str, topic: StoredTopic) -> Iterator[str]:
    fault = fault_of_topic_name(name)
    if fault:
        yield f"topics: {fault}"
    for index, record in enumerate(topic.replicas):
        yield from (f"{name}-{index}: {fault}" for fault in _faults_of_partition(record))


def _faults_of_partition(record: PartitionRecord) -> Iterator[str]:
    if any(broker_id > MOST for broker_id in record.replicas):
        yield f"replicas: broker ids up to {MOST} expected, found {list(record.replicas)}"
    if not {*record.adding, *record.removing} <= set(record.replicas):
        yield (
            f"adding and removing: some of the replicas {list(record.replicas)} expected, found "
            f"{list(record.adding)} and {list(record.removing)}"
        )
    if not 0 <= record.leader_epoch <= MOST:
        yield f"leader_epoch: 0 to {MOST} expected, found {record.leader_epoch}"


def _faults_of_access(state: ClusterState) -> Iterator[str]:
    for acl in state.acls:
        if _is_acl_filter(acl):
            yield f"acls: a rule as Kafka keeps it expected, found {acl}"
    for (user, mechanism), each in state.scram_credentials.items():
        if not 0 < each.iterations <= MOST:
            yield f"scram_credentials: iterations of {user} for {mechanism}: 1 to {MOST} expected"
    for entity, quotas in state.client_quotas.items():
        if not all(isfinite(rate) for rate in quotas.values()):
            yield f"client_quotas: finite rates expected, found {quotas} of {dict(entity)}"


def _is_acl_filter(acl: Acl) -> bool:
    kinds: Sequence[object] = (acl.resource_type, acl.pattern_type, acl.operation, acl.permission_type)
    return any(each is other for each in kinds for other in _FILTERS) or ":" not in acl.principal


def _faults_of_settings(plan: MigrationPlan) -> Iterator[str]:
    """A line for each setting that the release does not take; only an edited plan has such settings."""
    lines: list[str] = []
    limits = ReleasePreparation(release=RELEASES[plan.release], lines=lines)
    for name, topic in plan.state.topics.items():
        drop_unreadable_settings(name, limits.adapt_topic_configs(name, topic.configs), lines)
    limits.adapt_broker_configs("all brokers", plan.state.cluster_configs)
    for broker_id, configs in plan.state.configs_of_brokers.items():
        limits.adapt_broker_configs(f"broker {broker_id}", configs)
    for line in lines:
        yield f"Kafka {plan.release} does not take a setting; in a new plan, {line}"


def _is_word(text: str) -> bool:
    """Whether the text can stand unquoted in a line of settings."""
    return bool(text) and not any(each.isspace() or each in ",\\" for each in text)
