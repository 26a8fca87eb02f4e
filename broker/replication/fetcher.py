"""The follower side of a broker: fetches its partitions from their leaders, one after the other.

Nothing polls. An append at the leader answers the parked fetch at once (`take_parked_answer`), so that a produce
request with acks=all is settled in the turn of its append. Other events make a partition due: a new leader, a new high
watermark, more records than one fetch returns. A run fetches all due partitions; those that become due meanwhile wait
for the next run.
"""

import asyncio
import logging
from collections.abc import Callable

from ...network.clock import Clock, Timer
from ...protocol.errors import ApiError, CorruptRecord, DiskFault, ErrorCode
from .fetch_between_replicas import (
    answer_fetch,
    append_written_batch,
    apply_answer,
    park_next_fetch,
    prepare_fetch,
    truncate_or_restart,
)
from .replicated_partition import ReplicatedPartition, WrittenBatch

Key = tuple[str, int]
STEPS_A_RUN = 8

# The leader does not lead any more, or one side does not know the newest epoch; learning it starts the next fetch.
UNSETTLED = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
)

log = logging.getLogger(__name__)


class Fetcher:
    """Keeps the followers of one broker up to date. `leader_of` returns the leader's replica, None if out of reach.

    To simulate a slow follower, `delay_ms` delays each run, and `bytes_per_second` delays the next run by the time that
    the fetched bytes would take.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        leader_of: Callable[[ReplicatedPartition], ReplicatedPartition | None],
        max_bytes: int,
    ) -> None:
        self.delay_ms = 0
        self.bytes_per_second = 0
        self._unpaid_bytes = 0
        self._node_id = node_id
        self._clock = clock
        self._leader_of = leader_of
        self._max_bytes = max_bytes
        self._following: dict[Key, ReplicatedPartition] = {}
        self._paused: set[Key] = set()
        self._pauses_all = False
        self._due: dict[Key, None] = {}
        self._is_scheduled = False
        self._delay: Timer | None = None

    def follow(self, partition: ReplicatedPartition) -> None:
        """Begins to fetch the partition from its leader, which may be a new one."""
        self._following[partition.key] = partition
        self.fetch_soon(partition.key)

    def unfollow(self, key: Key) -> None:
        """Stops fetching the partition."""
        self._following.pop(key, None)
        self._due.pop(key, None)

    def pause(self, key: Key | None = None) -> None:
        """Stops fetching one partition, or all."""
        if key is None:
            self._pauses_all = True
        else:
            self._paused.add(key)
        for followed in tuple(self._following) if key is None else (key,):
            self._cancel_parked_fetch(followed)

    def resume(self, key: Key | None = None) -> None:
        """Fetches again what was paused."""
        if key is None:
            self._pauses_all = False
            self._paused.clear()
            for followed in self._following:
                self.fetch_soon(followed)
        else:
            self._paused.discard(key)
            self.fetch_soon(key)

    def stop(self) -> None:
        """Stops fetching all partitions."""
        self.pause()
        self._following.clear()
        self._due.clear()
        if self._delay is not None:
            self._delay.cancel()

    def fetch_soon(self, key: Key) -> None:
        """Makes the partition due, for the next run."""
        if key in self._following and not self._is_paused(key):
            self._due[key] = None
            self._schedule()

    def take_parked_answer(self, key: Key, written: WrittenBatch | None) -> None:
        """Takes the answer to the fetch that is parked at the leader, and fetches on. `written`: the leader's new
        batch, if there is one.
        """
        partition = self._following.get(key)
        if partition is None or self._is_paused(key):
            return
        if self._is_slow or self._fetch_until_parked(partition, written):
            self.fetch_soon(key)

    @property
    def _is_slow(self) -> bool:
        return self.delay_ms > 0 or self.bytes_per_second > 0

    def _is_paused(self, key: Key) -> bool:
        return self._pauses_all or key in self._paused

    def _cancel_parked_fetch(self, key: Key) -> None:
        partition = self._following.get(key)
        leader = None if partition is None else self._leader_of(partition)
        follower = None if leader is None else leader.followers.get(self._node_id)
        if follower is not None:
            follower.stop_waiting(self._clock.now_ms())

    def _schedule(self) -> None:
        if self._is_scheduled:
            return
        self._is_scheduled = True
        if self._is_slow:
            paying_ms = 1000 * self._unpaid_bytes / self.bytes_per_second if self.bytes_per_second else 0
            self._unpaid_bytes = 0
            self._delay = self._clock.call_later(self.delay_ms + paying_ms, self._fetch_due_partitions)
        else:
            asyncio.get_running_loop().call_soon(self._fetch_due_partitions)

    def _fetch_due_partitions(self) -> None:
        self._is_scheduled = False
        due, self._due = self._due, {}
        for key in due:
            partition = self._following.get(key)
            if partition is not None and not self._is_paused(key) and self._fetch_until_parked(partition):
                self._due[key] = None
        if self._due:
            self._schedule()

    def _fetch_until_parked(self, partition: ReplicatedPartition, written: WrittenBatch | None = None) -> bool:
        """Fetches until the fetch is parked, STEPS_A_RUN times at most. Returns True if it is not parked: there may be
        more to fetch."""
        try:
            if (
                written is not None
                and append_written_batch(partition, written)
                and self._park_next_fetch(partition, written)
            ):
                return False
            return all(self.fetch_once(partition) for _ in range(1 if self._is_slow else STEPS_A_RUN))
        except (ApiError, DiskFault, CorruptRecord) as fault:
            log.error("broker %d cannot follow %s-%d any more: %s", self._node_id, *partition.key, fault)
            self.unfollow(partition.key)
            return False

    def _park_next_fetch(self, partition: ReplicatedPartition, written: WrittenBatch) -> bool:
        """Sends the next fetch after an appended batch; returns whether it is parked."""
        try:
            return park_next_fetch(partition, written.leader, self._node_id)
        except ApiError as error:
            log.warning("broker %d cannot fetch %s-%d: %s", self._node_id, *partition.key, error)
            return True

    def fetch_once(self, partition: ReplicatedPartition) -> bool:
        """Fetches once; returns whether there may be more. Raises: what writing to the follower's log raises."""
        leader = self._leader_of(partition)
        if leader is None:
            return False
        epoch = partition.leader_epoch
        ask = prepare_fetch(partition, self._node_id)
        try:
            answer = answer_fetch(leader, ask, self._max_bytes)
        except ApiError as error:
            if error.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                truncate_or_restart(partition, leader)
                return partition.log.log_end_offset != ask.offset
            if error.code not in UNSETTLED:
                log.warning("broker %d cannot fetch %s-%d: %s", self._node_id, *partition.key, error)
            return False
        if partition.leader_epoch != epoch or partition.is_leader:  # the fetch itself has caused an election
            return False
        apply_answer(partition, answer)
        if self.bytes_per_second:
            self._unpaid_bytes += len(answer.data)
        return not answer.is_parked
