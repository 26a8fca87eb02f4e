"""The state of each producer of a log: epoch, last sequence numbers, open transaction (KIP-98).

    a client's batch                                 response
    same epoch, repeats one of the last 5 batches    duplicate: success with the offsets of that batch
    epoch below the known one                        INVALID_PRODUCER_EPOCH 47
    epoch above, first sequence not 0                OUT_OF_ORDER_SEQUENCE_NUMBER 45
    same epoch, sequence not last + 1                OUT_OF_ORDER_SEQUENCE_NUMBER 45
    no transaction marker while one is open          INVALID_TXN_STATE 48
    unknown producer                                 any sequence is accepted

Source: Kafka 3.9 `ProducerStateManager`, `ProducerAppendInfo`, `ProducerStateEntry`.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...protocol.errors import ApiError, ErrorCode
from ..validation.prepared_append import AppendOrigin, PreparedAppend
from .control_marker import Marker

BATCHES_REMEMBERED = 5
NO_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
_SEQUENCES = 1 << 31
_MOST_OF_RECORDS = 1 << 62


def highest_producer_id(ids: Iterable[int]) -> int:
    """The highest of these ids, -1 for none. Ids of the upper half of the range are ignored: no coordinator hands them
    out, but a client may write any id, and after a single such record few ids would be left."""
    return max((each for each in ids if each < _MOST_OF_RECORDS), default=-1)


class BatchSequence(NamedTuple):
    """One appended batch: its sequences, the offset of its last record, last - first offset, and its timestamp."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) % _SEQUENCES

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class CompletedTransaction(NamedTuple):
    """A completed transaction; `last_offset` is that of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerEntry:
    """The state of one producer; `transaction_first_offset` is -1 without an open transaction.

    `captures`: the number of captures of all producers before this entry was made.
    """

    __slots__ = (
        "batches",
        "captures",
        "coordinator_epoch",
        "epoch",
        "last_timestamp",
        "producer_id",
        "transaction_first_offset",
    )

    def __init__(
        self,
        producer_id: int,
        *,
        epoch: int = NO_EPOCH,
        coordinator_epoch: int = -1,
        last_timestamp: int = -1,
        transaction_first_offset: int = NO_OFFSET,
        batches: Iterable[BatchSequence] = (),
        captures: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_first_offset = transaction_first_offset
        self.batches = list(batches)
        self.captures = captures

    def copy(self, captures: int) -> "ProducerEntry":
        return ProducerEntry(
            self.producer_id,
            epoch=self.epoch,
            coordinator_epoch=self.coordinator_epoch,
            last_timestamp=self.last_timestamp,
            transaction_first_offset=self.transaction_first_offset,
            batches=self.batches,
            captures=captures,
        )

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def duplicate_of(self, batch: PreparedAppend) -> BatchSequence | None:
        """The known batch with exactly the same sequence numbers, or None."""
        if batch.producer_epoch != self.epoch:
            return None
        last_sequence = batch.last_sequence
        for known in self.batches:
            if known.last_sequence == last_sequence and known.first_sequence == batch.base_sequence:
                return known
        return None

    def set_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch

    def add(self, epoch: int, batch: BatchSequence) -> None:
        self.set_epoch(epoch)
        if len(self.batches) == BATCHES_REMEMBERED:
            del self.batches[0]
        self.batches.append(batch)
        self.last_timestamp = batch.timestamp


class ProducerStates:
    """The producers of one log, as of the log's end.

    `has_unstable`: whether `first_unstable_offset` is not None: a transaction is open or not yet replicated.
    """

    __slots__ = ("_captures", "_ongoing", "_unreplicated", "has_unstable", "name", "producers")

    def __init__(self, name: str) -> None:
        """`name`: the name of the log, for messages."""
        self.name = name
        self.producers: dict[int, ProducerEntry] = {}
        # First offset -> producer id of open transactions; ascending, since transactions begin at the log's end.
        self._ongoing: dict[int, int] = {}
        # Completed transactions whose markers may be at or above the high watermark.
        self._unreplicated: list[CompletedTransaction] = []
        self.has_unstable = False
        self._captures = 0

    # Before a batch is written

    def find_duplicate(self, batch: PreparedAppend) -> BatchSequence | None:
        """The earlier batch that this one repeats, or None when it may be appended.

        Raises: ApiError 45, 47, 48.
        """
        entry, origin = self.producers.get(batch.producer_id), batch.origin
        if origin is AppendOrigin.REPLICATION:
            return None
        if entry is None:
            return None
        if origin is AppendOrigin.CLIENT and (duplicate := entry.duplicate_of(batch)) is not None:
            return duplicate
        if batch.producer_epoch < entry.epoch:
            raise self._make_refusal(
                batch,
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"epoch {batch.producer_epoch} is below the known {entry.epoch}",
            )
        if batch.is_control:
            return None
        if origin is AppendOrigin.CLIENT:
            self._check_sequence(entry, batch)
        if entry.transaction_first_offset >= 0 and not batch.is_transactional:
            raise self._make_refusal(
                batch, ErrorCode.INVALID_TXN_STATE,
                f"not transactional, but its transaction that began at offset {entry.transaction_first_offset} is open",
            )  # fmt: skip
        return None

    def _check_sequence(self, entry: ProducerEntry, batch: PreparedAppend) -> None:
        if entry.epoch == NO_EPOCH:
            return
        if batch.producer_epoch != entry.epoch:
            expected = 0
        else:
            expected = (entry.last_sequence + 1) % _SEQUENCES
        if batch.base_sequence != expected:
            raise self._make_refusal(
                batch, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"sequence {expected} of epoch {batch.producer_epoch} expected, found {batch.base_sequence}",
            )  # fmt: skip

    def check_marker(self, producer_id: int, marker: Marker) -> None:
        """Checks the coordinator epoch of a marker. Raises: ApiError 52 when a later coordinator already wrote one."""
        entry = self.producers.get(producer_id)
        if entry is not None and entry.coordinator_epoch > marker.coordinator_epoch:
            raise ApiError(
                f"{self.name}: producer {producer_id}: coordinator epoch {marker.coordinator_epoch} is below the known "
                f"{entry.coordinator_epoch}",
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            )

    def _make_refusal(self, batch: PreparedAppend, code: ErrorCode, what: str) -> ApiError:
        return ApiError(f"{self.name}: producer {batch.producer_id}: {what}", code)

    # After a batch is written, or when it is read again

    def add_batch(
        self, producer_id: int, epoch: int, last_sequence: int, *, first_offset: int, last_offset: int, timestamp: int,
        is_transactional: bool,
    ) -> None:  # fmt: skip
        """Adds a data batch that is in the log."""
        entry = self._entry_to_change(producer_id)
        entry.add(epoch, BatchSequence(last_sequence, last_offset, last_offset - first_offset, timestamp))
        if is_transactional and entry.transaction_first_offset < 0:
            entry.transaction_first_offset = first_offset
            self._ongoing[first_offset] = producer_id
            self.has_unstable = True

    def add_marker(
        self, producer_id: int, epoch: int, marker: Marker, *, offset: int, timestamp: int
    ) -> CompletedTransaction | None:
        """Adds a marker that is in the log; returns the transaction that it ends, None if that has no data here."""
        entry = self._entry_to_change(producer_id)
        first_offset = entry.transaction_first_offset
        entry.set_epoch(epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = timestamp
        entry.transaction_first_offset = NO_OFFSET
        if first_offset < 0:
            return None
        return CompletedTransaction(producer_id, first_offset, offset, marker.is_abort)

    def stable_offset_after(self, completed: CompletedTransaction) -> int:
        """The last stable offset after this transaction has ended."""
        for first_offset, producer_id in self._ongoing.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """Ends the transaction; it stays unstable until the high watermark passes its marker."""
        self._ongoing.pop(completed.first_offset, None)
        self._unreplicated.append(completed)
        self.has_unstable = True

    def _entry_to_change(self, producer_id: int) -> ProducerEntry:
        entry = self.producers.get(producer_id)
        if entry is None:
            entry = self.producers[producer_id] = ProducerEntry(producer_id, captures=self._captures)
        elif entry.captures != self._captures:
            entry = self.producers[producer_id] = entry.copy(self._captures)
        return entry

    def capture(self) -> tuple[ProducerEntry, ...]:
        """The current entries of all producers, for another thread; later changes are made in copies of them."""
        self._captures += 1
        return tuple(self.producers.values())

    # Transactions

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the earliest transaction that is open or not yet replicated; None when there is none."""
        first = next(iter(self._ongoing), None)
        if self._unreplicated:
            unreplicated = min(completed.first_offset for completed in self._unreplicated)
            return unreplicated if first is None else min(first, unreplicated)
        return first

    def note_high_watermark(self, high_watermark: int) -> None:
        """Drops completed transactions whose markers are below it: they are stable now."""
        if self._unreplicated:
            self._unreplicated = [done for done in self._unreplicated if done.last_offset >= high_watermark]
            self.has_unstable = bool(self._ongoing or self._unreplicated)

    # Loading and expiring

    def load(self, entries: Iterable[ProducerEntry]) -> None:
        """Adds the entries of a snapshot."""
        for entry in entries:
            self.producers[entry.producer_id] = entry
        open_transactions = sorted(
            (entry.transaction_first_offset, entry.producer_id)
            for entry in self.producers.values()
            if entry.transaction_first_offset >= 0
        )
        self._ongoing = dict(open_transactions)
        self.has_unstable = bool(self._ongoing or self._unreplicated)

    def clear(self) -> None:
        self.producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self.has_unstable = False

    def expire(self, now_ms: int, expiration_ms: int) -> Iterator[None]:
        """Removes producers idle for `expiration_ms` without an open transaction; yields after each producer."""
        for producer_id in tuple(self.producers):
            entry = self.producers.get(producer_id)
            if (
                entry is not None
                and entry.transaction_first_offset < 0
                and now_ms - entry.last_timestamp >= expiration_ms
            ):
                del self.producers[producer_id]
            yield
