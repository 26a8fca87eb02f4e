"""Loads topics at startup: the metadata decide, folders are matched with them.

| the metadata | the folder | what happens |
|---|---|---|
| know the topic | there, with its id | is served |
| know it | there, without an id | is served, and gets the id |
| know it | missing | is made, empty: a crash came between storing the topic and making the folder |
| know it, with another id or fewer partitions | there | is set aside as `-stray`, as Kafka does |
| know it | there twice, with different ids | the one with its id is served, the other set aside |
| do not know it | there, with an id | is set aside as `-stray` |
| do not know it | there, without an id | is taken over: somebody put it there |
| there are none at all | there | is taken over |

A topic that is taken over deletes no records (`unknown_settings.py`). Its missing partitions are made empty, since
clients expect numbers without gaps. But an internal topic has as many partitions as its setting says. Those of it
without a folder belong to another broker and are absent (`absent_partition.py`): in one made here, empty, a group would
not be found.

This broker leads the partitions that it has. Leader epochs never go down, neither in the metadata nor below what the
log has; a log that was not closed cleanly starts a new one, so that consumers notice if what they read was lost
(KIP-320).
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from uuid import UUID, uuid4

from ...protocol.errors import DiskFault, ErrorCode
from ...protocol.plural import plural
from ...protocol.schema import NO_UUID
from ...storage.directories.log_manager import LogManager
from ...storage.files.partition_metadata import encode_uuid, write_topic_id
from ...storage.log.log import Log
from ...storage.log.log_config import LogConfig
from ...storage.metadata.cluster_state import StoredTopic
from ...storage.metadata.metadata_store import MetadataStore
from ...storage.metadata.partition_record import NO_LEADER, PartitionRecord, next_epoch
from ...storage.producers.producer_states import highest_producer_id
from .absent_partition import AbsentPartition
from .configuration import Configuration, log_config_of
from .image import Topic
from .internal_topics import internal_topic_overrides
from .partition import Partition
from .topic_rules import INTERNAL_TOPICS, OFFSETS_TOPIC, TRANSACTION_TOPIC
from .unknown_settings import KEEP_EVERYTHING

log = logging.getLogger(__name__)

Logs = dict[int, Log]

SETTINGS_OF_PARTITIONS = {
    OFFSETS_TOPIC: "offsets.topic.num.partitions",
    TRANSACTION_TOPIC: "transaction.state.log.num.partitions",
}


def load_topics(
    store: MetadataStore, log_manager: LogManager, configuration: Configuration, node_id: int
) -> Iterator[Topic]:
    """Yields the topics, after it has completed what a crash left half done. Raises DiskFault."""
    _check_and_accept_new_directories(store, log_manager)
    log_manager.resolve_duplicates({name: stored.topic_id for name, stored in store.state.topics.items()})
    if store.is_new and log_manager.logs:
        log.warning(
            "there is no __cluster_metadata-0: topics are taken over from their folders; access rules, users with "
            "SCRAM passwords, quotas and settings of brokers, if there were any, lay elsewhere and do not hold here"
        )
    found: dict[str, Logs] = {}
    for (name, index), opened in log_manager.logs.items():
        found.setdefault(name, {})[index] = opened
    store.skip_producer_ids_below(1 + max(map(last_producer_id, log_manager.logs.values()), default=-1))
    for name, logs in found.items():
        _match_folders(name, logs, store, log_manager, configuration)
    _complete_internal_topic_settings(store, configuration)
    _lead_own_replicas(store, found, log_manager, node_id)
    _warn_of_other_brokers(store.state.topics.values(), node_id)
    store.save()
    for name, stored in store.state.topics.items():
        yield _build_topic(name, stored, found.get(name, {}), log_manager, configuration, node_id)


def _match_folders(
    name: str, logs: Logs, store: MetadataStore, log_manager: LogManager, configuration: Configuration
) -> None:
    """Leaves in `logs` only those of the topic, and stores a topic that is taken over."""
    stored = store.state.topics.get(name)
    if stored is None:
        is_known = [opened for opened in logs.values() if opened.topic_id is not None]
        if store.is_new or len(is_known) < len(logs):
            topic_id = _most_common_topic_id(name, is_known) if store.is_new else uuid4()
            stored = topic_of_folders(name, topic_id, logs, configuration, store.node_id)
            store.state.topics[name] = stored
    for index, opened in list(logs.items()):
        cause = _why_stray(opened, index, stored, store.node_id)
        if cause:
            log_manager.set_aside_as_stray(opened, cause)
            del logs[index]
        elif stored is not None and opened.topic_id is None:
            write_topic_id(opened.files, opened.directory, stored.topic_id)
            opened.topic_id = stored.topic_id


def _check_and_accept_new_directories(store: MetadataStore, log_manager: LogManager) -> None:
    """Keeps partitions of a disk that is not mounted from starting empty, and giving out the same offsets again.

    Raises: DiskFault when a log directory is new while partitions, or the metadata, are missing in the others.
    """
    new = ", ".join(log_manager.new_directories)
    if new:
        missing = [] if log_manager.offline else sorted(_find_partitions_without_folder(store, log_manager))
        if store.is_new or missing:
            lost = (
                "the metadata" if store.is_new else f"{plural(len(missing), 'partition')} ({', '.join(missing[:5])} …)"
            )
            raise DiskFault(
                f"{new} has no meta.properties, and the other log directories, which were used before, do not have "
                f"{lost}: is a disk not mounted? If it is lost for good, start once without it in log.dirs"
            )
        log_manager.accept_new_directories()


def _find_partitions_without_folder(store: MetadataStore, log_manager: LogManager) -> Iterator[str]:
    known = log_manager.logs.keys() | log_manager.unusable.keys()
    for name, stored in store.state.topics.items():
        for index, record in enumerate(stored.replicas):
            if store.node_id in record.replicas and (name, index) not in known:
                yield f"{name}-{index}"


def _why_stray(opened: Log, index: int, stored: StoredTopic | None, node_id: int) -> str:
    """Why the folder is not the topic's; "" where it is."""
    if stored is None:
        return "the metadata have no topic of that name"
    if opened.topic_id not in (None, stored.topic_id):
        return f"the metadata have another topic of that name, with the id {encode_uuid(stored.topic_id)}"
    if index >= stored.partitions:
        return f"the topic has {plural(stored.partitions, 'partition')} in the metadata"
    replicas = stored.replicas[index].replicas
    if replicas and node_id not in replicas:
        return f"its replicas are on the brokers {list(replicas)} by the metadata, and this is {node_id}"
    return ""


