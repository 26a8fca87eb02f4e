"""The controller: it alone changes the replicas, leaders and ISRs of partitions.

    administrators, brokers that come and go, leaders with a new ISR
      -> a changed record (`partition_change.py`) -> the store -> `publish`: every broker updates its image

A change takes effect when it is written. A client gets its answer when the change is on the disk
(`Topics.sync_metadata`); a change without a client, such as an election, is synced within a second.

A broker sees the newest state, not each step to it, as with batches of Kafka's metadata log. A broker whose metadata is
held (`hold_metadata`) keeps its old state. Changes made while the controller publishes are published after that.
Source: Kafka 3.9 `ReplicationControlManager`, `ClusterControlManager`.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Protocol

from ...network.clock import Clock
from ...protocol.errors import ApiError, ErrorCode
from ...storage.metadata.cluster_state import StoredTopic
from ...storage.metadata.metadata_store import MetadataStore
from ...storage.metadata.partition_record import NO_LEADER, PartitionRecord
from ..metadata.image import BrokerNode
from .partition_change import Election, Ids, build_change, with_leader, without
from .placement import UsableBroker, place_replicas
from .reassignment import cancel_reassignment, reassign
from .registrations import Registrations

TopicPartition = tuple[str, int]
Changes = dict[TopicPartition, PartitionRecord]

log = logging.getLogger(__name__)


class Member(Protocol):
    """A running broker as the controller knows it."""

    def update_image(self, names: Iterable[str]) -> None:
        """Updates the broker's image of these topics, and of the living brokers."""
        ...


