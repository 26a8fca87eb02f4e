"""What a Produce answer, or its absence, does to each batch: done, again, split, or failed.

    no error                                 done
    MESSAGE_TOO_LARGE, more than one record  split (KIP-126), unless it is a plain set of magic 0 or 1
    DUPLICATE_SEQUENCE_NUMBER                done: an earlier try was written
    retriable, time and tries left           again
    anything else                            failed; record errors of v8+ tell the records apart

Source: Kafka 3.9, Sender.completeBatch, canRetry and failBatch.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...client.errors import make_printable
from ...protocol.errors import ErrorCode
from ...protocol.messages.produce import BatchIndexAndErrorMessage
from ...protocol.records.layout import CURRENT_MAGIC, Codec
from ..accumulator.producer_batch import Batch, TopicPartition
from ..accumulator.record_accumulator import Accumulator
from ..clock import NEVER_MS
from ..errors import INVALID_METADATA, ProducerError, Timeout, error_of
from ..limited_log import LimitedLog
from ..metadata import Metadata
from ..metrics.metrics import ProducerMetrics
from ..outcome import Outcome
from ..settings import ProducerSettings
from .call_source import CallSource

TELL_NOT_WRITTEN = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
)
"""Errors that prove that no earlier attempt wrote the batch."""


class PartitionResult(NamedTuple):
    """One partition of an answer."""

    code: ErrorCode = ErrorCode.NONE
    base_offset: int = -1
    append_time: int = -1
    log_start_offset: int = -1
    message: str | None = None
    record_errors: Sequence[BatchIndexAndErrorMessage] = ()


class ProduceResultHandler:
    """Ends batches. It also keeps those in flight, by partition, in the order in which they were drained."""

    def __init__(
        self,
        settings: ProducerSettings,
        accumulator: Accumulator,
        metadata: Metadata,
        meters: ProducerMetrics,
        log: LimitedLog,
        call_source: CallSource | None,
    ) -> None:
        self._settings, self._accumulator, self._metadata = settings, accumulator, metadata
        self._meters, self._log, self._call_source = meters, log, call_source
        self.in_flight: dict[TopicPartition, list[Batch]] = {}
        self._nothing_expires_before_ms = 0

    def add_in_flight(self, batches: Iterable[Batch]) -> None:
        """Takes note of batches that were drained."""
        for batch in batches:
            batch.is_on_wire = batch.may_be_written = True
            in_flight = self.in_flight.get(batch.topic_partition)
            if in_flight is None:
                self.in_flight[batch.topic_partition] = [batch]
            else:
                in_flight.append(batch)

    def handle_failure(self, batch: Batch, result: PartitionResult, magic: int, now_ms: int) -> None:
        """Handles an error for a batch that was sent in the format of that magic: splits, retries or fails it."""
        code = result.code
        if code in TELL_NOT_WRITTEN:
            batch.may_be_written = False
        if code is ErrorCode.MESSAGE_TOO_LARGE and self._can_split(batch, magic):
            self._split(batch)
        elif self._can_retry(batch, result, now_ms):
            self._remove_in_flight(batch)
            self._accumulator.reenqueue(batch, now_ms)
            self._log.warning(
                f"retried {code.name}",
                "%d record(s) for %s-%d are sent again in %d ms: %s",
                *(batch.count, batch.topic, batch.partition, batch.backoff_ms, code.name),
            )
            self._meters.count_topic("retried", batch.topic, batch.count)
        elif code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self.succeed(batch, result.base_offset, result.append_time)
        else:
            self._refuse(batch, result)
        if code in INVALID_METADATA:
            self._metadata.request_update()

    def expire(self, now_ms: int) -> int:
        """Fails batches past `delivery.timeout.ms`, those in flight first since they are older. Returns at which time
        to call it again: now, if something failed, since that may free other batches.

        Kafka 3.9 fails queued batches first, so callbacks could run out of order when the loop stalled; and it looks
        at batches in the order in which they were sent last, so a retried one could outlive its time behind newer ones.
        """
        if now_ms >= self._nothing_expires_before_ms:
            # A batch that is made from now on has its whole time before it.
            latest_ms = now_ms + self._settings.delivery_timeout_ms
            self._nothing_expires_before_ms = min(latest_ms, self._expire_all(now_ms))
        return self._nothing_expires_before_ms

    def _expire_all(self, now_ms: int) -> int:
        next_ms = NEVER_MS
        for batches in list(self.in_flight.values()):
            for batch in sorted(batches, key=_creation_ms):
                if not batch.is_expired(now_ms, self._settings.delivery_timeout_ms):
                    next_ms = min(next_ms, batch.created_ms + self._settings.delivery_timeout_ms)
                    break
                self._expire(batch, now_ms)
                next_ms = now_ms
        for batch in self._accumulator.take_overdue(now_ms):
            self._expire(batch, now_ms)
            next_ms = now_ms
        return min(next_ms, self._accumulator.next_expiry_ms())

    def _expire(self, batch: Batch, now_ms: int) -> None:
        age_ms = now_ms - batch.created_ms
        text = f"{batch.count} record(s) for {batch.topic}-{batch.partition} expired: {age_ms} ms since batch creation"
        self.fail(batch, Timeout(text))
        if batch.has_sequence and self._call_source is not None:
            self._call_source.sequences.note_expired_batch(batch)

    def fail(
        self,
        batch: Batch,
        error: ProducerError,
        *,
        failures: dict[int, ProducerError] | None = None,
        adjust: bool = False,
    ) -> None:
        """Ends the batch with an error. `adjust`: a broker refused it, so its sequences are free again."""
        self._remove_in_flight(batch)
        if batch.is_done:
            return
        if self._call_source is not None:
            self._call_source.sequences.handle_failed_batch(batch, error.code, adjust=adjust)
            self._call_source.handle_failed_batch(error)
        try:
            self._accumulator.release(batch)
            self._meters.count_topic("failed", batch.topic, batch.count)
            if len(batch.listeners) < batch.count:
                text = "%d record(s) for %s-%d failed, and of %d nobody waits for the end: %s"
                unheard = batch.count - len(batch.listeners)
                self._log.warning("failed", text, batch.count, batch.topic, batch.partition, unheard, error)
        finally:
            self._end_batch(batch, Outcome(error=error, failures=failures))

    def _end_batch(self, batch: Batch, outcome: Outcome) -> None:
        """Ends a batch. No queue has it now, so nobody else would: after a fault it tries again."""
        try:
            batch.end(outcome)
        except Exception as fault:
            self._log.log_fault(f"telling of the end of a batch for {batch.topic}-{batch.partition}", fault)
            batch.end(outcome)

    def fail_for_fault(self, batch: Batch, fault: Exception) -> None:
        """Ends a batch after a fault of the producer, even if ending it fails as well."""
        where = f"{batch.topic}-{batch.partition}"
        error = ProducerError(f"{batch.count} record(s) for {where} met a fault of the producer: {fault!r}")
        for _ in range(2):
            try:
                self.fail(batch, error, adjust=True)
            except Exception as another:
                self._log.log_fault(f"ending a batch for {where}", another)
        if not batch.is_done:
            batch.end(Outcome(error=error))

    def succeed(self, batch: Batch, base_offset: int = -1, append_time: int = -1) -> None:
        """Takes the answer that a batch was written."""
        if self._call_source is not None:
            self._call_source.sequences.acknowledge(batch, base_offset)
        self._remove_in_flight(batch)
        try:
            self._accumulator.release(batch)
        finally:
            self._end_batch(batch, Outcome(base_offset, append_time))

    def _split(self, batch: Batch) -> None:
        if self._call_source is not None:
            self._call_source.sequences.remove_in_flight_batch(batch)
        self._remove_in_flight(batch)
        self._accumulator.split_and_reenqueue(batch)
        self._meters.count("splits")

    def _can_split(self, batch: Batch, magic: int) -> bool:
        return batch.count > 1 and not batch.is_done and (magic >= CURRENT_MAGIC or batch.codec is not Codec.NONE)

    def _can_retry(self, batch: Batch, result: PartitionResult, now_ms: int) -> bool:
        if batch.is_done or batch.is_expired(now_ms, self._settings.delivery_timeout_ms):
            return False
        if batch.attempts >= self._settings.retries:
            return False
        if self._call_source is None:
            return result.code.retriable
        return self._call_source.sequences.can_retry(batch, result.code, result.log_start_offset)

    def _refuse(self, batch: Batch, result: PartitionResult) -> None:
        where = f"{batch.topic}-{batch.partition}"
        detail = f": {make_printable(result.message)}" if result.message else ""
        error = error_of(
            result.code, f"the broker refused {batch.count} record(s) for {where}, {result.code.name}{detail}"
        )
        failures: dict[int, ProducerError] | None = None
        if result.record_errors:
            failures = self._failures_by_record(result)
            error = ProducerError(f"part of a batch for {where} that had invalid records", result.code)
        self.fail(batch, error, failures=failures, adjust=batch.attempts < self._settings.retries)

    @staticmethod
    def _failures_by_record(result: PartitionResult) -> dict[int, ProducerError]:
        alone = len(result.record_errors) == 1
        code = result.code if alone else ErrorCode.INVALID_RECORD
        why = result.message or result.code.name
        return {
            item.batch_index: error_of(code, make_printable(item.batch_index_error_message or why))
            for item in result.record_errors
        }

    def _remove_in_flight(self, batch: Batch) -> None:
        batch.is_on_wire = False
        batches = self.in_flight.get(batch.topic_partition)
        if batches is not None and batch in batches:
            batches.remove(batch)
            if not batches:
                del self.in_flight[batch.topic_partition]


def _creation_ms(batch: Batch) -> int:
    return batch.created_ms