def topic_of_folders(
    name: str, topic_id: UUID, logs: Iterable[int], configuration: Configuration, node_id: int
) -> StoredTopic:
    """A topic that has folders and no metadata; `logs` are the partitions of the folders. Raises: DiskFault."""
    partitions = 1 + max(logs)
    setting = SETTINGS_OF_PARTITIONS.get(name)
    if setting is not None:
        wanted = getattr(configuration.settings, setting.replace(".", "_"))
        if partitions > wanted:
            raise DiskFault(
                f"{name} has a folder of partition {partitions - 1}, but {setting} is {wanted}. Groups and "
                f"transactions are found by the number of partitions: set {setting} to that of the old cluster"
            )
        partitions = wanted
    alone = PartitionRecord(replicas=(node_id,), isr=(node_id,), leader=node_id)
    absent = PartitionRecord(replicas=(), isr=(), leader=NO_LEADER)
    records = tuple(alone if setting is None or index in set(logs) else absent for index in range(partitions))
    if absent in records:
        log.warning(
            "%s has %d partitions by %s, %d of them have a folder here: groups and transactions of the others are "
            "refused. Where that is not the number of the old cluster, stop before anything is written, remove "
            "__cluster_metadata-0 and set it",
            name, partitions, setting, len(list(logs)),
        )  # fmt: skip
    return StoredTopic(topic_id=topic_id, replicas=records, configs=dict(_configs_without_metadata(name)))


def _configs_without_metadata(name: str) -> Mapping[str, str]:
    """The configs of a topic that is made from its folders. Internal topics get Kafka's settings, see below."""
    return {} if name in INTERNAL_TOPICS else KEEP_EVERYTHING


def _complete_internal_topic_settings(store: MetadataStore, configuration: Configuration) -> None:
    """Gives internal topics the settings that their records lack, or their records would be deleted by age."""
    for name in INTERNAL_TOPICS & store.state.topics.keys():
        stored = store.state.topics[name]
        configs = {**internal_topic_overrides(name, configuration.settings), **stored.configs}
        if configs != stored.configs:
            store.state.topics[name] = replace(stored, configs=dict(configs))


def _most_common_topic_id(name: str, logs: Iterable[Log]) -> UUID:
    ids = Counter(opened.topic_id for opened in logs if opened.topic_id is not None)
    if len(ids) > 1:
        log.warning(
            "the folders of topic %s have %d different topic ids and there is no metadata: the most frequent one "
            "counts, the other folders are set aside", name, len(ids))  # fmt: skip
    return ids.most_common(1)[0][0] if ids else uuid4()


def _lead_own_replicas(store: MetadataStore, found: Mapping[str, Logs], log_manager: LogManager, node_id: int) -> None:
    """Makes this broker the leader of the partitions that it has a replica of; the others have no leader."""
    late = 0
    for name, stored in store.state.topics.items():
        logs = found.get(name, {})
        records = tuple(
            _with_leader_here(record, logs.get(index), log_manager, node_id)
            for index, record in enumerate(stored.replicas)
        )
        if records != stored.replicas:
            late += sum(node_id in each.replicas and not each.has_all_records(node_id) for each in stored.replicas)
            store.state.topics[name] = replace(stored, replicas=records)
    if late:
        log.warning(
            "%d partitions are led here that were led by other brokers, and this one was not in sync: records may be "
            "missing in them", late)  # fmt: skip