class Controller:
    """The one controller of a cluster.

    `is_unclean_election_enabled` returns `unclean.leader.election.enable` of a topic.
    """

    def __init__(
        self,
        store: MetadataStore,
        clock: Clock,
        *,
        session_timeout_ms: int,
        is_unclean_election_enabled: Callable[[StoredTopic], bool],
        seed: int = 0,
    ) -> None:
        self.store = store
        self.brokers = Registrations(clock, self.fence)
        self._session_timeout_ms = session_timeout_ms
        self._is_unclean_election_enabled = is_unclean_election_enabled
        self._lots = Random(seed)
        self._members: dict[int, Member] = {}
        self._held: dict[int, set[str]] = {}
        self._unpublished: dict[str, None] | None = None
        self._holds_elections = False
        self.on_change: Callable[[str], object] = lambda line: None
        """Called with a log line when brokers are fenced, or leaders or ISRs change."""

    # What is known

    @property
    def topics(self) -> Mapping[str, StoredTopic]:
        return self.store.state.topics

    def partition_record(self, name: str, index: int) -> PartitionRecord:
        """The partition's record. Raises ApiError UNKNOWN_TOPIC_OR_PARTITION."""
        topic = self.topics.get(name)
        if topic is None or not 0 <= index < len(topic.replicas):
            raise ApiError(f"there is no partition {name}-{index}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic.replicas[index]

    def partition_records(self) -> Iterable[tuple[TopicPartition, PartitionRecord]]:
        """The records of all partitions."""
        for name, topic in self.topics.items():
            for index, record in enumerate(topic.replicas):
                yield (name, index), record

    # Brokers

    def clear_leaders_at_start(self) -> None:
        """Removes all leaders before brokers start: a partition gets one when a broker of its ISR is unfenced."""
        self._commit(
            {key: with_leader(each, NO_LEADER) for key, each in self.partition_records() if each.leader != NO_LEADER}
        )

    def unfence(self, node: BrokerNode, member: Member) -> None:
        """Makes a broker active, which is up to date and listens: it may lead partitions and be in ISRs."""
        self._members[node.node_id] = member
        self.brokers.unfence(node)
        self._elect_leaderless()
        self.publish(self.topics)

    def begin_controlled_shutdown(self, node_id: int) -> None:
        """Moves leaderships away from a broker before it stops, and removes it from each ISR with other replicas."""
        self.brokers.begin_controlled_shutdown(node_id)
        self._remove_from_isrs(node_id)

    def complete_controlled_shutdown(self, node_id: int) -> None:
        """Fences a broker that has stopped after `begin_controlled_shutdown`."""
        self._members.pop(node_id, None)
        self._held.pop(node_id, None)
        self.fence(node_id)

    def begin_session_expiry(self, node_id: int) -> None:
        """Fences the broker when its session times out, since it sends no heartbeats any more."""
        self.brokers.begin_expiry(node_id, self._session_timeout_ms)

    def resume_session(self, node_id: int) -> None:
        """Keeps the broker's session, and unfences it if it is fenced: it sends heartbeats again."""
        self.brokers.cancel_expiry(node_id)
        node = next(each.node for each in self.brokers if each.node_id == node_id)
        if node is not None and not self.brokers.is_active(node_id):
            self.unfence(node, self._members[node_id])

    def forget_member(self, node_id: int) -> None:
        """Sends no more changes to a broker that was killed."""
        self._members.pop(node_id, None)
        self._held.pop(node_id, None)

    def fence(self, node_id: int) -> None:
        """Counts the broker as dead: it loses its leaderships, and leaves each ISR with other replicas."""
        log.info("broker %d is fenced", node_id)
        self.on_change(f"broker {node_id} is fenced")
        self.brokers.fence(node_id)
        self._remove_from_isrs(node_id)
        self.publish(self.topics)

    def _remove_from_isrs(self, node_id: int) -> None:
        changes: Changes = {}
        for key, before in self.partition_records():
            if node_id in before.isr or before.leader == node_id:
                after = build_change(
                    before,
                    self._leader_rule(before),
                    isr=without(before.isr, (node_id,)),
                    election=self._choose_election(key[0]),
                )
                if after is not None:
                    changes[key] = after
        self._commit(changes)

    def _elect_leaderless(self) -> None:
        changes: Changes = {}
        for key, before in self.partition_records():
            if before.leader == NO_LEADER:
                after = build_change(before, self._leader_rule(before), election=self._choose_election(key[0]))
                if after is not None:
                    changes[key] = after
        self._commit(changes)

    def _leader_rule(self, record: PartitionRecord) -> Callable[[int], bool]:
        if self._holds_elections:
            return lambda node_id: node_id == record.leader and self.brokers.is_active(node_id)
        return self.brokers.is_active

    def _choose_election(self, name: str) -> Election:
        return Election.UNCLEAN if self._is_unclean_election_enabled(self.topics[name]) else Election.ONLINE

    # Topics

    def place_replicas(self, partitions: int, factor: int) -> list[Ids]:
        """Replicas for new partitions. Raises ApiError INVALID_REPLICATION_FACTOR."""
        usable = [
            UsableBroker(node_id=each.node_id, rack=each.rack, is_fenced=each.is_fenced)
            for each in self.brokers
            if not each.is_stopping and each.node is not None
        ]
        return place_replicas(partitions, factor, usable, self._lots)

    def make_partition_records(self, assignment: Iterable[Ids]) -> tuple[PartitionRecord, ...]:
        """The records of new partitions with these replicas. Raises ApiError 39 where none of them lives."""
        return tuple(map(self._make_partition_record, assignment))

    def _make_partition_record(self, replicas: Ids) -> PartitionRecord:
        isr = tuple(filter(self.brokers.is_active, replicas))
        if not isr:
            message = f"replica assignment: none of the brokers {list(replicas)} is running"
            raise ApiError(message, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        return PartitionRecord(replicas=replicas, isr=isr, leader=isr[0])

    def put_topics(self, topics: Mapping[str, StoredTopic]) -> None:
        """Stores new or changed topics, and publishes them. Raises DiskFault."""
        with self.store.change(sync=False) as state:
            state.topics.update(topics)
        self.publish(topics)
        if any(self._is_unclean_election_enabled(topic) for topic in topics.values()):
            self._elect_leaderless()

    def delete_topics(self, names: Iterable[str]) -> None:
        """Deletes topics from the store, and publishes that. Raises DiskFault."""
        gone = tuple(names)
        with self.store.change(sync=False) as state:
            for name in gone:
                del state.topics[name]
        self.publish(gone)

    # Partitions

    def alter_isr(
        self, node_id: int, key: TopicPartition, isr: Ids, leader_epoch: int, partition_epoch: int
    ) -> PartitionRecord | None:
        """The new state of the partition; None if the change is refused (former leader, fenced broker)."""
        topic = self.topics.get(key[0])
        if topic is None or key[1] >= len(topic.replicas):
            return None
        before = topic.replicas[key[1]]
        is_present = (before.leader, before.leader_epoch, before.partition_epoch) == (
            node_id,
            leader_epoch,
            partition_epoch,
        )
        if not is_present or not isr or not all(map(self.brokers.is_active, isr)):
            return None
        after = build_change(before, self._leader_rule(before), isr=isr, election=self._choose_election(key[0]))
        if after is not None:
            log.info("the ISR of %s-%d is %s now", *key, list(after.isr))
            self._commit({key: after})
        return after

    def elect(self, name: str, index: int, election: Election) -> None:
        """Holds a preferred or unclean election. Raises ApiError 3, 80, 83 or 84."""
        before = self.partition_record(name, index)
        is_unclean = election is Election.UNCLEAN
        if before.leader != NO_LEADER if is_unclean else before.leader == before.replicas[0]:
            raise ApiError(f"{name}-{index} has such a leader", ErrorCode.ELECTION_NOT_NEEDED)
        after = build_change(before, self.brokers.is_active, election=election)
        if after is None:
            raise ApiError(
                f"no replica of {name}-{index} can be elected, they are {list(before.replicas)}",
                ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE if is_unclean else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            )
        self._commit({(name, index): after})

    def elect_preferred_leaders(self) -> None:
        """Gives partitions back to their preferred leaders where these are in sync (`auto.leader.rebalance.enable`)."""
        changes: Changes = {}
        for key, before in self.partition_records():
            after = build_change(before, self._leader_rule(before), election=Election.PREFERRED)
            if before.leader != NO_LEADER and after is not None:
                changes[key] = after
        self._commit(changes)

    def reassign(self, name: str, index: int, target: Ids | None) -> None:
        """Moves a partition to other brokers; None cancels a reassignment in progress. Raises ApiError 3, 39 or 85."""
        before = self.partition_record(name, index)
        if target is not None:
            after = reassign(before, target, self.brokers.is_active)
        elif not before.is_being_reassigned:
            raise ApiError(f"{name}-{index} is not being reassigned", ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        else:
            is_enabled = self._is_unclean_election_enabled(self.topics[name])
            after = cancel_reassignment(before, self.brokers.is_active, may_be_unclean=is_enabled)
            if after is None:
                message = f"{name}-{index} cannot go back without an unclean leader election"
                raise ApiError(message, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        if after is not None:
            self._commit({(name, index): after})

    # By hand, for tests

    def move_leader(self, name: str, index: int, node_id: int) -> None:
        """Makes a living in-sync replica the leader; the present one gets a new epoch. Raises ApiError 3 or 83."""
        before = self.partition_record(name, index)
        if node_id not in before.isr or not self.brokers.is_active(node_id):
            message = f"broker {node_id} is not a living in-sync replica of {name}-{index}, those are {before.isr}"
            raise ApiError(message, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        self._commit({(name, index): with_leader(before, node_id)})

    def remove_leader(self, name: str, index: int) -> None:
        """Leaves a partition without a leader until one is moved or elected there. Raises ApiError 3."""
        self._commit({(name, index): with_leader(self.partition_record(name, index), NO_LEADER)})

    def put_isr(self, name: str, index: int, isr: Ids) -> None:
        """Sets the ISR, which keeps the leader and the order of the replicas. Raises ApiError 3 or 42."""
        before = self.partition_record(name, index)
        wanted = tuple(each for each in before.replicas if each in isr)
        if before.leader not in wanted or len(wanted) != len(set(isr)):
            message = f"an ISR of {name}-{index} holds its leader {before.leader} and replicas of {before.replicas}"
            raise ApiError(f"{message}, found {isr}", ErrorCode.INVALID_REQUEST)
        after = build_change(before, self._leader_rule(before), isr=wanted)
        if after is not None:
            self._commit({(name, index): after})

    def hold_elections(self) -> None:
        """Partitions that lose their leader stay without one."""
        self._holds_elections = True

    def release_elections(self) -> None:
        self._holds_elections = False
        self._elect_leaderless()

    def hold_metadata(self, node_id: int) -> None:
        """Sends no changes to the broker until `release_metadata`."""
        self._held.setdefault(node_id, set())

    def release_metadata(self, node_id: int) -> None:
        missed = self._held.pop(node_id, set())
        member = self._members.get(node_id)
        if member is not None:
            member.update_image(missed)

    # Publishing

    def _commit(self, changes: Changes) -> None:
        if not changes:
            return
        touched: dict[str, dict[int, PartitionRecord]] = {}
        for (name, index), record in changes.items():
            touched.setdefault(name, {})[index] = record
        self.on_change(", ".join(f"{name}-{index} {_describe(record)}" for (name, index), record in changes.items()))
        with self.store.change(sync=False) as state:
            for name, records in touched.items():
                topic = state.topics[name]
                merged = tuple(records.get(index, record) for index, record in enumerate(topic.replicas))
                state.topics[name] = replace(topic, replicas=merged)
        self.publish(touched)

    def publish(self, names: Iterable[str]) -> None:
        """Makes the brokers update their images, one after the other."""
        if self._unpublished is not None:
            self._unpublished.update(dict.fromkeys(names))
            return
        self._unpublished = dict.fromkeys(names)
        try:
            while True:
                now, self._unpublished = self._unpublished, {}
                self._update_members(tuple(now))
                if not self._unpublished:
                    return
        finally:
            self._unpublished = None

    def _update_members(self, names: Sequence[str]) -> None:
        for node_id, member in sorted(self._members.items()):
            held = self._held.get(node_id)
            if held is not None:
                held.update(names)
            elif self._members.get(node_id) is member:
                member.update_image(names)


def _describe(record: PartitionRecord) -> str:
    leader = "has no leader" if record.leader == NO_LEADER else f"is led by {record.leader}"
    return f"{leader} in epoch {record.leader_epoch}, ISR {list(record.isr)}"
