"""State of one transactional id: the current transaction state and the pending one.

A change begins (`begin`: it is pending), is written to the log, and then takes hold (`complete_transition`) or is
given up (`cancel`); meanwhile every other change is answered CONCURRENT_TRANSACTIONS.

Epochs (Kafka 3.9, TransactionMetadata):

    InitProducerId without a former epoch          epoch + 1, no last epoch
    with the current epoch                         epoch + 1, the former is the last epoch
    with the last epoch                            the current one again: the answer to its first request was lost
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
# The last epoch of all is kept back, so that the coordinator can always fence a producer.
MAX_EPOCH: Final = 2**15 - 1


def is_exhausted(epoch: int) -> bool:
    """Whether a producer of this epoch gets a new id instead of the next epoch."""
    return epoch >= MAX_EPOCH - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMetadata:
    """What is known of a transactional id at one time. `start_ms` is -1 before the first transaction."""

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
        """What is written to the log."""
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
        """What the log says. Raises: ValueError for a status that is none."""
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

    def begin(self, following: TransactionMetadata) -> TransactionMetadata:
        """`following`, which is pending from now on."""
        if self.pending is not None:
            raise RuntimeError(f"{self.transactional_id}: {self.pending.state.label} is pending")
        if self.now.state not in MAY_FOLLOW[following.state]:
            raise RuntimeError(f"{self.transactional_id}: {self.now.state.label} to {following.state.label}")
        self.pending = following
        return following

    def complete_transition(self) -> None:
        """What was pending is written."""
        if self.pending is None:
            raise RuntimeError(f"{self.transactional_id}: nothing is pending")
        self.now, self.pending = self.pending, None

    def cancel(self) -> None:
        """What was pending is not written."""
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

    def next_epoch(self, expected_epoch: int | None, timeout_ms: int, now_ms: int) -> TransactionMetadata:
        """For a producer that starts again, `expected_epoch` the one it says it had.

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

    def next_producer(
        self, producer_id: int, timeout_ms: int, now_ms: int, *, keep_last_epoch: bool
    ) -> TransactionMetadata:
        """With a new producer id, as the epochs of the former are used up."""
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
        """Ongoing, with these partitions too."""
        start_ms = now_ms if self.now.state.is_idle else self.now.start_ms
        partitions = self.now.partitions.union(added)
        return replace(
            self.now, state=TransactionStatus.ONGOING, partitions=partitions, start_ms=start_ms, updated_ms=now_ms
        )

    def prepare_commit_or_abort(self, state: TransactionStatus, now_ms: int) -> TransactionMetadata:
        """Decided: commit or abort."""
        return replace(self.now, state=state, updated_ms=now_ms)

    def fence(self, now_ms: int) -> TransactionMetadata:
        """To be aborted, under an epoch that shuts out the present producer and that no client is ever told.

        From the last epoch of all, which a log may hold, there is none to go to; Kafka 3.9 never aborts there.
        """
        epoch = min(self.now.producer_epoch + 1, MAX_EPOCH)
        return replace(
            self.prepare_commit_or_abort(TransactionStatus.PREPARE_ABORT, now_ms),
            producer_epoch=epoch,
            last_producer_epoch=NO_EPOCH,
        )

    def complete(self, now_ms: int) -> TransactionMetadata:
        """Over: every partition has its marker."""
        return replace(self.now, state=COMPLETE[self.now.state], partitions=frozenset(), updated_ms=now_ms)

    def as_dead(self) -> TransactionMetadata:
        """On the way out, as the id has expired."""
        return replace(self.now, state=TransactionStatus.DEAD)
