"""The topics of a broker in a cluster: changes go to the controller, whose decisions come back.

create, grow, configure, delete -> the controller -> `update_image` of every broker: topics, replicas and their roles
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...config import Layers
from ...network.worker_threads import drop_traceback
from ...protocol.errors import ApiError, DiskFault, ErrorCode
from ...storage.directories.log_manager import LogManager
from ...storage.files.partition_metadata import write_topic_id
from ...storage.metadata.cluster_state import StoredTopic
from ...storage.metadata.partition_record import PartitionRecord
from ..controller.controller import Controller
from ..controller.partition_change import Election
from ..metadata.absent_partition import AbsentPartition
from ..metadata.configuration import log_config_of
from ..metadata.image import Topic
from ..metadata.partition import Partition
from ..metadata.topic_loading import last_producer_id
from ..metadata.topic_rules import INTERNAL_TOPICS, check_replica_lists
from ..metadata.topics import NewTopic, Topics
from .replicas import Replicas
from .replicated_partition import ReplicatedPartition

if TYPE_CHECKING:
    from ..core import Core
    from ..metadata.log_moves import LogMoves

log = logging.getLogger(__name__)


class ReplicatedTopics(Topics):
    """Keeps one broker's image, logs and roles in line with the controller's decisions."""

    def __init__(
        self,
        core: "Core",
        layers: Layers,
        moves: "LogMoves",
        *,
        controller: Controller,
        peers: Mapping[int, Replicas],
    ) -> None:
        super().__init__(core, layers, moves, controller.store)
        self.controller = controller
        self.replicas = Replicas(core, controller, peers)
        self._checkpointed: Mapping[tuple[str, int], int] = {}

    @property
    def known_brokers(self) -> Collection[int]:
        return [each.node_id for each in self.controller.brokers]

    def load(self) -> None:
        """As for a single broker. Folders of deleted topics and of partitions that moved away are set aside."""
        self.moves.remove_unfinished_copies()
        self._log_manager.accept_new_directories()
        self._checkpointed = self._log_manager.checkpoints.high_watermarks()
        self._log_manager.resolve_duplicates(
            {name: stored.topic_id for name, stored in self.store.state.topics.items()}
        )
        for (name, index), opened in tuple(self._log_manager.logs.items()):
            stored = self.controller.topics.get(name)
            if stored is not None and opened.topic_id is None:  # it was being made when the broker ended
                write_topic_id(opened.files, opened.directory, stored.topic_id)
                opened.topic_id = stored.topic_id
            if stored is not None and stored.topic_id == opened.topic_id:
                is_wanted = index < len(stored.replicas) and self._is_here(stored.replicas[index])
            else:
                is_wanted = False
            if not is_wanted:
                self._log_manager.set_aside_as_stray(opened)
        self.store.skip_producer_ids_below(1 + max(map(last_producer_id, self._log_manager.logs.values()), default=-1))
        self.store.save()
        self.update_image(self.controller.topics)
        self._log_manager.new_logs.prepare_sync()()

    async def stop(self) -> None:
        await self.replicas.stop()
        await super().stop()

    # What the controller is asked

    async def _store_and_make(self, new: Collection[NewTopic], failed: dict[str, ApiError]) -> None:
        planned: dict[str, StoredTopic] = {}
        for topic in new:
            try:
                planned[topic.name] = self._plan_topic(topic)
            except ApiError as error:
                drop_traceback(error)
                failed[topic.name] = error
        await self._put_topics(planned, failed)

    def _plan_topic(self, new: NewTopic) -> StoredTopic:
        if new.name in self.controller.topics:
            raise ApiError(f"topic {new.name!r} exists already", ErrorCode.TOPIC_ALREADY_EXISTS)
        assignment = new.assignment or self.controller.place_replicas(new.partitions, new.replication_factor)
        records = self.controller.make_partition_records(assignment)
        return StoredTopic(topic_id=new.topic_id, configs=dict(new.overrides), replicas=records)

    async def _put_topics(self, planned: Mapping[str, StoredTopic], failed: dict[str, ApiError]) -> None:
        try:
            self.controller.put_topics(planned)
            await self.sync_metadata()
        except DiskFault as fault:
            failed.update((name, fault) for name in planned)

    async def _add_partitions(self, topic: Topic, partitions: int, assignment: Sequence[tuple[int, ...]]) -> None:
        stored = self.controller.topics[topic.name]
        added = partitions - len(stored.replicas)
        lists = assignment or self.controller.place_replicas(added, len(stored.replicas[0].replicas))
        records = stored.replicas + self.controller.make_partition_records(lists)
        self.controller.put_topics({topic.name: replace(stored, replicas=records)})
        await self.sync_metadata()

    def _log_managers(self) -> Sequence[LogManager]:
        return self.replicas.log_managers

    def elect(self, name: str, index: int, *, is_unclean: bool) -> None:
        self.controller.elect(name, index, Election.UNCLEAN if is_unclean else Election.PREFERRED)

    def reassign(self, name: str, index: int, replicas: tuple[int, ...] | None) -> None:
        self.controller.partition_record(name, index)
        if replicas is not None:
            check_replica_lists([replicas], self.known_brokers)
        self.controller.reassign(name, index, replicas)

    def reassignments(self) -> dict[str, dict[int, PartitionRecord]]:
        found: dict[str, dict[int, PartitionRecord]] = {}
        for (name, index), record in self.controller.partition_records():
            if record.is_being_reassigned:
                found.setdefault(name, {})[index] = record
        return found

    def _store_configs(self, name: str, overrides: Mapping[str, str]) -> None:
        self.controller.put_topics({name: replace(self.controller.topics[name], configs=dict(overrides))})

    def configure_broker(self, texts: Mapping[str, str], *, of_cluster: bool) -> None:
        super().configure_broker(texts, of_cluster=of_cluster)
        self.controller.publish(())

    def notify_client_change(self) -> None:
        self.controller.publish(())

    async def _delete(self, names: Sequence[str]) -> dict[str, ApiError]:
        try:
            self.controller.delete_topics([name for name in names if name in self.controller.topics])
            await self.sync_metadata()
        except DiskFault as fault:
            return dict.fromkeys(names, fault)
        return {}

    # What the controller has decided

    def update_image(self, names: Iterable[str]) -> None:
        """Updates the image: these topics, the living brokers, and dynamic settings."""
        self.cluster.brokers = self.controller.brokers.living_nodes()
        if self.configuration.reload_stored_values():
            self._apply_dynamic_settings()
        super().notify_client_change()
        for name in tuple(names):
            self._update_topic(name)

    def _update_topic(self, name: str) -> None:
        stored, present = self.controller.topics.get(name), self.cluster.topics.get(name)
        if present is not None and (stored is None or stored.topic_id != present.topic_id):
            self._drop_topic(present)
            present = None
        if stored is None:
            return
        topic = present or self._add_topic(name, stored)
        if dict(stored.configs) != topic.overrides:
            topic.overrides = dict(stored.configs)
            self._apply_settings(topic, self.configuration.usable_topic_settings(name, topic.overrides))
        is_news = len(stored.replicas) > len(topic.partitions)
        for index, record in enumerate(stored.replicas):
            self._update_partition(topic, index, record)
        if is_news:
            self._notify_change(topic)

    def _add_topic(self, name: str, stored: StoredTopic) -> Topic:
        topic = Topic(
            name=name,
            topic_id=stored.topic_id,
            settings=self.configuration.usable_topic_settings(name, stored.configs),
            overrides=dict(stored.configs),
            is_internal=name in INTERNAL_TOPICS,
        )
        self.cluster.add(topic)
        self.collisions.add(name)
        return topic

    def _drop_topic(self, topic: Topic) -> None:
        self.cluster.remove(topic.name)
        self.collisions.remove(topic.name)
        for partition in topic.partitions.values():
            self._drop_replica(partition)
        self._notify_deletion([topic])

    def _drop_replica(self, partition: Partition) -> None:
        if isinstance(partition, ReplicatedPartition):
            self.replicas.stop_following(partition)
            self._delete_log(partition)

    def _update_partition(self, topic: Topic, index: int, record: PartitionRecord) -> None:
        present = topic.partitions.get(index)
        begins = False
        if isinstance(present, ReplicatedPartition):
            begins = present.apply(record)
            if not self._is_here(record):
                self._drop_replica(present)
                topic.partitions[index] = AbsentPartition(topic.name, index, record)
        elif self._is_here(record):
            topic.partitions[index] = opened = self._open_replica(topic, index, record)
            begins = isinstance(opened, ReplicatedPartition) and opened.apply(record)
        elif isinstance(present, AbsentPartition):
            present.apply(record)
        else:
            topic.partitions[index] = AbsentPartition(topic.name, index, record)
        if begins:
            self._begin_leader_epoch(topic.partitions[index])

    def _begin_leader_epoch(self, partition: Partition) -> None:
        """Makes the replica follow or lead, and calls `on_epoch`."""
        if isinstance(partition, ReplicatedPartition):
            self.replicas.follow_or_lead(partition)
        for tell in self.on_epoch:
            tell(partition)

    def _open_replica(self, topic: Topic, index: int, record: PartitionRecord) -> Partition:
        """Opens the replica here; returns an absent partition where its log cannot be made."""
        config = log_config_of(topic.settings)
        try:
            found = self._log_manager.logs.get((topic.name, index))
            if found is None:
                found = self._log_manager.create(topic.name, index, topic.topic_id, config)
        except ApiError as fault:
            log.error("%s-%d cannot be opened: %s", topic.name, index, fault)
            return AbsentPartition(topic.name, index, record, code=ErrorCode.KAFKA_STORAGE_ERROR)
        found.reconfigure(config)
        mark = self._checkpointed.get((topic.name, index), 0)
        return ReplicatedPartition(topic, index, found, self.replicas, high_watermark=mark)

    def _is_here(self, record: PartitionRecord) -> bool:
        return self.cluster.node_id in record.replicas
