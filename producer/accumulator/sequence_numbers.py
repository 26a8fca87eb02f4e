"""Idempotence: the producer's id and epoch, and for each partition the sequence numbers assigned and acknowledged.

    next         the sequence of the next record; wraps from 2^31-1 to 0
    last_acked   the highest sequence that a broker acknowledged
    in_flight    batches with a sequence that have not ended, by sequence

When a sequence is lost, the producer raises its own epoch (KIP-360) and numbers the partition from 0 again, with its
batches in flight; other partitions follow once their batches in flight have ended. A batch keeps its numbers while it
is on the wire or may have been written, since an answer, or another attempt, is about the numbers that were sent. Kafka
3.9 renumbers at once and takes a late answer to the old numbers for one to the new numbers: the partition stalls. A
batch that expires after it was sent leaves its sequence unresolved: nothing new is sent to that partition until the
answers to earlier batches show what happened. Source: Kafka 3.9, TransactionManager, TxnPartitionMap and
TxnPartitionEntry.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...protocol.errors import ErrorCode
from ...protocol.records.layout import MAX_INT32, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, next_sequence
from .producer_batch import Batch, TopicPartition

MAX_EPOCH = 32767


@dataclass(frozen=True, slots=True)
class ProducerIdAndEpoch:
    """A producer id and its epoch."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH

    @property
    def is_valid(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID


@dataclass(slots=True)
class _Partition:
    identity: ProducerIdAndEpoch
    next: int = 0
    last_acked: int = NO_SEQUENCE
    in_flight: list[Batch] = field(default_factory=list)
    known_id: int = NO_PRODUCER_ID
    """The producer id from which a broker took a batch."""


class SequenceNumbers:
    """The sequence numbers of one idempotent producer."""

    def __init__(self) -> None:
        self.identity = ProducerIdAndEpoch()
        self.unresolved: dict[TopicPartition, int] = {}
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._to_renumber: set[TopicPartition] = set()

    def entry_of(self, topic_partition: TopicPartition) -> _Partition:
        entry = self._partitions.get(topic_partition)
        if entry is None:
            entry = self._partitions[topic_partition] = _Partition(self.identity)
        return entry

    def set_producer_id_and_epoch(self, identity: ProducerIdAndEpoch) -> None:
        """Takes a new producer id; partitions that waited for it number their batches from 0 again."""
        self.identity = identity
        self._renumber(self._partitions_to_renumber())

    def may_drain(self, batch: Batch) -> bool:
        """Whether the first batch of a queue may be sent now."""
        key = batch.topic_partition
        if not self.identity.is_valid:
            return False
        entry = self.entry_of(key)
        if not batch.has_sequence:
            if entry.in_flight and (entry.identity != self.identity or self._must_end_before_new(entry.in_flight[0])):
                return False
            return key not in self.unresolved and key not in self._to_renumber
        if key in self._to_renumber and not batch.may_be_written:
            return False
        return not entry.in_flight or entry.in_flight[0] is batch

    @staticmethod
    def _must_end_before_new(first: Batch) -> bool:
        """Whether new batches wait for a batch that is sent again, since an earlier attempt may have been written.

        A broker recognizes only the last five batches. Kafka's client does not wait: if this batch fails twice while
        later ones succeed, the broker no longer recognizes it; it gets a new epoch and is written twice.
        """
        return first.in_retry and first.may_be_written

    def waits_for_first(self, batch: Batch) -> bool:
        """Whether the batch has to wait for the partition's first batch under this id.

        A broker accepts any first sequence of a new producer. If it refused the first batch for a moment and took the
        second one, their order would change; Kafka's client has that fault.
        """
        entry = self.entry_of(batch.topic_partition)
        return bool(entry.in_flight) and not batch.has_sequence and entry.known_id != self.identity.producer_id

    def assign_sequence(self, batch: Batch) -> None:
        """Gives a drained batch its sequence, unless it has one from an earlier attempt."""
        if batch.has_sequence:
            return
        entry = self.entry_of(batch.topic_partition)
        if entry.identity != self.identity and not entry.in_flight:
            self._start_sequences_at_beginning(entry)
        batch.set_producer_state(self.identity.producer_id, self.identity.epoch, entry.next)
        entry.next = next_sequence(entry.next, batch.count)
        self.add_in_flight_batch(batch)

    def add_in_flight_batch(self, batch: Batch) -> None:
        """Adds a batch to those in flight, by its sequence; also for the children of a split."""
        in_flight = self.entry_of(batch.topic_partition).in_flight
        at = len(in_flight)
        while at and comes_before(batch, in_flight[at - 1]):
            at -= 1
        in_flight.insert(at, batch)

    def remove_in_flight_batch(self, batch: Batch) -> None:
        """Removes a batch that has ended or was split."""
        in_flight = self.entry_of(batch.topic_partition).in_flight
        if batch in in_flight:
            in_flight.remove(batch)

    def acknowledge(self, batch: Batch, base_offset: int = -1) -> None:
        """Takes note that a broker has written the batch, at `base_offset` if that is known.

        The answer to an expired batch may come after the epoch was raised; it says nothing about the new epoch.
        """
        entry = self.entry_of(batch.topic_partition)
        last = batch.last_sequence
        if (batch.producer_id, batch.producer_epoch) != (entry.identity.producer_id, entry.identity.epoch):
            self.remove_in_flight_batch(batch)
            return
        if entry.last_acked == NO_SEQUENCE or (last - entry.last_acked) & MAX_INT32 < 1 << 30:
            entry.last_acked = last
        entry.known_id = batch.producer_id
        self.remove_in_flight_batch(batch)

    def can_retry(self, batch: Batch, code: ErrorCode, log_start_offset: int) -> bool:
        """Returns whether to send the batch again after that error; requests a new epoch if nothing else helps."""
        key = batch.topic_partition
        entry = self.entry_of(key)
        follows = batch.base_sequence == self._sequence_after(entry.last_acked)
        if code is ErrorCode.UNKNOWN_PRODUCER_ID:
            return self._can_retry_unknown_id(batch, log_start_offset)
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            if key not in self.unresolved and (batch.sequence_was_reset or not follows):
                if self._was_overtaken(batch):
                    self._to_renumber.add(key)
                return True
            if key not in self.unresolved or batch.base_sequence == self.unresolved[key]:
                self._to_renumber.add(key)
            return True
        return code.retriable

    def _was_overtaken(self, batch: Batch) -> bool:
        """Whether a broker that did not know the producer took a later batch first.

        That happens when the first batch is split. Kafka 3.9 sends the children again until they expire.
        """
        last_acked = self.entry_of(batch.topic_partition).last_acked
        return last_acked != NO_SEQUENCE and 0 < (last_acked - batch.base_sequence) & MAX_INT32 < 1 << 30

    def _can_retry_unknown_id(self, batch: Batch, log_start_offset: int) -> bool:
        key = batch.topic_partition
        if log_start_offset == -1 or batch.sequence_was_reset:
            return True
        self._to_renumber.add(key)
        return True

    def handle_failed_batch(self, batch: Batch, code: ErrorCode, *, adjust: bool) -> None:
        """Takes note of a failed batch. `adjust`: a broker refused it, so later sequences must not leave a gap."""
        self.remove_in_flight_batch(batch)
        if not batch.has_sequence:
            return
        lost = code in (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
        if lost or adjust:
            self._to_renumber.add(batch.topic_partition)

    def note_expired_batch(self, batch: Batch) -> None:
        """Marks the sequence of an expired batch as unresolved: the batch may have been written. The last sequence
        counts.
        """
        if not batch.has_sequence:
            return
        key, following = batch.topic_partition, next_sequence(batch.base_sequence, batch.count)
        if (following - self.unresolved.get(key, following)) & MAX_INT32 < 1 << 30:
            self.unresolved[key] = following

    def resolve_sequences(self) -> None:
        """Releases partitions whose expired batches were written after all; requests a new epoch for the others."""
        lost = []
        for key in list(self.unresolved):
            entry = self.entry_of(key)
            if entry.in_flight:
                continue
            del self.unresolved[key]
            if entry.next != self._sequence_after(entry.last_acked):
                lost.append(key)
        self._to_renumber.update(lost)

    def bump_epoch_when_due(self) -> None:
        """Raises the epoch if a partition needs it; at the last epoch drops the id, so that a new one is requested."""
        if not self._to_renumber or not self.identity.is_valid:
            return
        settled = self._partitions_to_renumber()
        if any(self.entry_of(key).identity == self.identity for key in settled):
            if self.identity.epoch >= MAX_EPOCH:
                self.identity = ProducerIdAndEpoch()
                return
            self.identity = ProducerIdAndEpoch(self.identity.producer_id, self.identity.epoch + 1)
        self._renumber(settled)

    def _partitions_to_renumber(self) -> list[TopicPartition]:
        """The partitions to number from 0 again for which it is known what a broker has written.

        Brokers write without gaps: if the first batch in flight was not written, no later one was.
        """
        in_flight = {key: self.entry_of(key).in_flight for key in self._to_renumber}
        return [
            key
            for key, batches in in_flight.items()
            if not any(batch.is_on_wire for batch in batches) and not (batches and batches[0].may_be_written)
        ]

    def _renumber(self, keys: Iterable[TopicPartition]) -> None:
        for key in keys:
            self._start_sequences_at_beginning(self.entry_of(key))
            self.unresolved.pop(key, None)
            self._to_renumber.discard(key)

    def _start_sequences_at_beginning(self, entry: _Partition) -> None:
        """Numbers the partition from 0 with the current identity, beginning with its batches in flight."""
        entry.identity, entry.next, entry.last_acked = self.identity, 0, NO_SEQUENCE
        for batch in entry.in_flight:
            batch.set_producer_state(self.identity.producer_id, self.identity.epoch, entry.next)
            entry.next = next_sequence(entry.next, batch.count)

    @staticmethod
    def _sequence_after(sequence: int) -> int:
        return 0 if sequence == NO_SEQUENCE else next_sequence(sequence, 1)


def comes_before(one: Batch, other: Batch) -> bool:
    """Whether the sequence of `one` comes before that of `other`, also across the wrap."""
    return 0 < (other.base_sequence - one.base_sequence) & MAX_INT32 < 1 << 30
