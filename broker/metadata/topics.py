"""The topics of a broker: made, grown, configured, deleted; on the disk first, then in the metadata image.

    create    remember in the store (one write for a whole request) -> make the logs -> show in the image
    grow      the same for the new partitions
    delete    forget in the store -> hide from the image -> rename the folders
    load      the store gives the image: what a crash left half made is finished, folders that it does not know are set
              aside

So an acknowledged topic is never lost and a deleted one never comes back. A cluster uses `replication/topics.py`
instead. Changes run one after the other; they let other work have the loop between partitions.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from ...config import Layers, TopicSettings
from ...network.log_line_limit import LogLineLimit, repetition_text
from ...network.worker_threads import drop_traceback
from ...protocol.errors import ApiError, DiskFault, ErrorCode
from ...storage.directories.log_manager import LogManager
from ...storage.log.log import Log
from ...storage.metadata.cluster_state import StoredTopic
from ...storage.metadata.metadata_store import MetadataStore
from ...storage.metadata.partition_record import PartitionRecord
from ...storage.metadata.preencoded_changes import PreencodedChanges
from .configuration import Configuration, log_config_of
from .image import Topic
from .internal_topics import internal_topic_overrides
from .partition import Partition
from .topic_loading import load_topics
from .topic_rules import (
    INTERNAL_TOPICS,
    OFFSETS_TOPIC,
    TRANSACTION_TOPIC,
    CollisionRule,
    check_name,
    check_replica_lists,
)

if TYPE_CHECKING:
    from ..core import Core
    from .log_moves import LogMoves

TOLD_AT_ONCE = 250
"""How many deleted topics a callback gets in one call: each takes some 10 µs."""

log = logging.getLogger(__name__)

OnDeleted = Callable[[Sequence[Topic]], asyncio.Task[None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic that passed all checks and does not exist yet; `assignment`: the replicas of each partition, if given."""

    name: str
    partitions: int
    settings: TopicSettings
    replication_factor: int = 1
    assignment: tuple[tuple[int, ...], ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    topic_id: UUID = field(default_factory=uuid4)


class Topics:
    """Changes the topics of one broker.

    Each callback in `on_deleted` is called with the deleted topics; it may return a task that finishes its work later.
    Those in `on_changed` are called with a topic that was created or got partitions, in `on_configured` when dynamic
    settings have changed, in `on_clients` when ACLs or quotas may have changed, in `on_epoch` with a partition in which
    a leader epoch has begun (in a cluster).
    """

    def __init__(self, core: "Core", layers: Layers, moves: "LogMoves", store: MetadataStore | None = None) -> None:
        """`store` is that of a cluster; without one the broker has its own, in its log directories."""
        self.store = store or MetadataStore.open(
            core.log_manager.files,
            core.log_manager.metadata_directories,
            core.clock,
            snapshot_bytes=core.settings.metadata_log_max_record_bytes_between_snapshots,
        )
        self.configuration = Configuration(layers, self.store, core.cluster.node_id)
        self.collisions = CollisionRule()
        self.moves = moves
        self.on_deleted: list[OnDeleted] = [self.moves.cancel_moves_of, core.first_deletion_delay.forget]
        self.on_changed: list[Callable[[Topic], None]] = []
        self.on_configured: list[Callable[[], None]] = []
        self.on_clients: list[Callable[[], None]] = []
        self.on_epoch: list[Callable[[Partition], None]] = []
        self._core = core
        self.cluster = core.cluster
        self._log_manager = core.log_manager
        self._changes = asyncio.Lock()
        self._lines = LogLineLimit(core.clock)
        self._turn = core.turns.begin()
        core.settings = self.configuration.settings
        core.cluster.set_producer_id_source(self.store.next_producer_id)

    def load(self) -> None:
        """Builds the image from what is on the disk. Raises DiskFault."""
        self.moves.remove_unfinished_copies()
        for topic in load_topics(self.store, self._log_manager, self.configuration, self.cluster.node_id):
            self.cluster.add(topic)
            self.collisions.add(topic.name)
        self._log_manager.new_logs.prepare_sync()()
        topics = self.cluster.topics.values()
        present = self._count_partitions()
        if present > self._most_partitions:
            log.warning(
                "%d partitions are here, and stepdown.max.partitions is %d: they are served, and may take more memory "
                "than there is", present, self._most_partitions,
            )  # fmt: skip
        self._core.first_deletion_delay.delay_deletions_of(
            [topic for topic in topics if topic.settings.stepdown_settings_unknown]
        )

    async def stop(self) -> None:
        """Cancels the moves of logs."""
        await self.moves.stop()

    # Creation

    @property
    def known_brokers(self) -> Collection[int]:
        """Ids that may be named in an assignment of replicas."""
        return self.cluster.brokers.keys()

    @property
    def max_replication_factor(self) -> int:
        """How many replicas a partition may have."""
        return max(1, len(self.known_brokers))

    def check_is_free(self, name: str) -> None:
        """Raises ApiError 17 or 36 when no topic of this name may be created."""
        check_name(name)
        self.collisions.ensure_distinct(name)
        if name in self.cluster.topics:
            raise _make_exists_error(name)

    def plan_with_defaults(self, name: str) -> NewTopic:
        """The topic that is created when a client asks for one that is not there. Raises ApiError 17, 36 or 40."""
        self.check_is_free(name)
        settings = self._core.settings
        overrides = internal_topic_overrides(name, settings, self.max_replication_factor)
        partitions, factor = settings.num_partitions, settings.default_replication_factor
        if name == OFFSETS_TOPIC:
            partitions = settings.offsets_topic_num_partitions
            factor = settings.offsets_topic_replication_factor
        elif name == TRANSACTION_TOPIC:
            partitions = settings.transaction_state_log_num_partitions
            factor = settings.transaction_state_log_replication_factor
        return NewTopic(
            name=name,
            partitions=partitions,
            replication_factor=min(factor, self.max_replication_factor),
            settings=self.configuration.topic_settings(overrides),
            overrides=overrides,
        )

    async def create(self, wanted: Iterable[NewTopic]) -> dict[str, ApiError]:
        """Creates topics; returns by name the error of each that could not be created."""
        async with self._changes:
            return await self._create(wanted)

    async def ensure(self, name: str) -> Topic:
        """The topic of this name, created with the broker's defaults if it is missing. Raises ApiError.

        An existing topic is returned at once, even while others are being created.
        """
        if name in self.cluster.topics:
            return self.cluster.topics[name]
        async with self._changes:
            if name not in self.cluster.topics:
                failed = await self._create([self.plan_with_defaults(name)])
                if name in failed:
                    raise failed[name]
                log.info("topic %s is created: a coordinator needs it", name)
            if name not in self.cluster.topics:
                raise ApiError(
                    f"{name} exists, but this broker does not know it yet", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
            return self.cluster.topics[name]

    async def _create(self, wanted: Iterable[NewTopic]) -> dict[str, ApiError]:
        failed: dict[str, ApiError] = {}
        new: dict[str, NewTopic] = {}
        present = self._count_partitions()
        for topic in wanted:
            if topic.name in self.cluster.topics:
                failed[topic.name] = _make_exists_error(topic.name)
            elif topic.name not in INTERNAL_TOPICS and present + topic.partitions > self._most_partitions:
                failed[topic.name] = self._partition_limit_error(present)
            else:
                new[topic.name] = topic
                present += topic.partitions
        if new:
            await self._clean_checkpoints()
            await self._store_and_make(new.values(), failed)
        return failed

    def _count_partitions(self) -> int:
        return sum(len(topic.partitions) for topic in self.cluster.topics.values())

    @property
    def _most_partitions(self) -> int:
        return self._core.settings.stepdown_max_partitions

    def _partition_limit_error(self, present: int) -> ApiError:
        message = f"{present} partitions are there, see stepdown.max.partitions, which is {self._most_partitions}"
        left_out = self._lines.try_to_log(ErrorCode.POLICY_VIOLATION)
        if left_out is not None:
            log.warning("no partition can be created%s: %s", repetition_text(left_out), message)
        return ApiError(message, ErrorCode.POLICY_VIOLATION)

    async def _store_and_make(self, new: Collection[NewTopic], failed: dict[str, ApiError]) -> None:
        """Stores topics and makes their logs; adds to `failed` what could not be created, and why."""
        await self._store_new(new, failed)
        made = []
        for topic, partitions in [(_make_topic(each), each.partitions) for each in new if each.name not in failed]:
            try:
                await self._make_partitions(topic, range(partitions))
                made.append(topic)
            except DiskFault as fault:
                await self._undo_creation(topic, fault, failed)
        try:
            await self._sync_new_logs()
        except DiskFault as fault:
            for topic in made:
                await self._undo_creation(topic, fault, failed)
            return
        for topic in made:
            self.cluster.add(topic)
            self.collisions.add(topic.name)
            self._notify_change(topic)
            await self._turn.next()

    async def _store_new(self, new: Collection[NewTopic], failed: dict[str, ApiError]) -> None:
        record, stored = self._new_partition_record(), dict[str, StoredTopic]()
        for topic in new:
            replicas = (record,) * topic.partitions
            stored[topic.name] = StoredTopic(topic_id=topic.topic_id, replicas=replicas, configs=dict(topic.overrides))
            await self._turn.next()
        try:
            await self._store_topics(stored, await self._preencode_topics(stored))
        except DiskFault as fault:
            drop_traceback(fault)
            failed.update((topic.name, fault) for topic in new)

    async def _preencode_topics(self, topics: Mapping[str, StoredTopic | None]) -> PreencodedChanges:
        """Encodes what `_store_topics` will write of these topics, yielding to the event loop on the way."""
        encoded = PreencodedChanges()
        for _ in self.store.preencode_topics(topics, encoded):
            await self._turn.next()
        return encoded

    async def _store_topics(
        self, topics: Mapping[str, StoredTopic | None], encoded: PreencodedChanges | None = None
    ) -> None:
        """Writes topics to the disk, and removes those that are None. Raises: DiskFault, after undoing that."""
        before = {name: self.store.state.topics.get(name) for name in topics}
        with self.store.change(sync=False, encoded=encoded) as state:
            _apply_changes(state.topics, topics)
        try:
            await self._sync_store()
        except DiskFault:
            # A failure here is logged already; the next start removes, or completes, what is left.
            with suppress(DiskFault), self.store.change() as state:
                _apply_changes(state.topics, before)
            raise

    async def sync_metadata(self) -> None:
        """Syncs all written metadata, and the folders of new partitions; returns when they are on the disk.

        A worker thread does it, in up to a fifth of a second. Raises: DiskFault.
        """
        await self._sync_store()
        await self._sync_new_logs()

    async def _sync_store(self) -> None:
        metadata = self.store.log
        if self.store.is_snapshot_due:
            await self._core.run_in_worker(self.store.prepare_snapshot())
        if metadata.synced_offset < metadata.end_offset:
            try:
                await self._core.run_in_worker(metadata.prepare_sync())
            except DiskFault:
                self.store.note_lost_writes()
                raise

    async def _sync_new_logs(self) -> None:
        for log_manager in self._log_managers():
            if log_manager.new_logs:
                await self._core.run_in_worker(log_manager.new_logs.prepare_sync())

    async def _clean_checkpoints(self) -> None:
        """Removes deleted logs from the checkpoint files; where that fails, no new log of that name can be made."""
        for log_manager in self._log_managers():
            if log_manager.checkpoints.are_stale:
                await self._core.run_in_worker(log_manager.checkpoints.write_without_deleted_logs)

    def _log_managers(self) -> Sequence[LogManager]:
        """The log managers that make the partitions of new topics."""
        return (self._log_manager,)

    async def _undo_creation(self, topic: Topic, fault: DiskFault, failed: dict[str, ApiError]) -> None:
        log.error("topic %s could not be created: %s", topic.name, fault)
        drop_traceback(fault)
        failed[topic.name] = fault
        with suppress(DiskFault):  # logged already; the next start removes what is left
            await self._store_topics({topic.name: None})
            for index in topic.partitions:
                self._log_manager.delete(topic.name, index)

    def _notify_change(self, topic: Topic) -> None:
        for tell in self.on_changed:
            tell(topic)

    async def _make_partitions(self, topic: Topic, indexes: Iterable[int]) -> None:
        config = log_config_of(topic.settings)
        for index in indexes:
            made = self._log_manager.create(topic.name, index, topic.topic_id, config)
            topic.partitions[index] = self._make_partition(topic.name, index, made)
            await self._turn.next()

    def _new_partition_record(self) -> PartitionRecord:
        """The record of a new partition, which this broker leads."""
        node_id, directory_id = self.cluster.node_id, self._log_manager.sole_directory_id
        directories = (directory_id,) if directory_id is not None else ()
        return PartitionRecord(replicas=(node_id,), isr=(node_id,), leader=node_id, directories=directories)

    def _make_partition(self, name: str, index: int, made: Log) -> Partition:
        return Partition(name, index, made, leader_id=self.cluster.node_id)

    # Growth

    async def add_partitions(self, name: str, partitions: int, assignment: Sequence[tuple[int, ...]] = ()) -> None:
        """Adds partitions up to that number, which is more than there are. Raises ApiError 3, 37 or 44, DiskFault.

        `assignment` has the replicas of each new partition, if given.
        """
        async with self._changes:
            topic = self.cluster.topics.get(name)
            if topic is None:
                raise ApiError(f"there is no topic {name}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            present = len(topic.partitions)
            if partitions <= present:
                raise ApiError(f"topic {name} has {present} partitions already", ErrorCode.INVALID_PARTITIONS)
            if (total := self._count_partitions()) + partitions - present > self._most_partitions:
                raise self._partition_limit_error(total)
            await self._clean_checkpoints()
            await self._add_partitions(topic, partitions, assignment)

    async def _add_partitions(self, topic: Topic, partitions: int, assignment: Sequence[tuple[int, ...]]) -> None:
        stored = self.store.state.topics[topic.name]
        replicas = stored.replicas + (self._new_partition_record(),) * (partitions - stored.partitions)
        grown = {topic.name: replace(stored, replicas=replicas)}
        encoded = await self._preencode_topics(grown)
        if (now := self.store.state.topics[topic.name]) is not stored:  # its settings were changed meanwhile
            grown = {topic.name: replace(now, replicas=replicas)}
        await self._store_topics(grown, encoded)
        addition = replace(topic, partitions={})
        await self._make_partitions(addition, range(len(topic.partitions), partitions))
        await self._sync_new_logs()
        topic.partitions.update(addition.partitions)
        self._notify_change(topic)

    # Replicas: alone, a broker leads everything and has nobody to move it to

    def elect(self, name: str, index: int, *, is_unclean: bool) -> None:
        """Holds a preferred or unclean election. Raises ApiError 3, 80, 83 or 84."""
        self.cluster.partition(name, index)
        raise ApiError(f"{name}-{index} has its preferred leader", ErrorCode.ELECTION_NOT_NEEDED)

    def reassign(self, name: str, index: int, replicas: tuple[int, ...] | None) -> None:
        """Moves a partition to these brokers; None cancels a reassignment in progress. Raises ApiError 3, 39 or 85.

        A broker that is alone checks the request and moves nothing.
        """
        self.cluster.partition(name, index)
        if replicas is None:
            raise ApiError(f"{name}-{index} is not being reassigned", ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        check_replica_lists([replicas], self.known_brokers)

    def reassignments(self) -> dict[str, dict[int, PartitionRecord]]:
        """The partitions that are on their way to other brokers, by topic and index."""
        return {}

    # Configuration

    def configure_topic(self, name: str, overrides: Mapping[str, str]) -> None:
        """Replaces a topic's own settings, at once for its open logs; the caller syncs.

        Raises ApiError 3 or 40, DiskFault.
        """
        topic = self.cluster.topics[name]
        settings = self.configuration.topic_settings(overrides)
        if dict(overrides) != topic.overrides:
            self._store_configs(name, overrides)
        topic.overrides = dict(overrides)
        self._apply_settings(topic, settings)

    def _store_configs(self, name: str, overrides: Mapping[str, str]) -> None:
        with self.store.change(sync=False) as state:
            if name not in state.topics:
                raise ApiError(f"topic {name} is being deleted", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            state.topics[name] = replace(state.topics[name], configs=dict(overrides))

    def configure_broker(self, texts: Mapping[str, str], *, of_cluster: bool) -> None:
        """Replaces the dynamic settings of this broker, or of the cluster; the caller syncs.

        Raises ApiError 42, DiskFault.
        """
        self.configuration.replace_broker_settings(texts, of_cluster=of_cluster)
        self._apply_dynamic_settings()

    def _apply_dynamic_settings(self) -> None:
        """Puts changed dynamic settings into force, for all topics."""
        self._core.settings = self.configuration.settings
        for topic in self.cluster.topics.values():
            self._apply_settings(topic, self.configuration.usable_topic_settings(topic.name, topic.overrides))
        for tell in self.on_configured:
            tell()

    def notify_client_change(self) -> None:
        """Puts ACLs and quotas that have changed in the store into force before it returns."""
        for tell in self.on_clients:
            tell()

    def _apply_settings(self, topic: Topic, settings: TopicSettings) -> None:
        topic.settings, topic.append_rules = settings, None
        config = log_config_of(settings)
        for partition in topic.partitions.values():
            if partition.is_here:
                partition.log.reconfigure(config)
                self._core.fetch_purgatory.notify(partition.key)

    # Deletion

    async def delete(self, names: Iterable[str]) -> dict[str, ApiError]:
        """Deletes topics; returns by name the error of each that could not be deleted."""
        async with self._changes:
            return await self._delete([name for name in names if name in self.cluster.topics])

    async def _delete(self, names: Sequence[str]) -> dict[str, ApiError]:
        try:
            gone = dict.fromkeys(names)
            await self._store_topics(gone, await self._preencode_topics(gone))
        except DiskFault as fault:
            return dict.fromkeys(names, fault)
        deleted = [self.cluster.remove(name) for name in names]
        for topic in deleted:
            self.collisions.remove(topic.name)
            await self._delete_logs(topic)
        tasks: list[asyncio.Task[None]] = []
        for at in range(0, len(deleted), TOLD_AT_ONCE):
            tasks += self._notify_deletion(deleted[at : at + TOLD_AT_ONCE])
            await self._turn.next()
        for task in tasks:
            await asyncio.shield(task)
        return {}

    def _notify_deletion(self, gone: Sequence[Topic]) -> list[asyncio.Task[None]]:
        """Calls `on_deleted`; returns the tasks that finish its work."""
        return [task for tell in self.on_deleted if (task := tell(gone)) is not None]

    async def _delete_logs(self, topic: Topic) -> None:
        for partition in topic.partitions.values():
            self._delete_log(partition)
            await self._turn.next()

    def _delete_log(self, partition: Partition) -> None:
        """Removes the log, if there is one here, and wakes those who wait for it."""
        if partition.is_here:
            try:
                self._log_manager.delete(*partition.key)
            except DiskFault as fault:
                log.warning(
                    "%s-%d could not be deleted and will be set aside at the next start: %s", *partition.key, fault
                )
        self._core.wake_waiting_requests(partition)


def _make_topic(new: NewTopic) -> Topic:
    return Topic(
        name=new.name,
        topic_id=new.topic_id,
        settings=new.settings,
        overrides=dict(new.overrides),
        is_internal=new.name in INTERNAL_TOPICS,
    )


def _apply_changes(topics: dict[str, StoredTopic], changes: Mapping[str, StoredTopic | None]) -> None:
    for name, stored in changes.items():
        if stored is None:
            topics.pop(name, None)
        else:
            topics[name] = stored


def _make_exists_error(name: str) -> ApiError:
    return ApiError(f"topic {name!r} exists already", ErrorCode.TOPIC_ALREADY_EXISTS)
