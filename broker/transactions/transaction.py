"""State of one transactional id: the current state and the pending one.

A change is pending after `begin_transition`, then written to the log, and then in force (`complete_transition`) or
dropped (`cancel_transition`). While it is pending, other changes are refused with CONCURRENT_TRANSACTIONS.

Epochs (Kafka 3.9, TransactionMetadata):

    InitProducerId without a former epoch          epoch + 1, no last epoch
    with the current epoch                         epoch + 1, the former is the last epoch
    with the last epoch                            the current epoch again: the first answer was lost
    with any other                                 PRODUCER_FENCED
    at 32766 or above                              a new producer id, epoch 0
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ...protocol.coordinator.transaction_log import PartitionsSchema, TransactionLogValue
from ...protocol.errors import ApiError, ErrorCode
from .transaction_status import COMPLETE, MAY_FOLLOW, TransactionStatus

TopicPartition = tuple[str, int]

NO_PRODUCER: Final = -1
NO_EPOCH: Final = -1
NO_START: Final = -1
# No producer gets this epoch, so that the coordinator can always fence one.
MAX_EPOCH: Final = 2**15 - 1


def is_exhausted(epoch: int) -> bool:
    """Whether a producer of this epoch gets a new id instead of the next epoch."""
    return epoch >= MAX_EPOCH - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMetadata:
    """The state of a transactional id, as it is stored. `start_ms` is -1 before the first transaction."""

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionStatus
    updated_ms: int
    start_ms: int = NO_START
    partitions: frozenset[TopicPartition] = frozenset()
    last_producer_id: int = NO_PRODUCER
    last_producer_epoch: int = NO_EPOCH

    def as_value(self) -> TransactionLogValue:
        """The value of its record in the log."""
        return TransactionLogValue(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            transaction_timeout_ms=self.timeout_ms,
            transaction_status=self.state,
            transaction_partitions=None if self.state is TransactionStatus.EMPTY else group_by_topic(self.partitions),
            transaction_last_update_timestamp_ms=self.updated_ms,
            transaction_start_timestamp_ms=self.start_ms,
        )

    @classmethod
    def of_value(cls, value: TransactionLogValue) -> "TransactionMetadata":
        """From the value of a record. Raises: ValueError for an unknown status."""
        partitions = value.transaction_partitions or ()
        return cls(
            producer_id=value.producer_id,
            producer_epoch=value.producer_epoch,
            timeout_ms=value.transaction_timeout_ms,
            state=TransactionStatus(value.transaction_status),
            updated_ms=value.transaction_last_update_timestamp_ms,
            start_ms=value.transaction_start_timestamp_ms,
            partitions=frozenset((topic.topic, index) for topic in partitions for index in topic.partition_ids),
        )


def group_by_topic(partitions: Iterable[TopicPartition]) -> tuple[PartitionsSchema, ...]:
    """The partitions by topic, in order."""
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    return tuple(PartitionsSchema(topic=topic, partition_ids=tuple(ids)) for topic, ids in by_topic.items())


@dataclass(slots=True, kw_only=True)
class Transaction:
    """The state of one transactional id, and the one that is being written."""

    transactional_id: str
    now: TransactionMetadata
    pending: TransactionMetadata | None = None

    # From one state to the next

    def begin_transition(self, following: TransactionMetadata) -> TransactionMetadata:
        """Makes `following` pending, and returns it."""
        if self.pending is not None:
            raise RuntimeError(f"{self.transactional_id}: {self.pending.state.label} is pending")
        if self.now.state not in MAY_FOLLOW[following.state]:
            raise RuntimeError(f"{self.transactional_id}: {self.now.state.label} to {following.state.label}")
        self.pending = following
        return following

    def complete_transition(self) -> None:
        """Puts the pending state into force, after it was written."""
        if self.pending is None:
            raise RuntimeError(f"{self.transactional_id}: nothing is pending")
        self.now, self.pending = self.pending, None

    def cancel_transition(self) -> None:
        """Drops the pending state."""
        self.pending = None

    # What may be asked of it

    def check_producer(self, producer_id: int, producer_epoch: int) -> None:
        """Raises: ApiError INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED."""
        if self.now.producer_id != producer_id:
            message = f"{self.transactional_id} has producer id {self.now.producer_id}, not {producer_id}"
            raise ApiError(message, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if self.now.producer_epoch != producer_epoch:
            known = f"producer {producer_id} of {self.transactional_id} is at epoch {self.now.producer_epoch}"
            message = f"{known}, not {producer_epoch}"
            raise ApiError(message, ErrorCode.PRODUCER_FENCED)

    def check_producer_of_init(self, producer_id: int, producer_epoch: int) -> None:
        """Raises: ApiError PRODUCER_FENCED when InitProducerId names neither the present producer id nor the one before
        it, whose epochs were used up (KIP-360).
        """
        now = self.now
        is_last = producer_id == now.last_producer_id and is_exhausted(producer_epoch)
        if now.producer_epoch != NO_EPOCH and producer_id != now.producer_id and not is_last:
            message = f"{self.transactional_id} has producer id {now.producer_id}, not {producer_id}"
            raise ApiError(message, ErrorCode.PRODUCER_FENCED)

    def check_not_pending(self) -> None:
        """Raises: ApiError CONCURRENT_TRANSACTIONS."""
        if self.pending is not None:
            message = f"{self.transactional_id}: {self.pending.state.label} is being written"
            raise ApiError(message, ErrorCode.CONCURRENT_TRANSACTIONS)

    def check_not_completing(self) -> None:
        """Raises: ApiError CONCURRENT_TRANSACTIONS."""
        if self.now.state.is_prepared:
            message = f"{self.transactional_id}: the markers of {self.now.state.label} are being written"
            raise ApiError(message, ErrorCode.CONCURRENT_TRANSACTIONS)

    def has_timed_out(self, now_ms: int) -> bool:
        is_open = self.pending is None and self.now.state is TransactionStatus.ONGOING
        return is_open and self.now.start_ms + self.now.timeout_ms < now_ms

    def has_expired(self, now_ms: int, expiration_ms: int) -> bool:
        return self.pending is None and self.now.state.is_idle and self.now.updated_ms <= now_ms - expiration_ms

    # The next states

    def prepare_next_epoch(self, expected_epoch: int | None, timeout_ms: int, now_ms: int) -> TransactionMetadata:
        """The state for a producer that starts again; `expected_epoch` is the epoch that its request names.

        Raises: ApiError PRODUCER_FENCED.
        """
        epoch, last_epoch = self._next_epochs(expected_epoch)
        return TransactionMetadata(
            producer_id=self.now.producer_id,
            producer_epoch=epoch,
            timeout_ms=timeout_ms,
            state=TransactionStatus.EMPTY,
            updated_ms=now_ms,
            last_producer_id=self.now.producer_id,
            last_producer_epoch=last_epoch,
        )

    def _next_epochs(self, expected_epoch: int | None) -> tuple[int, int]:
        current = self.now.producer_epoch
        if expected_epoch is None:
            return current + 1, NO_EPOCH
        if current == NO_EPOCH or expected_epoch == current:
            return current + 1, current
        if expected_epoch == self.now.last_producer_epoch:
            return current, expected_epoch
        known = f"{self.transactional_id} is at epoch {current}, before that {self.now.last_producer_epoch}"
        message = f"{known}, not {expected_epoch}"
        raise ApiError(message, ErrorCode.PRODUCER_FENCED)

    def prepare_new_producer_id(
        self, producer_id: int, timeout_ms: int, now_ms: int, *, keep_last_epoch: bool
    ) -> TransactionMetadata:
        """The state with a new producer id, since the epochs of the present one are used up."""
        return TransactionMetadata(
            producer_id=producer_id,
            producer_epoch=0,
            timeout_ms=timeout_ms,
            state=TransactionStatus.EMPTY,
            updated_ms=now_ms,
            last_producer_id=self.now.producer_id,
            last_producer_epoch=self.now.producer_epoch if keep_last_epoch else NO_EPOCH,
        )

    def with_partitions(self, added: Iterable[TopicPartition], now_ms: int) -> TransactionMetadata:
        """The state Ongoing, with these partitions too."""
        start_ms = now_ms if self.now.state.is_idle else self.now.start_ms
        partitions = self.now.partitions.union(added)
        return replace(
            self.now, state=TransactionStatus.ONGOING, partitions=partitions, start_ms=start_ms, updated_ms=now_ms
        )

    def prepare_commit_or_abort(self, state: TransactionStatus, now_ms: int) -> TransactionMetadata:
        """The state after the decision to commit or abort, which `state` names."""
        return replace(self.now, state=state, updated_ms=now_ms)

    def prepare_fence(self, now_ms: int) -> TransactionMetadata:
        """The state PrepareAbort with a new epoch, which no client gets: it fences the present producer.

        An epoch that is the largest already stays as it is; Kafka 3.9 never aborts in that case.
        """
        epoch = min(self.now.producer_epoch + 1, MAX_EPOCH)
        return replace(
            self.prepare_commit_or_abort(TransactionStatus.PREPARE_ABORT, now_ms),
            producer_epoch=epoch,
            last_producer_epoch=NO_EPOCH,
        )

    def prepare_complete(self, now_ms: int) -> TransactionMetadata:
        """The state after every partition has its marker."""
        return replace(self.now, state=COMPLETE[self.now.state], partitions=frozenset(), updated_ms=now_ms)

    def as_dead(self) -> TransactionMetadata:
        """The state before the expired id is removed."""
        return replace(self.now, state=TransactionStatus.DEAD)
