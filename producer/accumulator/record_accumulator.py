"""Batches that wait to be sent: a queue per partition, and which batches can be sent now.

A record is appended to the last batch of its partition, or to a new one. A node is ready when one of its partitions,
not muted and not backing off, has a full batch, a second one, one that lingered long enough since its creation, or when
memory is short, a flush runs or the producer closes. A drain takes one batch per partition, starting after the
partition it ended with. Source: Kafka 3.9, RecordAccumulator.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...protocol.records.layout import Codec
from ..backoff import Backoff
from ..clock import NEVER_MS
from ..metadata import Metadata
from ..partitioners.built_in_partitioner import BuiltInPartitioner
from ..partitioners.partitioner import TopicView
from ..partitioners.sticky_partition import StickyPartition
from ..pending_record import PendingRecord
from ..settings import ProducerSettings
from .batch_queues import BatchQueue, BatchQueues
from .buffer_memory import BufferMemory
from .compression_estimator import INITIAL, CompressionRatios
from .producer_batch import Batch, TopicPartition
from .sequence_numbers import SequenceNumbers, comes_before

WOULD_OPEN = -1
NO_MEMORY = -2


class ReadyCheckResult:
    """`nodes`: the nodes that have something to send. `next_check_ms`: how long until the next check. `leaderless`:
    topics with a queue whose partition has no leader.
    """

    __slots__ = ("leaderless", "next_check_ms", "nodes")

    def __init__(self) -> None:
        self.nodes: set[int] = set()
        self.next_check_ms = NEVER_MS
        self.leaderless: set[str] = set()


@dataclass(slots=True)
class _NodeTimes:
    ready_ms: int
    drained_ms: int


class Accumulator:
    """All open batches of a producer.

    `needs_pass`: a batch was opened or became full, and the sender has not been woken for it yet.
    `watches_nodes`: `update_node_latency_stats` has an effect.
    """

    def __init__(
        self,
        settings: ProducerSettings,
        memory: BufferMemory,
        ratios: CompressionRatios,
        sequences: SequenceNumbers | None = None,
        draws: random.Random | None = None,
    ) -> None:
        self.settings, self.memory, self.ratios, self.sequences = settings, memory, ratios, sequences
        self._batch_size, self._linger_ms, self._codec = settings.batch_size, settings.linger_ms, settings.codec
        self._compresses, self._transactional = self._codec is not Codec.NONE, settings.transactional_id is not None
        self.closing = self.needs_pass = False
        self.watches_nodes = settings.availability_timeout_ms > 0
        self.flushes = 0
        self.muted: set[TopicPartition] = set()
        self._draws = draws or random.Random()
        self._backoff = Backoff(
            initial_ms=settings.retry_backoff_ms, max_ms=settings.retry_backoff_max_ms, draws=self._draws
        )
        self._queues = BatchQueues()
        self._built_in: dict[str, BuiltInPartitioner] = {}
        self._drain_index: dict[int, int] = {}
        self._node_times: dict[int, _NodeTimes] = {}
        self._numbers = 0
        self.live: dict[int, set[Batch]] = {}

    # --- appending ----------------------------------------------------------------------------------------------------

    def append(
        self, view: TopicView, partition: int, record: PendingRecord, now_ms: int, *, new_batch: bool = True
    ) -> int:
        """Appends a record. Returns the partition; NO_MEMORY; or WOULD_OPEN, if it needs a batch and `new_batch` is
        false.
        """
        queue = self._queues.of_partition(view.topic, partition)
        taken = queue[-1].try_append(record) if queue else 0
        if taken:
            self.needs_pass |= queue[-1].is_full
            return partition
        if not new_batch:
            if queue:
                queue[-1].buffer.full = True
            return WOULD_OPEN
        taken = self._append_to_new_batch(view.topic, partition, queue, record, now_ms)
        return partition if taken > 0 else taken

    def append_sticky(self, view: TopicView, record: PendingRecord, now_ms: int) -> int:
        """Appends a record to a partition that the built-in partitioner chooses; returns it, or NO_MEMORY."""
        built_in = self._built_in.get(view.topic) or self.partitioner_of(view.topic)
        while True:
            choice = built_in.choice or built_in.current(view)
            batch = choice.batch
            taken = batch.try_append(record) if batch is not None else 0
            if not taken or batch is None:
                queue = self._queues.of_partition(view.topic, choice.partition)
                taken = queue[-1].try_append(record) if queue else 0
                if not taken:
                    if _needs_new_batch(queue) and built_in.count_append(choice, 0, view, True):
                        continue
                    taken = self._append_to_new_batch(view.topic, choice.partition, queue, record, now_ms)
                    if taken == NO_MEMORY:
                        return taken
                batch = queue[-1]
                choice.set_batch(batch)
            choice.produced_bytes += taken
            if batch.buffer.full or choice.produced_bytes >= built_in.most_bytes:
                self.end_choice_when_full(built_in, choice, view)
            return choice.partition

    def queues_of(self, topic: str) -> dict[int, BatchQueue]:
        """The queues of a topic by partition; later queues are added to the same dictionary."""
        return self._queues.of_topic(topic)

    def end_choice_when_full(self, built_in: BuiltInPartitioner, choice: StickyPartition, view: TopicView) -> None:
        """Ends a choice that has enough bytes; sets `needs_pass` if its batch is full."""
        full = choice.batch is not None and choice.batch.buffer.full
        self.needs_pass |= full
        built_in.count_append(choice, 0, view, full)

    def partitioner_of(self, topic: str) -> BuiltInPartitioner:
        """The built-in partitioner of the topic."""
        built_in = self._built_in.get(topic)
        if built_in is None:
            built_in = self._built_in[topic] = BuiltInPartitioner(self.settings.batch_size, self._draws)
        return built_in

    def _append_to_new_batch(
        self, topic: str, partition: int, queue: BatchQueue, record: PendingRecord, now_ms: int
    ) -> int:
        """Closes the last batch and appends the record to a new one. Returns how many bytes that took, or NO_MEMORY."""
        if queue:
            queue[-1].buffer.full = True
        size = max(self._batch_size, record.bound_bytes)
        if self.memory.waiting or not self.memory.try_take(size):
            return NO_MEMORY
        batch = self._make_batch(topic, partition, size, now_ms)
        try:
            taken = batch.try_append(record)
        except Exception:
            self.release(batch)
            raise
        queue.append(batch)
        self.needs_pass = True
        return taken

    def _make_batch(self, topic: str, partition: int, size: int, now_ms: int) -> Batch:
        self._numbers += 1
        ratio = self.ratios.get(topic, self._codec) if self._compresses else INITIAL
        # By position: keywords would build a dictionary first.
        batch = Batch(
            topic, partition, self._codec, size, ratio, now_ms, self._numbers, size, False, self._transactional
        )
        self.live[batch.number] = {batch}
        return batch

    # --- what can be sent ---------------------------------------------------------------------------------------------

    def ready(self, metadata: Metadata, now_ms: int) -> ReadyCheckResult:
        """Finds the nodes with something to send. Also passes the lengths of queues to the built-in partitioners."""
        self._queues.update_leaders(metadata)
        result = ReadyCheckResult()
        for topic, queues in self._queues.topics.items():
            for queue in queues.values():
                if queue:
                    leader = queue.leader
                    if leader is None:
                        result.leaderless.add(topic)
                    else:
                        batch = queue[0]
                        if leader.epoch > batch.leader_epoch:
                            batch.leader_epoch = leader.epoch
                        self._note_if_ready(queue, leader.node_id, now_ms, result)
            if len(queues) > 1 and self.settings.adaptive and self.settings.partitioner is None:
                known = metadata.topics.get(topic)
                self._learn_queue_lengths(
                    topic, list(queues.values()), known.view.partitions if known is not None else 0
                )
        return result

    def _learn_queue_lengths(self, topic: str, queues: Sequence[BatchQueue], partitions: int) -> None:
        """Passes the lengths of the queues to the built-in partitioner, once every partition has a queue."""
        measured = [
            each for each in queues if each.leader is not None and not self._is_unavailable(each.leader.node_id)
        ]
        lengths = list(map(len, measured)) if 0 < partitions <= len(queues) else None
        self.partitioner_of(topic).update_load(lengths, [queue.partition for queue in measured], len(queues))

    def _note_if_ready(self, queue: BatchQueue, node_id: int, now_ms: int, result: ReadyCheckResult) -> None:
        batch = queue[0]
        if node_id in result.nodes or (self.muted and queue.topic_partition in self.muted):
            return
        waited_ms = batch.ms_since_attempt(now_ms)
        backoff_ms = self._backoff_left_ms(batch, waited_ms) if batch.attempts else 0
        if not backoff_ms:
            full = len(queue) > 1 or batch.buffer.full
            if full or waited_ms >= self._linger_ms or self.flushes or self.closing or self.memory.waiting:
                result.nodes.add(node_id)
                return
        left_ms = max(0, (backoff_ms or self._linger_ms) - waited_ms)
        if left_ms < result.next_check_ms:
            result.next_check_ms = left_ms

    @staticmethod
    def _backoff_left_ms(batch: Batch, waited_ms: int) -> int:
        """The backoff after the last attempt; 0 if it is over."""
        if batch.has_newer_leader:
            return 0
        return batch.backoff_ms if waited_ms < batch.backoff_ms else 0

    def _is_unavailable(self, node_id: int) -> bool:
        times, timeout_ms = self._node_times.get(node_id), self.settings.availability_timeout_ms
        return timeout_ms > 0 and times is not None and times.ready_ms - times.drained_ms > timeout_ms

    def update_node_latency_stats(self, node_id: int, now_ms: int, *, can_drain: bool) -> None:
        """Notes that a node had something to send, and whether its connection could take it."""
        if self.watches_nodes:
            times = self._node_times.setdefault(node_id, _NodeTimes(now_ms, now_ms))
            times.ready_ms = now_ms
            if can_drain:
                times.drained_ms = now_ms

    def drain(self, node_ids: Iterable[int], now_ms: int, into: dict[int, list[Batch]]) -> None:
        """Moves the batches for one request to each node from the queues to `into`, closed and with their sequences.

        `node_ids`: nodes that `ready` found. After a fault, `into` has the batches that were moved before it.
        """
        for node_id in node_ids:
            taken = into[node_id] = []
            self._drain_node(node_id, self._queues.led[node_id], now_ms, taken)

    def _drain_node(self, node_id: int, queues: Sequence[BatchQueue], now_ms: int, taken: list[Batch]) -> None:
        sequences, size = self.sequences, 0
        start = at = self._drain_index.get(node_id, 0) % len(queues)
        while True:
            queue = queues[at]
            self._drain_index[node_id] = at
            at = (at + 1) % len(queues)
            if queue and not (self.muted and queue.topic_partition in self.muted):
                batch = queue[0]
                backing_off = batch.attempts and self._backoff_left_ms(batch, batch.ms_since_attempt(now_ms))
                may_go = sequences is None or (not sequences.waits_for_first(batch) and sequences.may_drain(batch))
                if may_go and not backing_off:
                    if taken and size + batch.estimated_bytes > self.settings.max_request_size:
                        break
                    taken.append(queue.popleft())
                    self._close_safely(batch, now_ms)
                    size += batch.estimated_bytes
            if at == start:
                break

    def _close_safely(self, batch: Batch, now_ms: int) -> None:
        """Same as `_close`; notes a fault in the batch."""
        try:
            self._close(batch, now_ms)
        except Exception as fault:
            batch.fault = fault

    def _close(self, batch: Batch, now_ms: int) -> None:
        if self.sequences is not None:
            self.sequences.assign_sequence(batch)
        observed = batch.close(self.settings.level)
        if self._compresses:
            self.ratios.update_estimation(batch.topic, batch.codec, observed)
        batch.attempted_epoch = batch.leader_epoch
        batch.drained_ms = now_ms

    # --- coming back --------------------------------------------------------------------------------------------------

    def reenqueue(self, batch: Batch, now_ms: int) -> None:
        """Puts a batch back into its queue, to be sent again: in front, or by its sequence.

        The backoff is drawn here, once. Kafka 3.9 draws at every check, so it may find a node ready and then drain
        nothing.
        """
        batch.count_attempt(now_ms)
        batch.backoff_ms = self._backoff.delay_ms(batch.attempts)
        self._insert(batch)

    def split_and_reenqueue(self, batch: Batch) -> int:
        """Replaces a batch by its children, in front of the queue or by their sequences; returns their number."""
        self.ratios.reset_estimation(batch.topic, batch.codec, batch.observed_ratio)
        ratio = self.ratios.get(batch.topic, batch.codec)
        children = batch.split_into(self.settings.batch_size, ratio)
        self.live[batch.number].update(children)
        for child in reversed(children):
            if self.sequences is not None and child.has_sequence:
                self.sequences.add_in_flight_batch(child)
            self._insert(child)
        self.release(batch)
        return len(children)

    def _insert(self, batch: Batch) -> None:
        queue = self._queues.of_partition(batch.topic, batch.partition)
        if self.sequences is None or not batch.has_sequence:
            queue.appendleft(batch)
            return
        at = 0
        for before in queue:
            if not before.has_sequence or not comes_before(before, batch):
                break
            at += 1
        queue.insert(at, batch)

    def take_overdue(self, now_ms: int) -> list[Batch]:
        """Removes and returns the queued batches past their delivery timeout, the oldest of a partition first."""
        found = []
        for queue in self._queues:
            over = list(_overdue_batches(queue, now_ms, self.settings.delivery_timeout_ms))
            for batch in sorted(over, key=lambda batch: batch.created_ms):
                queue.remove(batch)
                found.append(batch)
        return _close_for_appends(found)

    def next_expiry_ms(self) -> int:
        """When the oldest queued batch expires."""
        ages = [age for queue in self._queues for age in _creation_times_of_first(queue)]
        return min(ages, default=NEVER_MS) + self.settings.delivery_timeout_ms

    def release(self, batch: Batch) -> None:
        """Gives back the memory of a batch that has ended."""
        alive = self.live.get(batch.number)
        if alive is not None and batch in alive:
            alive.remove(batch)
            if not alive:
                del self.live[batch.number]
            self.memory.give_back(batch.memory_bytes)

    def take_all(self) -> list[Batch]:
        """Empties the queues; returns all batches."""
        found: list[Batch] = []
        for queue in self._queues:
            found.extend(queue)
            queue.clear()
        return _close_for_appends(found)

    def find_orphans(self, in_flight: Iterable[Batch]) -> list[Batch]:
        """The batches that have not ended, but are neither queued nor in flight. Only a fault leaves such batches."""
        known = {id(batch) for queue in self._queues for batch in queue} | set(map(id, in_flight))
        return [batch for alive in self.live.values() for batch in alive if id(batch) not in known]

    def take_unsent(self) -> list[Batch]:
        """Removes and returns the queued batches that were never sent, for a transaction that is aborted."""
        found: list[Batch] = []
        for queue in self._queues:
            unsent = [batch for batch in queue if not batch.has_sequence]
            found += unsent
            for batch in unsent:
                queue.remove(batch)
        return _close_for_appends(found)

    @property
    def last_number(self) -> int:
        """The number of the newest batch."""
        return self._numbers

    def find_newest_live(self, last_number: int) -> Batch | None:
        """The newest batch up to that number that has not ended, or one of its children; None if all have ended."""
        for number in reversed(self.live):
            if number <= last_number:
                # A batch that is done is still here only after a fault.
                for batch in self.live[number]:
                    if not batch.is_done:
                        return batch
        return None


def _close_for_appends(batches: list[Batch]) -> list[Batch]:
    """Closes batches that will fail for appends, since a callback may send records before all have failed."""
    for batch in batches:
        batch.buffer.full = True
    return batches


def _needs_new_batch(queue: BatchQueue) -> bool:
    return not queue or queue[-1].is_full


def _overdue_batches(queue: BatchQueue, now_ms: int, timeout_ms: int) -> Iterator[Batch]:
    """The batches past their delivery timeout. Only batches that came back for a retry may precede older ones."""
    for batch in queue:
        if batch.is_expired(now_ms, timeout_ms):
            yield batch
        elif not batch.was_reenqueued:
            return


def _creation_times_of_first(queue: BatchQueue) -> Iterator[int]:
    """When the batches that were put back, and the first one after them, were created."""
    for batch in queue:
        yield batch.created_ms
        if not batch.was_reenqueued:
            return
