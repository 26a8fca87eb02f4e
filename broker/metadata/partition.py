"""One partition as its leader knows it: the log, who replicates it, and how far readers may see.

    log start <= last stable offset <= high watermark <= log end

This class is for a broker that is alone: its high watermark is always the log end. A cluster uses
`replication/replicated_partition.py` instead.
"""

from collections.abc import Mapping

from ...protocol.errors import ApiError, ErrorCode
from ...storage.log.leader_epochs import UNDEFINED_EPOCH
from ...storage.log.log import AppendInfo, Log
from ...storage.validation.prepared_append import PreparedAppend

READ_COMMITTED = 1
DEBUGGING_REPLICA = -2
FUTURE_REPLICA = -3


class Partition:
    """A partition led by this broker, which is alone. `replicas` and `isr` are broker ids, the preferred one first."""

    __slots__ = (
        "index",
        "isr",
        "key",
        "leader_epoch",
        "leader_id",
        "log",
        "replicas",
        "topic_name",
    )

    def __init__(self, topic_name: str, index: int, log: Log, *, leader_id: int, leader_epoch: int = 0) -> None:
        self.topic_name = topic_name
        self.index = index
        self.key = (topic_name, index)
        self.log = log
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replicas: tuple[int, ...] = (leader_id,)
        self.isr: tuple[int, ...] = (leader_id,)

    @property
    def is_here(self) -> bool:
        """Whether this broker has a replica."""
        return True

    @property
    def high_watermark(self) -> int:
        """First offset that not every in-sync replica has yet."""
        return self.log.log_end_offset

    def check_knows_high_watermark(self) -> None:
        """Raises ApiError OFFSET_NOT_AVAILABLE while a new leader does not know the high watermark."""

    def check_enough_in_sync(self) -> None:
        """Raises ApiError NOT_ENOUGH_REPLICAS where min.insync.replicas asks for more; one replica alone is enough."""

    def append(self, prepared: PreparedAppend) -> AppendInfo:
        """Appends to the log as its leader, and makes the records available to followers. Raises as `Log.append`."""
        return self.log.append(prepared, leader_epoch=self.leader_epoch)

    def wake_followers(self) -> None:
        """Answers waiting fetches of followers, for news other than records."""

    @property
    def last_stable_offset(self) -> int:
        """First offset of the earliest open transaction, else the high watermark."""
        return self.offset_snapshot(READ_COMMITTED)[1]

    def offset_snapshot(self, isolation_level: int, replica_id: int = -1) -> tuple[int, int, int]:
        """The high watermark, the last stable offset, and the first offset that this reader may not see.

        Consumers see by isolation, followers everything.
        """
        log = self.log
        high_watermark = stable = self.high_watermark
        if log.producers.state.has_unstable:
            log.note_high_watermark(high_watermark)
            unstable = log.first_unstable_offset
            stable = high_watermark if unstable is None else min(unstable, high_watermark)
        if replica_id >= 0 or replica_id == FUTURE_REPLICA:
            return high_watermark, stable, log.log_end_offset
        return high_watermark, stable, stable if isolation_level == READ_COMMITTED else high_watermark

    def visible_end_offset(self, isolation_level: int, replica_id: int = -1) -> int:
        """The first offset that this reader may not see."""
        return self.offset_snapshot(isolation_level, replica_id)[2]

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch not above `epoch`, and its end offset; -1 and -1 if that is not known.

        The leader's own epoch is known even before anything was written in it, and ends where the log ends.
        """
        if epoch == self.leader_epoch:
            return epoch, self.log.log_end_offset
        entry = self.log.end_offset_for_epoch(epoch)
        return entry.epoch, entry.start_offset

    def divergence_from(self, last_epoch: int, fetch_offset: int) -> tuple[int, int] | None:
        """The largest epoch shared with a log that ends at `fetch_offset` in `last_epoch`, and where it ends here.

        None when that log is a part of this one. Raises ApiError OFFSET_OUT_OF_RANGE (KIP-595).
        """
        epoch, end_offset = self.end_of_epoch(last_epoch)
        if epoch < 0 or end_offset < 0:
            place = f"{self.topic_name}-{self.index}"
            raise ApiError(f"{place} knows no epoch {last_epoch}", ErrorCode.OFFSET_OUT_OF_RANGE)
        if fetch_offset < self.log.log_start_offset:
            message = f"{self.log.name}: offset {fetch_offset} is below the start {self.log.log_start_offset}"
            raise ApiError(message, ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch < last_epoch or end_offset < fetch_offset:
            return epoch, end_offset
        return None

    def find_preferred_read_replica(self, rack: str, fetch_offset: int, racks: Mapping[int, str | None]) -> int | None:
        """The follower that a consumer in this rack is to read from; None: this broker (KIP-392).

        `racks` are those of the living brokers.
        """
        return None

    def check_leader_epoch(self, current_leader_epoch: int) -> None:
        """Raises ApiError FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH when a client's epoch (-1: none) is not ours."""
        if current_leader_epoch in (UNDEFINED_EPOCH, self.leader_epoch):
            return
        place = f"{self.topic_name}-{self.index}: epoch {current_leader_epoch}, the leader's is {self.leader_epoch}"
        if current_leader_epoch < self.leader_epoch:
            raise ApiError(place, ErrorCode.FENCED_LEADER_EPOCH)
        raise ApiError(place, ErrorCode.UNKNOWN_LEADER_EPOCH)