def _warn_of_other_brokers(topics: Iterable[StoredTopic], node_id: int) -> None:
    """Warns if the directory is one of several brokers', or a controller's, which has metadata alone."""
    replicas = [record.replicas for stored in topics for record in stored.replicas]
    elsewhere = [each for each in replicas if each and node_id not in each]
    if elsewhere:
        is_controller = len(elsewhere) == len(replicas)
        log.warning(
            "%d of %d partitions are on the brokers %s by the metadata, and offline here, on node %d%s",
            len(elsewhere), len(replicas), sorted({broker for each in elsewhere for broker in each}), node_id,
            ": a directory of a controller alone has no records, name those of a broker" if is_controller else "",
        )  # fmt: skip


def _with_leader_here(
    record: PartitionRecord, opened: Log | None, log_manager: LogManager, node_id: int
) -> PartitionRecord:
    replicas = record.replicas or ((node_id,) if opened is not None else ())
    if node_id not in replicas:
        if record.leader == NO_LEADER:
            return record
        return replace(
            record,
            leader=NO_LEADER,
            leader_epoch=next_epoch(record.leader_epoch),
            partition_epoch=next_epoch(record.partition_epoch),
        )
    is_led = record.leader == node_id and record.isr == (node_id,)
    epoch = record.leader_epoch if is_led else next_epoch(record.leader_epoch)
    directories = record.directories
    if opened is not None:
        if opened.log_end_offset:
            latest = opened.epochs.latest
            epoch = max(epoch, latest if log_manager.was_clean(opened.directory) else next_epoch(latest))
        directories = _directory_ids_of(record, replicas, node_id, log_manager.directory_id(opened.directory))
    if is_led and epoch == record.leader_epoch and directories == record.directories:
        return record
    return replace(
        record,
        replicas=replicas,
        isr=(node_id,),
        leader=node_id,
        leader_epoch=epoch,
        partition_epoch=next_epoch(record.partition_epoch),
        directories=directories,
        recovery_state=0,
        eligible_leader_replicas=(),
        last_known_elr=(),
    )


def _directory_ids_of(
    record: PartitionRecord, replicas: tuple[int, ...], node_id: int, directory_id: UUID | None
) -> tuple[UUID, ...]:
    known = dict(zip(record.replicas, record.directories, strict=False))
    known[node_id] = directory_id or NO_UUID
    return tuple(known.get(replica, NO_UUID) for replica in replicas)


def last_producer_id(opened: Log) -> int:
    """The highest producer id that the log remembers, -1 for none."""
    return highest_producer_id(opened.producers.state.producers)


def _build_topic(
    name: str, stored: StoredTopic, logs: Logs, log_manager: LogManager, configuration: Configuration, node_id: int
) -> Topic:
    settings = configuration.usable_topic_settings(name, stored.configs)
    config = log_config_of(settings)
    topic = Topic(
        name=name,
        topic_id=stored.topic_id,
        settings=settings,
        overrides=dict(stored.configs),
        is_internal=name in INTERNAL_TOPICS,
    )
    here = [index for index, record in enumerate(stored.replicas) if node_id in record.replicas]
    missing = [index for index in here if index not in logs]
    lost = [index for index in missing if log_manager.offline or (name, index) in log_manager.unusable]
    made = [index for index in missing if index not in lost]
    if made:
        logs = {**logs, **_create_missing_logs(name, stored, made, config, log_manager)}
    for index, record in enumerate(stored.replicas):
        opened = logs.get(index)
        if opened is None:
            topic.partitions[index] = (
                _make_offline_partition(name, index, record) if index in lost else AbsentPartition(name, index, record)
            )
            continue
        opened.reconfigure(config)
        topic.partitions[index] = Partition(name, index, opened, leader_id=node_id, leader_epoch=record.leader_epoch)
    return topic


def _make_offline_partition(name: str, index: int, record: PartitionRecord) -> AbsentPartition:
    log.error("%s-%d is offline: no log directory that can be used has it, or it could not be opened", name, index)
    return AbsentPartition(name, index, replace(record, leader=NO_LEADER), code=ErrorCode.KAFKA_STORAGE_ERROR)


def _create_missing_logs(
    name: str, stored: StoredTopic, missing: list[int], config: LogConfig, log_manager: LogManager
) -> Logs:
    log.warning("topic %s: %d of %d partitions have no folder and start empty: %s",
                name, len(missing), stored.partitions, missing[:20])  # fmt: skip
    try:
        return {index: log_manager.create(name, index, stored.topic_id, config) for index in missing}
    except DiskFault as fault:
        raise DiskFault(f"topic {name}: missing partitions cannot be made: {fault}") from fault
