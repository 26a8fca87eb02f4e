"""Records between `send` and a batch: they wait for metadata, for their partition and for memory.

A record waits for `max.block.ms` at most, in all. Records wait in queues, so none overtakes an earlier one for the same
partition. Source: Kafka 3.9, KafkaProducer.doSend, where the calling thread waits instead.
"""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import takewhile

from ..awaited_result import AwaitedResult
from ..clock import NEVER_MS, Clock
from ..delivery import Delivery
from ..errors import FOREIGN_FAULTS, BufferExhausted, ProducerError, Timeout, error_of
from ..fast_send import FastAppend
from ..limited_log import LimitedLog
from ..metadata import FATAL_TOPIC_CODES, Metadata, Topic
from ..metrics.metrics import ProducerMetrics
from ..partitioners.murmur2 import partition_for_key
from ..partitioners.partitioner import Partitioner, TopicView
from ..pending_record import PendingRecord
from ..record_encoding import MAX_RECORD_OVERHEAD
from ..settings import ProducerSettings
from .record_accumulator import NO_MEMORY, WOULD_OPEN, Accumulator

_QueueKey = tuple[str, int | None]


class Appender:
    """The queues before the accumulator. Calls `wake` when the sender has something to do.

    `fast_appends`: by topic; empty while a record waits for metadata.
    """

    def __init__(
        self,
        settings: ProducerSettings,
        metadata: Metadata,
        accumulator: Accumulator,
        meters: ProducerMetrics,
        log: LimitedLog,
        wake: Callable[[], None],
        appended: Callable[[str, int], None] | None = None,
        refused: Callable[[ProducerError], None] | None = None,
    ) -> None:
        self._settings, self._metadata, self._accumulator, self._meters = settings, metadata, accumulator, meters
        self._log, self._wake, self._appended, self._refused = log, wake, appended, refused
        self._memory = accumulator.memory
        self._partitioner: Partitioner | None = settings.partitioner
        self._ignore_keys = settings.ignore_keys
        self._max_block_ms = settings.max_block_ms
        self._queues: dict[_QueueKey, deque[PendingRecord]] = {}
        self._for_memory: deque[PendingRecord] = deque()
        self._counted_wait_ms = 0
        self._deadlines_increase = True  # in the queue for memory
        self._asked_for: dict[str, AwaitedResult] = {}  # topics that `wait_for_metadata` waits for
        self._let_in = AwaitedResult()  # ends when one more record may wait
        self.fast_appends: dict[str, FastAppend] = {}
        self._kept_fast_appends: dict[str, FastAppend] = {}
        # The fast way skips partitioners, transactions, and the limit for a single record.
        room_bytes = min(settings.max_request_size, settings.buffer_memory) - settings.batch_size
        self._has_fast_appends = self._partitioner is None and appended is None and room_bytes > MAX_RECORD_OVERHEAD

    @property
    def waiting_records(self) -> list[PendingRecord]:
        """The waiting records, queue by queue."""
        return [waiting for queue in (*self._queues.values(), self._for_memory) for waiting in queue]

    def append(self, record: PendingRecord, now_ms: int) -> None:
        """Appends the record to a batch, or to a queue. Raises: BufferExhausted when too many records wait."""
        topic, partition = record.topic, record.partition
        known = self._metadata.use(topic, now_ms)
        if self._queues or self._for_memory or self._partitioner is not None or not known or not known.view.partitions:
            self._append_slowly(record, known, now_ms)
            return
        if partition is not None and partition >= known.view.partitions:
            placed = NO_MEMORY
        else:
            placed = self._append_by_default(known.view, record, now_ms)
        if placed == NO_MEMORY:
            self._append_slowly(record, known, now_ms)
            return
        if self._appended is not None:
            self._appended(topic, placed)
        self._wake_for_due_pass()
        if self._has_fast_appends:
            self.fast_appends[topic] = self._find_or_make_fast_append(known)

    def _append_by_default(self, view: TopicView, record: PendingRecord, now_ms: int) -> int:
        """Appends to the given partition, that of the key, or one the built-in partitioner chooses. Returns it, or
        NO_MEMORY.
        """
        partition = record.partition
        if partition is None:
            if record.key is None or self._ignore_keys:
                return self._accumulator.append_sticky(view, record, now_ms)
            partition = partition_for_key(record.key, view.partitions)
        return self._accumulator.append(view, partition, record, now_ms)

    def _wake_for_due_pass(self) -> None:
        if self._accumulator.needs_pass:
            self._accumulator.needs_pass = False
            self._wake()

    def _append_slowly(self, waiting: PendingRecord, known: Topic | None, now_ms: int) -> None:
        """The slow path of `append`: the record may have to wait, or a partitioner or transaction has to be asked."""
        waiting.deadline_ms = now_ms + self._max_block_ms
        key = self._metadata_queue_of(waiting, known)
        if key is not None:
            self._count_as_waiting(waiting)
            self._enqueue_for_metadata(key, waiting)
        elif self._for_memory or known is None or not self._try_append(waiting, known, now_ms):
            self._count_as_waiting(waiting)
            self._enqueue_for_memory(waiting)
        else:
            self._wake_for_due_pass()

    def _count_as_waiting(self, waiting: PendingRecord) -> None:
        """Counts a record that has to wait. Raises: BufferExhausted when waiting records have reached their limit."""
        if not self._memory.try_add_queued_bytes(waiting.held_bytes):
            error = BufferExhausted(
                f"a record for {waiting.topic} would wait behind others that hold {self._memory.queued_bytes} bytes, "
                f"buffer.memory is {self._memory.total_bytes}: await deliveries, or accepted(), between sends"
            )
            self._meters.count("exhausted")
            self._count_refusal(error)
            raise error

    def _count_leaving(self, waiting: PendingRecord, waited_ms: int = 0) -> None:
        self._memory.remove_queued_bytes(waiting.held_bytes, waited_ms)

    def _wait_time_ms(self, waiting: PendingRecord, now_ms: int) -> int:
        return now_ms - waiting.deadline_ms + self._max_block_ms

    async def wait_for_room(self, clock: Clock) -> None:
        """Returns when one more record may wait. Raises: BufferExhausted after `max.block.ms`."""
        until_ms = clock.now_ms() + self._max_block_ms
        while self._memory.queues_are_full:
            if self._let_in.ended:
                self._let_in = AwaitedResult()
            try:
                await self._let_in.wait(clock, max(0, until_ms - clock.now_ms()), "waiting to send")
            except Timeout as late:
                self._meters.count("exhausted")
                error = BufferExhausted(f"{late}; buffer.memory is {self._memory.total_bytes}")
                self._count_refusal(error)
                raise error from None

    async def wait_for_metadata(self, topic: str, clock: Clock) -> Topic:
        """Waits until metadata has the topic. Raises: Timeout after `max.block.ms`, BrokerError if access is denied."""
        until_ms = clock.now_ms() + self._max_block_ms
        while True:
            now_ms = clock.now_ms()
            known = self._metadata.use(topic, now_ms)
            if known is not None and known.view.partitions:
                return known
            code = self._metadata.failed.get(topic)
            if code is not None and code in FATAL_TOPIC_CODES:
                raise error_of(code, f"topic {topic} cannot be looked up: {code.name}")
            if not self._metadata.is_new(topic):
                self._metadata.request_update()
            self._wake()
            news = self._asked_for.setdefault(topic, AwaitedResult())
            try:
                await news.wait(clock, max(0, until_ms - now_ms), "metadata")
            except Timeout:
                raise self._make_metadata_timeout(topic, None) from None

    def _answer_waiting_lookups(self) -> None:
        for topic in list(self._asked_for):
            known = self._metadata.topics.get(topic)
            if (known is not None and known.view.partitions) or self._metadata.failed.get(topic) in FATAL_TOPIC_CODES:
                self._asked_for.pop(topic).succeed()

    def _find_or_make_fast_append(self, known: Topic) -> FastAppend:
        topic = known.view.topic
        fast = self._kept_fast_appends.get(topic)
        if fast is None or not fast.is_current:
            built_in = self._accumulator.partitioner_of(topic)
            fast = FastAppend(known.view, built_in, self._accumulator, self._metadata, self._for_memory, self._wake)
            self._kept_fast_appends[topic] = fast
        return fast

    def append_waiting(self, now_ms: int) -> None:
        """Appends the waiting records for which there is memory and metadata; fails those past their deadline.

        The caller has to send afterwards.
        """
        for key in list(self._queues) if self._queues else ():
            self._serve_queue(key, now_ms)
        if self._for_memory:
            self._serve_memory_queue(now_ms)
        if self._asked_for:
            self._answer_waiting_lookups()
        if not self._queues and not self._for_memory:
            self._memory.clear_queues()
        if waited_ms := self._memory.waited_ms - self._counted_wait_ms:
            self._counted_wait_ms += waited_ms
            self._meters.count("waited_ms", waited_ms)
        if not self._let_in.ended and not self._memory.queues_are_full:
            self._let_in.succeed()
        self._accumulator.needs_pass = False

    def next_max_block_deadline_ms(self) -> int:
        """When the next waiting record fails with a timeout."""
        if not self._queues and not self._for_memory:
            return NEVER_MS
        heads = [queue[0] for queue in (*self._queues.values(), self._for_memory) if queue]
        return min([waiting.deadline_ms for waiting in (heads if self._deadlines_increase else self.waiting_records)])

    def refuse_all(self, error: ProducerError) -> None:
        """Fails all waiting records."""
        everybody = self.waiting_records
        self._queues.clear()
        self._for_memory.clear()
        self._memory.clear_queues()
        for waiting in everybody:
            self._refuse(waiting, error)

    def _metadata_queue_of(self, waiting: PendingRecord, known: Topic | None) -> _QueueKey | None:
        """The queue in which the record has to wait for metadata, or None."""
        if known is None or not known.view.partitions or (self._queues and (waiting.topic, None) in self._queues):
            return waiting.topic, None
        partition = waiting.partition
        if partition is not None and (
            partition >= known.view.partitions or (self._queues and (waiting.topic, partition) in self._queues)
        ):
            return waiting.topic, partition
        return None

    def _enqueue_for_metadata(self, key: _QueueKey, waiting: PendingRecord) -> None:
        self.fast_appends.clear()
        self._queues.setdefault(key, deque()).append(waiting)
        if not self._metadata.is_new(waiting.topic):
            self._metadata.request_update()
        self._wake()

    def _serve_queue(self, key: _QueueKey, now_ms: int) -> None:
        topic, partition = key
        queue = self._queues[key]
        code = self._metadata.failed.get(topic)
        if code in FATAL_TOPIC_CODES and code is not None:
            del self._metadata.failed[topic]
            forbidden = list(queue)
            queue.clear()
            self._refuse_each(forbidden, error_of(code, f"topic {topic} cannot be written to: {code.name}"))
        known = self._metadata.topics.get(topic)
        if known is not None and known.view.partitions and (partition is None or partition < known.view.partitions):
            del self._queues[key]
            for waiting in queue:
                self._append_after_metadata_safely(waiting, known, now_ms)
            return
        late = list(takewhile(lambda waiting: waiting.deadline_ms <= now_ms, queue))
        for _ in late:
            queue.popleft()
        if not queue:
            del self._queues[key]
        else:
            self._metadata.use(topic, now_ms)  # else it would be forgotten
            if partition is not None:
                self._metadata.request_update()  # the partition may be created later
        self._refuse_each(late, self._make_metadata_timeout(topic, partition))

    def _append_after_metadata_safely(self, waiting: PendingRecord, known: Topic, now_ms: int) -> None:
        """Same as `_append_after_metadata`; a fault fails this record only."""
        try:
            self._append_after_metadata(waiting, known, now_ms)
        except Exception as fault:
            self._log.log_fault(f"a record for {waiting.topic}, which had waited,", fault)
            self._count_leaving(waiting)
            self._refuse(waiting, ProducerError(f"a record for {waiting.topic} met a fault of the producer: {fault!r}"))

    def _append_after_metadata(self, waiting: PendingRecord, known: Topic, now_ms: int) -> None:
        key = self._metadata_queue_of(waiting, known)
        if key is not None:
            self._enqueue_for_metadata(key, waiting)
            return
        self._meters.elapsed_ns["metadata-wait"] += self._wait_time_ms(waiting, now_ms) * 1_000_000
        if self._for_memory or not self._try_append(waiting, known, now_ms):
            self._enqueue_for_memory(waiting)
        else:
            self._count_leaving(waiting)

    def _enqueue_for_memory(self, waiting: PendingRecord) -> None:
        if not self._for_memory:
            # From now on batches are sent without lingering.
            self._wake()
            self._deadlines_increase = True
        elif waiting.deadline_ms < self._for_memory[-1].deadline_ms:
            self._deadlines_increase = False  # it waited for metadata before
        self._for_memory.append(waiting)
        self._memory.add_waiting_record()

    def _serve_memory_queue(self, now_ms: int) -> None:
        memory, queue = self._memory, self._for_memory
        for _ in range(len(queue)):
            if not queue:
                break
            waiting = queue[0]
            known = self._metadata.topics.get(waiting.topic)
            if known is None:  # no longer: later records need not wait for it
                self._enqueue_for_metadata((waiting.topic, None), queue.popleft())
                continue
            if waiting.short_of != memory.available_bytes:
                memory.set_waiting_count(0)
                if self._try_append_safely(waiting, known, now_ms):
                    queue.popleft()
                    self._count_leaving(waiting, self._wait_time_ms(waiting, now_ms))
                    if self._has_fast_appends:
                        # Later records of the same topic can follow into the batch.
                        self._find_or_make_fast_append(known).append_waiting(now_ms)
                    continue
                waiting.short_of = memory.available_bytes
            if waiting.deadline_ms > now_ms:
                break
            queue.popleft()
            self._refuse_for_lack_of_memory(waiting, now_ms)
        if not self._deadlines_increase:
            late = [waiting for waiting in queue if waiting.deadline_ms <= now_ms]
            for waiting in late:
                queue.remove(waiting)
            for waiting in late:
                self._refuse_for_lack_of_memory(waiting, now_ms)
        memory.set_waiting_count(len(queue))

    def _refuse_for_lack_of_memory(self, waiting: PendingRecord, now_ms: int) -> None:
        self._count_leaving(waiting, self._wait_time_ms(waiting, now_ms))
        self._meters.count("exhausted")
        text = f"no memory for a record of {waiting.topic} within {self._max_block_ms} ms"
        self._refuse(waiting, BufferExhausted(f"{text}; buffer.memory is {self._memory.total_bytes}"))

    def _try_append_safely(self, waiting: PendingRecord, known: Topic, now_ms: int) -> bool:
        """Same as `_try_append`; a fault fails this record only."""
        try:
            return self._try_append(waiting, known, now_ms)
        except Exception as fault:
            self._log.log_fault(f"a record for {waiting.topic}, which had waited for memory,", fault)
            self._refuse(waiting, ProducerError(f"a record for {waiting.topic} met a fault of the producer: {fault!r}"))
            return True

    def _try_append(self, waiting: PendingRecord, known: Topic, now_ms: int) -> bool:
        """Appends the record if there is memory. Returns whether it is done: appended, or refused."""
        if self._partitioner is not None:
            return self._try_append_by_partitioner(self._partitioner, waiting, known, now_ms)
        placed = self._append_by_default(known.view, waiting, now_ms)
        if placed == NO_MEMORY:
            return False
        if self._appended is not None:
            self._appended(waiting.topic, placed)
        return True

    def _try_append_by_partitioner(
        self, partitioner: Partitioner, waiting: PendingRecord, known: Topic, now_ms: int
    ) -> bool:
        """Same as `_try_append`, with a partitioner of the application."""
        try:
            placed = self._append_by_partitioner(partitioner, waiting, known, now_ms)
        except FOREIGN_FAULTS as fault:  # a partitioner is code of the application, and must not stop other records
            self._refuse(waiting, ProducerError(f"the partitioner failed for a record of {waiting.topic}: {fault!r}"))
            return True
        if placed == NO_MEMORY:
            return False
        if self._appended is not None:
            self._appended(waiting.topic, placed)
        return True

    def _append_by_partitioner(
        self, partitioner: Partitioner, waiting: PendingRecord, known: Topic, now_ms: int
    ) -> int:
        """Asks the partitioner, once more before a batch is opened. Returns the partition, or NO_MEMORY.

        Raises what the partitioner raises, TypeError and ValueError for what is no partition.
        """
        partition = self._choose_partition(partitioner, waiting, known)
        placed = self._accumulator.append(known.view, partition, waiting, now_ms, new_batch=waiting.chosen is not None)
        if placed == WOULD_OPEN:
            partitioner.on_new_batch(known.view, partition)
            waiting.chosen = self._choose_partition(partitioner, waiting, known)
            placed = self._accumulator.append(known.view, waiting.chosen, waiting, now_ms)
        return placed

    @staticmethod
    def _choose_partition(partitioner: Partitioner, waiting: PendingRecord, known: Topic) -> int:
        if waiting.partition is not None:
            return waiting.partition
        if waiting.chosen is not None:
            return waiting.chosen
        chosen = partitioner.partition(known.view, waiting.key, waiting.value)
        if type(chosen) is not int:
            raise TypeError(f"the partitioner gave {chosen!r} for {waiting.topic}, not an int")
        if chosen < 0:
            raise ValueError(f"the partitioner gave partition {chosen} of {waiting.topic}")
        return chosen

    def _make_metadata_timeout(self, topic: str, partition: int | None) -> Timeout:
        if not self._metadata.nodes:
            failures = self._metadata.unreachable
            servers = "; ".join(
                f"{server.host}:{server.port}" + (f" ({failures[server]})" if server in failures else "")
                for server in self._settings.bootstrap_servers
            )
            return Timeout(f"no broker answered within {self._max_block_ms} ms, for topic {topic}: {servers}")
        name = f"topic {topic}" if partition is None else f"partition {partition} of topic {topic}"
        return Timeout(f"{name} is not in the metadata after {self._max_block_ms} ms")

    def _refuse_each(self, those: Sequence[PendingRecord], error: ProducerError) -> None:
        """Fails records that were taken out of the queues before, since their callbacks may send again."""
        for waiting in those:
            self._count_leaving(waiting)
            self._refuse(waiting, error)

    def _refuse(self, waiting: PendingRecord, error: ProducerError) -> None:
        if self._refused is not None:
            self._refused(error)
        self.refuse(waiting.delivery, waiting.partition, error)

    def refuse(self, delivery: Delivery, partition: int | None, error: ProducerError) -> None:
        """Fails a record that is in no batch."""
        self._meters.count("failed")
        if delivery.callback is None:
            self._log.warning("refused", "a record for %s was not sent: %s", delivery.topic, error)
        delivery.refuse(error, -1 if partition is None else partition)

    def _count_refusal(self, error: ProducerError) -> None:
        self._meters.count("failed")
        if self._refused is not None:
            self._refused(error)
