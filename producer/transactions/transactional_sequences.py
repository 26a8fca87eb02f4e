"""Sequence numbers of a transactional producer: as `accumulator/sequence_numbers.py`, but the epoch is raised by the
coordinator alone.

    a partition not yet in the transaction   nothing is sent to it
    OUT_OF_ORDER_SEQUENCE_NUMBER             for the batch right after the last acknowledged one: fails, so that the
                                             transaction must be aborted
    UNKNOWN_PRODUCER_ID                      counts from 0 again if all that was acknowledged is deleted
    a batch is refused for good              later batches move up
    an expired batch leaves a gap            the transaction must be aborted, and the epoch raised

Source: Kafka 3.9, TransactionManager.canRetry, handleFailedBatch, maybeResolveSequences.
"""

from ...protocol.errors import ErrorCode
from ...protocol.records.layout import MAX_INT32
from ..accumulator.producer_batch import Batch, TopicPartition
from ..accumulator.sequence_numbers import ProducerIdAndEpoch, SequenceNumbers, comes_before

NO_OFFSET = -1


class TransactionalSequences(SequenceNumbers):
    """`partitions`: those of the transaction; only batches for them may be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.partitions: set[TopicPartition] = set()
        self._acked_offsets: dict[TopicPartition, int] = {}

    def set_producer_id_and_epoch(self, identity: ProducerIdAndEpoch) -> None:
        """Takes the id and epoch of the coordinator; every partition counts from 0 again."""
        self._partitions.clear()
        self._acked_offsets.clear()
        self.unresolved.clear()
        self.identity = identity

    def may_drain(self, batch: Batch) -> bool:
        return batch.topic_partition in self.partitions and super().may_drain(batch)

    def acknowledge(self, batch: Batch, base_offset: int = NO_OFFSET) -> None:
        if (batch.producer_id, batch.producer_epoch) != (self.identity.producer_id, self.identity.epoch):
            # This batch has an older epoch; its late answer does not apply to the current sequence numbers.
            self.remove_in_flight_batch(batch)
            return
        if base_offset != NO_OFFSET:
            key, last = batch.topic_partition, base_offset + batch.count - 1
            self._acked_offsets[key] = max(last, self._acked_offsets.get(key, NO_OFFSET))
        super().acknowledge(batch)

    def can_retry(self, batch: Batch, code: ErrorCode, log_start_offset: int) -> bool:
        if code is ErrorCode.UNKNOWN_PRODUCER_ID:
            return self._can_retry_unknown_id(batch, log_start_offset)
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            follows = batch.base_sequence == self._sequence_after(self.entry_of(batch.topic_partition).last_acked)
            waits = batch.sequence_was_reset or not follows
            # Kafka 3.9 keeps resending an overtaken batch until it expires.
            return batch.topic_partition not in self.unresolved and waits and not self._was_overtaken(batch)
        return code.retriable

    def _can_retry_unknown_id(self, batch: Batch, log_start_offset: int) -> bool:
        if log_start_offset == NO_OFFSET or batch.sequence_was_reset:
            return True
        if self._acked_offsets.get(batch.topic_partition, NO_OFFSET) >= log_start_offset:
            return False
        self._start_sequences_at_beginning(self.entry_of(batch.topic_partition))
        return True

    def handle_failed_batch(self, batch: Batch, code: ErrorCode, *, adjust: bool) -> None:
        self.remove_in_flight_batch(batch)
        if not batch.has_sequence:
            return
        if code is ErrorCode.UNKNOWN_PRODUCER_ID:
            self._partitions.pop(batch.topic_partition, None)
            self.unresolved.pop(batch.topic_partition, None)
        elif adjust:
            self._renumber_after_gap(batch)

    def _renumber_after_gap(self, lost: Batch) -> None:
        """Batches after a refused one take its sequence numbers."""
        entry = self.entry_of(lost.topic_partition)
        entry.next = (entry.next - lost.count) & MAX_INT32
        for batch in entry.in_flight:
            if comes_before(lost, batch):
                lower = (batch.base_sequence - lost.count) & MAX_INT32
                batch.set_producer_state(batch.producer_id, batch.producer_epoch, lower)

    def resolve_and_find_gap(self) -> bool:
        """Forgets unresolved partitions with nothing in flight; returns whether an expired batch left a gap in one of
        them, which no answer can close any more."""
        found = False
        for key in list(self.unresolved):
            entry = self.entry_of(key)
            if entry.in_flight:
                continue
            del self.unresolved[key]
            found |= entry.next != self._sequence_after(entry.last_acked)
        return found
