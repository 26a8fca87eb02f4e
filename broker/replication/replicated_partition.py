"""A replica: the partition at one broker of a cluster, which leads or follows.

| event | leader | follower |
|---|---|---|
| a new record of the controller | an epoch begins at the log's end; followers start again | follows the new leader |
| an append | the high watermark may move; waiting followers fetch | |
| a follower's fetch | notes its offset; it may join the ISR; the high watermark may move | |
| an answer to its fetch | | truncates, or appends and takes over the high watermark |
| half of replica.lag.time.max.ms | followers that have lagged for longer than that setting leave the ISR | |

The high watermark is the smallest log end of the ISR, and of caught-up followers that may join it. It does not move
while the ISR is smaller than min.insync.replicas (KAFKA-15583). A leader never lowers it; a follower that truncates
may. Source: Kafka 3.9 `Partition`.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.plural import plural
from ...storage.log.log import AppendInfo, Log
from ...storage.metadata.partition_record import PartitionRecord
from ...storage.validation.prepared_append import PreparedAppend
from ..metadata.image import Topic
from ..metadata.partition import Partition
from .follower_progress import Follower

NOT_LEADING = -1


class WrittenBatch(NamedTuple):
    """A batch that a leader has just appended in this epoch, and its first offset."""

    leader: "ReplicatedPartition"
    leader_epoch: int
    prepared: PreparedAppend
    first_offset: int


class ReplicaHost(Protocol):
    """The broker around a replica."""

    @property
    def node_id(self) -> int: ...

    @property
    def lag_time_max_ms(self) -> int: ...

    def now_ms(self) -> int: ...

    def is_eligible(self, node_id: int) -> bool:
        """Whether that broker may be in an ISR."""
        ...

    def alter_isr(self, partition: "ReplicatedPartition", isr: tuple[int, ...]) -> None:
        """Asks the controller for that ISR, and applies the answer before it returns; the change may be refused."""
        ...

    def notify_follower(self, follower: int, partition: "ReplicatedPartition") -> None:
        """Makes that broker fetch the partition from here, in a later turn of the loop."""
        ...

    def answer_parked_fetch(
        self, follower: int, partition: "ReplicatedPartition", written: WrittenBatch | None
    ) -> None:
        """Answers the fetch that this follower has parked here; `written` is the new batch, if that is the cause.

        The follower has fetched again when this returns, unless it is paused or slowed.
        """
        ...

    def wake_waiting_requests(self, partition: "ReplicatedPartition") -> None:
        """Notifies waiting clients that the high watermark or the leader has changed."""
        ...


class ReplicatedPartition(Partition):
    """One replica of a partition. Only the leader has `followers`."""

    __slots__ = ("_high_watermark", "_host", "_topic", "epoch_start", "followers", "partition_epoch")

    def __init__(self, topic: Topic, index: int, log: Log, host: ReplicaHost, *, high_watermark: int) -> None:
        super().__init__(topic.name, index, log, leader_id=NOT_LEADING, leader_epoch=-1)
        self._topic = topic
        self._host = host
        self._high_watermark = max(log.log_start_offset, min(high_watermark, log.log_end_offset))
        self.partition_epoch = -1
        self.epoch_start = -1
        self.followers: dict[int, Follower] = {}

    def __repr__(self) -> str:
        return f"ReplicatedPartition({self.topic_name}-{self.index} of broker {self._host.node_id})"

    # What clients ask

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self._host.node_id

    @property
    def high_watermark(self) -> int:
        return self._high_watermark

    def check_knows_high_watermark(self) -> None:
        """A new leader does not know the high watermark until that reaches the start of its epoch (KIP-207).

        Raises ApiError OFFSET_NOT_AVAILABLE.
        """
        if self.is_leader and self._high_watermark < self.epoch_start:
            raise ApiError(
                f"{self.topic_name}-{self.index}: the high watermark of epoch {self.leader_epoch} is not known yet",
                ErrorCode.OFFSET_NOT_AVAILABLE,
            )

    @property
    def min_in_sync(self) -> int:
        return min(self._topic.settings.min_insync_replicas, len(self.replicas))

    def check_enough_in_sync(self) -> None:
        if len(self.isr) < self.min_in_sync:
            place = f"{self.topic_name}-{self.index}"
            message = f"{place} has {plural(len(self.isr), 'replica')} in sync, {self.min_in_sync} are asked for"
            raise ApiError(message, ErrorCode.NOT_ENOUGH_REPLICAS)

    def find_preferred_read_replica(self, rack: str, fetch_offset: int, racks: Mapping[int, str | None]) -> int | None:
        """The in-sync follower to read from: in that rack, with that offset, and with the largest end offset, then the
        least lag.

        None, for the leader, if it is in that rack or no such follower is (Kafka: `RackAwareReplicaSelector`).
        """
        if not self.is_leader or racks.get(self._host.node_id) == rack:
            return None
        now_ms = self._host.now_ms()
        near = [
            each
            for each in self.followers.values()
            if each.node_id in self.isr
            and racks.get(each.node_id) == rack
            and each.log_start_offset <= fetch_offset <= each.end_offset
        ]
        if not near:
            return None
        return max(near, key=lambda each: (each.end_offset, -each.lag_ms(now_ms), each.node_id)).node_id

    # What the controller decides

    def apply(self, record: PartitionRecord) -> bool:
        """Applies a record of the controller; returns whether a new leader epoch has begun. Raises DiskFault."""
        if record.partition_epoch <= self.partition_epoch:
            return False
        begins, led_before = record.leader_epoch > self.leader_epoch, self.is_leader
        self.partition_epoch = record.partition_epoch
        self.leader_id, self.leader_epoch = record.leader, record.leader_epoch
        self.replicas, self.isr = record.replicas, record.isr
        if self.is_leader:
            self._begin_to_lead(is_new=not led_before, begins=begins)
        else:
            self.followers = {}
            self.epoch_start = NOT_LEADING
        if begins:
            self._host.wake_waiting_requests(self)
        return begins

    def _begin_to_lead(self, *, is_new: bool, begins: bool) -> None:
        now_ms, end = self._host.now_ms(), self.log.log_end_offset
        known = self.followers
        self.followers = {
            node_id: known.get(node_id) or Follower(node_id)
            for node_id in self.replicas
            if node_id != self._host.node_id
        }
        if begins:
            self.epoch_start = end
            self.log.begin_epoch(self.leader_epoch)
            for follower in self.followers.values():
                is_in_sync = follower.node_id in self.isr
                follower.begin_epoch(end, now_ms, is_in_sync=is_in_sync, is_new_leader=is_new)
        self._raise_high_watermark()

    # What a leader does

    def append(self, prepared: PreparedAppend) -> AppendInfo:
        if not self.is_leader:  # the leadership may have moved while the records were being prepared
            place = f"{self.topic_name}-{self.index}"
            raise ApiError(f"{place} is led by broker {self.leader_id}", ErrorCode.NOT_LEADER_OR_FOLLOWER)
        info = super().append(prepared)
        if info.last_offset >= 0 and not info.duplicate:
            self._answer_parked_fetches(WrittenBatch(self, self.leader_epoch, prepared, info.first_offset))
            if self.is_leader:  # a follower's fetch may have ended the leadership
                self._raise_high_watermark()
        return info

    def wake_followers(self) -> None:
        self._answer_parked_fetches(None)

    def _answer_parked_fetches(self, written: WrittenBatch | None) -> None:
        now_ms = self._host.now_ms()
        for follower in self.followers.values():
            if follower.is_waiting:
                follower.stop_waiting(now_ms)
                self._host.answer_parked_fetch(follower.node_id, self, written)

    def note_fetch(self, follower: Follower, fetch_offset: int, log_start_offset: int) -> None:
        """Notes a follower's fetch offset, which may expand the ISR and raise the high watermark."""
        before = follower.end_offset
        follower.note_fetch(fetch_offset, log_start_offset, self.log.log_end_offset, self._host.now_ms())
        self._expand_isr(follower)
        if follower.end_offset != before and self.is_leader:
            self._raise_high_watermark()

    def _expand_isr(self, follower: Follower) -> None:
        if follower.node_id in self.isr or not self._host.is_eligible(follower.node_id):
            return
        if follower.end_offset >= max(self._high_watermark, self.epoch_start):
            self._host.alter_isr(self, (*self.isr, follower.node_id))

    def shrink_isr(self) -> None:
        """Removes replicas from the ISR that lag for too long."""
        if not self.is_leader:
            return
        now_ms, end = self._host.now_ms(), self.log.log_end_offset
        stay = tuple(
            node_id for node_id in self.isr if node_id == self._host.node_id or self._is_caught_up(node_id, end, now_ms)
        )
        if stay != self.isr:
            self._host.alter_isr(self, stay)

    def _is_caught_up(self, node_id: int, end: int, now_ms: int) -> bool:
        follower = self.followers.get(node_id)
        return follower is not None and follower.is_caught_up(end, now_ms, self._host.lag_time_max_ms)

    def _raise_high_watermark(self) -> None:
        if len(self.isr) < self.min_in_sync:
            return
        now_ms = self._host.now_ms()
        end = lowest = self.log.log_end_offset
        for follower in self.followers.values():
            if follower.end_offset < lowest and (
                follower.node_id in self.isr
                or (
                    follower.is_caught_up(end, now_ms, self._host.lag_time_max_ms)
                    and self._host.is_eligible(follower.node_id)
                )
            ):
                lowest = follower.end_offset
        if lowest <= self._high_watermark:
            return
        self._high_watermark = lowest
        for follower in self.followers.values():
            self.notify_if_watermark_is_old(follower)
        self._host.wake_waiting_requests(self)

    def notify_if_watermark_is_old(self, follower: Follower) -> None:
        """Makes a waiting follower fetch again if its high watermark is older."""
        if follower.is_waiting and follower.sent_high_watermark < self._high_watermark:
            self._host.notify_follower(follower.node_id, self)

    # What a follower does

    def update_from_leader(self, high_watermark: int, log_start_offset: int) -> None:
        """Takes over the leader's high watermark and log start. Raises DiskFault."""
        reached = min(high_watermark, self.log.log_end_offset)
        if self._high_watermark < log_start_offset <= self.log.log_end_offset:
            reached = max(reached, log_start_offset)
        has_moved = reached > self._high_watermark
        self._high_watermark = max(self._high_watermark, reached)
        if log_start_offset <= self._high_watermark:
            self.log.advance_log_start(log_start_offset)
        if has_moved:
            self._host.wake_waiting_requests(self)

    def truncate(self, offset: int) -> None:
        """Truncates the log to `offset`, and lowers the high watermark if need be. Raises DiskFault."""
        self.log.truncate_to(offset)
        self._lower_high_watermark()

    def restart_at(self, offset: int) -> None:
        """Drops all records: the leader's log begins after the end of this one. Raises DiskFault."""
        self.log.truncate_fully_and_start_at(offset)
        self._high_watermark = offset
        self._host.wake_waiting_requests(self)

    def _lower_high_watermark(self) -> None:
        self._high_watermark = min(self._high_watermark, self.log.log_end_offset)
