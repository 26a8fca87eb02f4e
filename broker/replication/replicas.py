"""All replicas of one broker: follows leaders, wakes followers, and shrinks the ISRs of lagging followers.

The brokers of a cluster find each other by id in `peers`; a killed or paused broker is out of reach.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ...storage.directories.log_manager import LogManager
from ..controller.controller import Controller
from ..scheduling.periodic_task import Periodic
from .fetcher import Fetcher
from .replicated_partition import ReplicatedPartition, WrittenBatch

if TYPE_CHECKING:
    from ..core import Core

CHECKS_A_LAG = 2


class Replicas:
    """The replicas of one broker. `is_reachable`: whether other brokers can reach it."""

    def __init__(self, core: "Core", controller: Controller, peers: "Mapping[int, Replicas]") -> None:
        self._core = core
        self._controller = controller
        self._peers = peers
        self.is_reachable = True
        self.fetcher = Fetcher(self.node_id, core.clock, self._leader_of, core.settings.replica_fetch_max_bytes)
        self._shrinking: Periodic | None = None

    # What replicas ask of their broker

    @property
    def node_id(self) -> int:
        return self._core.cluster.node_id

    @property
    def log_managers(self) -> list[LogManager]:
        """The log managers of all brokers that run."""
        return [peer._core.log_manager for peer in self._peers.values()]

    @property
    def lag_time_max_ms(self) -> int:
        return self._core.settings.replica_lag_time_max_ms

    def now_ms(self) -> int:
        return self._core.clock.now_ms()

    def is_eligible(self, node_id: int) -> bool:
        return self._controller.brokers.is_active(node_id)

    def alter_isr(self, partition: ReplicatedPartition, isr: tuple[int, ...]) -> None:
        if self.is_reachable:
            epochs = partition.leader_epoch, partition.partition_epoch
            record = self._controller.alter_isr(self.node_id, partition.key, isr, *epochs)
            if record is not None and record.leader_epoch == partition.leader_epoch:
                partition.apply(record)  # the leader gets this answer even while it gets no other change

    def notify_follower(self, follower: int, partition: ReplicatedPartition) -> None:
        peer = self._peers.get(follower)
        if peer is not None and self.is_reachable:
            peer.fetcher.fetch_soon(partition.key)

    def answer_parked_fetch(self, follower: int, partition: ReplicatedPartition, written: WrittenBatch | None) -> None:
        peer = self._peers.get(follower)
        if peer is not None and self.is_reachable:
            peer.fetcher.take_parked_answer(partition.key, written)

    def wake_waiting_requests(self, partition: ReplicatedPartition) -> None:
        self._core.wake_waiting_requests(partition)

    # What the broker asks of its replicas

    def start(self) -> None:
        """Starts the periodic look for lagging followers."""
        interval_ms = max(1, self.lag_time_max_ms // CHECKS_A_LAG)
        self._shrinking = Periodic("ISR", self._core.clock, self.shrink_isrs, interval_ms)

    async def stop(self) -> None:
        """Stops fetching, and answering followers."""
        self.is_reachable = False
        self.fetcher.stop()
        if self._shrinking is not None:
            await self._shrinking.stop()

    def follow_or_lead(self, partition: ReplicatedPartition) -> None:
        """Begins a new leader epoch: fetches from the leader, or wakes the followers if this broker leads."""
        if partition.is_leader:
            self.fetcher.unfollow(partition.key)
            self._wake_followers(partition)
        else:
            self.fetcher.follow(partition)

    def stop_following(self, partition: ReplicatedPartition) -> None:
        """Stops fetching a partition that this broker no longer has a replica of."""
        self.fetcher.unfollow(partition.key)

    def pause(self) -> None:
        """Stops fetching, and answering others, until `resume`."""
        self.fetcher.pause()
        self.is_reachable = False

    def resume(self) -> None:
        self.is_reachable = True
        for partition in self._led_partitions():
            self._wake_followers(partition)
        self.fetcher.resume()

    async def shrink_isrs(self) -> None:
        """Removes followers from each ISR that lag for longer than `replica.lag.time.max.ms`."""
        if self.is_reachable:
            turn = self._core.turns.begin()
            for partition in self._led_partitions():
                with self._core.rounds.catch_item_fault("ISR", partition.log.name):
                    partition.shrink_isr()
                await turn.next()

    def find(self, key: tuple[str, int]) -> ReplicatedPartition | None:
        """This broker's replica, if there is one."""
        topic = self._core.cluster.topics.get(key[0])
        found = None if topic is None else topic.partitions.get(key[1])
        return found if isinstance(found, ReplicatedPartition) else None

    def _led_partitions(self) -> Iterator[ReplicatedPartition]:
        """Yields the partitions that this broker leads; partitions may come and go meanwhile."""
        here = self._core.cluster.each_local_partition()
        return (each for each in here if isinstance(each, ReplicatedPartition) and each.is_leader)

    def _wake_followers(self, partition: ReplicatedPartition) -> None:
        for node_id in partition.followers:
            self.notify_follower(node_id, partition)

    def _leader_of(self, partition: ReplicatedPartition) -> ReplicatedPartition | None:
        peer = self._peers.get(partition.leader_id)
        return peer.find(partition.key) if peer is not None and peer.is_reachable else None
