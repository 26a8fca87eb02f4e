"""Loads topics at startup by matching the metadata store with the partition folders on disk.

| the store | the folders | the topic |
|---|---|---|
| knows it | all there | is served |
| knows it | some missing | gets the missing ones, empty: a crash came between remembering and making |
| not | there | is taken over, keeps everything (`unknown_settings.py`), and gets an id if it has none (ZooKeeper) |
| not | there, with gaps | is taken over and gets the missing ones: clients count on numbers without gaps |
| noted its id as deleted | there | goes |

Leader epochs go on where the log's own end; a log that was not closed cleanly starts a new one, so that consumers
notice if what they read was lost (KIP-320).
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from uuid import UUID, uuid4

from ...protocol.errors import DiskFault, ErrorCode
from ...storage.directories.cluster_state import StoredTopic
from ...storage.directories.log_manager import LogManager
from ...storage.directories.metadata_store import MetadataStore
from ...storage.directories.partition_record import NO_LEADER, PartitionRecord
from ...storage.files.partition_metadata import write_topic_id
from ...storage.log.log import Log
from ...storage.log.log_config import LogConfig
from .absent_partition import AbsentPartition
from .configuration import Configuration, log_config
from .image import Topic
from .internal_topics import internal_overrides
from .partition import Partition
from .topic_rules import INTERNAL_TOPICS
from .unknown_settings import KEEP_EVERYTHING

log = logging.getLogger(__name__)

Logs = dict[int, Log]


def load_image(
    store: MetadataStore, log_manager: LogManager, configuration: Configuration, node_id: int
) -> Iterator[Topic]:
    """The topics, after what was half done has been finished. Raises DiskFault."""
    _finish_deletions(store, log_manager)
    found: dict[str, Logs] = {}
    for (name, index), opened in log_manager.logs.items():
        found.setdefault(name, {})[index] = opened
    if store.is_new:
        store.raise_producer_ids(1 + max(map(_last_producer_id, log_manager.logs.values()), default=-1))
    changed = _reconcile(store, found)
    changed |= _complete_internal(store, configuration)
    if changed or store.is_new:
        store.save()
    for name, stored in store.state.topics.items():
        yield _topic(name, stored, found.get(name, {}), log_manager, configuration, node_id)


def _finish_deletions(store: MetadataStore, log_manager: LogManager) -> None:
    deleting = store.state.deleting
    doomed = [key for key, opened in log_manager.logs.items() if opened.topic_id in deleting]
    for name, index in doomed:
        log.info("%s-%d belongs to a deleted topic and is removed", name, index)
        log_manager.delete(name, index)
    deleting.clear()


def _reconcile(store: MetadataStore, found: dict[str, Logs]) -> bool:
    """Brings the store up to what the folders say; whether it changed."""
    topics = store.state.topics
    changed = False
    for name, logs in found.items():
        stored = topics.get(name)
        topic_id = stored.topic_id if stored is not None else _common_id(name, logs.values())
        partitions = max(max(logs) + 1, stored.partitions if stored is not None else 0)
        for opened in logs.values():
            _ensure_id(opened, topic_id)
        if stored is None or stored.partitions != partitions:
            configs = stored.configs if stored is not None else _first_configs(name)
            topics[name] = StoredTopic(topic_id=topic_id, partitions=partitions, configs=dict(configs))
            changed = True
    return changed


def _first_configs(name: str) -> Mapping[str, str]:
    """Of a topic that is taken over from its folders. What is internal has Kafka's settings, see below."""
    return {} if name in INTERNAL_TOPICS else KEEP_EVERYTHING


def _complete_internal(store: MetadataStore, configuration: Configuration) -> bool:
    """Gives internal topics the settings that their records lack, or their records would be deleted by age.

    Whether anything changed.
    """
    changed = False
    for name in INTERNAL_TOPICS & store.state.topics.keys():
        stored = store.state.topics[name]
        configs = {**internal_overrides(name, configuration.settings), **stored.configs}
        if configs != stored.configs:
            store.state.topics[name] = replace(stored, configs=dict(configs))
            changed = True
    return changed


def _common_id(name: str, logs: Iterable[Log]) -> UUID:
    ids = Counter(opened.topic_id for opened in logs if opened.topic_id is not None)
    if len(ids) > 1:
        log.warning("the folders of topic %s have %d different topic ids; the most frequent one counts", name, len(ids))
    return ids.most_common(1)[0][0] if ids else uuid4()


def _ensure_id(opened: Log, topic_id: UUID) -> None:
    if opened.topic_id != topic_id:
        write_topic_id(opened.files, opened.directory, topic_id)
        opened.topic_id = topic_id


def _last_producer_id(opened: Log) -> int:
    return max(opened.producers.state.producers, default=-1)


def _topic(
    name: str, stored: StoredTopic, logs: Logs, log_manager: LogManager, configuration: Configuration, node_id: int
) -> Topic:
    settings = configuration.stored_topic_settings(name, stored.configs)
    config = log_config(settings)
    topic = Topic(
        name=name,
        topic_id=stored.topic_id,
        settings=settings,
        overrides=dict(stored.configs),
        is_internal=name in INTERNAL_TOPICS,
    )
    missing = [index for index in range(stored.partitions) if index not in logs]
    if missing and not log_manager.offline:
        logs = {**logs, **_make_missing(name, stored, missing, config, log_manager)}
    for index in range(stored.partitions):
        if index not in logs:  # its log directory may be offline
            topic.partitions[index] = _offline(name, index, node_id)
            continue
        opened = logs[index]
        opened.reconfigure(config)
        epoch = _leader_epoch(opened, is_clean=log_manager.was_clean(opened.directory))
        topic.partitions[index] = Partition(name, index, opened, leader_id=node_id, leader_epoch=epoch)
    return topic


def _offline(name: str, index: int, node_id: int) -> AbsentPartition:
    record = PartitionRecord(replicas=(node_id,), isr=(node_id,), leader=NO_LEADER)
    log.error("%s-%d is offline: no log directory that can be used has it", name, index)
    return AbsentPartition(name, index, record, code=ErrorCode.KAFKA_STORAGE_ERROR)


def _make_missing(
    name: str, stored: StoredTopic, missing: list[int], config: LogConfig, log_manager: LogManager
) -> Logs:
    log.warning("topic %s: %d of %d partitions have no folder and start empty: %s",
                name, len(missing), stored.partitions, missing[:20])  # fmt: skip
    try:
        return {index: log_manager.create(name, index, stored.topic_id, config) for index in missing}
    except DiskFault as fault:
        raise DiskFault(f"topic {name}: missing partitions cannot be made: {fault}") from fault


def _leader_epoch(opened: Log, *, is_clean: bool) -> int:
    if opened.log_end_offset == 0:
        return 0
    latest = opened.epochs.latest
    return max(0, latest if is_clean else latest + 1)
