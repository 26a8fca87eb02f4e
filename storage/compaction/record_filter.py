"""Decides what compaction retains of the batches that the compiled loop does not handle.

    aborted data                          is removed
    marker without data before it         gets a delete horizon, and is removed when that has passed
    records of a compressed batch         kept as `protocol/records/compaction_loops.py` decides, compressed again
    last batch of an active producer      is kept, empty if need be: a header of 61 bytes with its sequence (KIP-98)
    magic 0 and 1                         tombstones are kept while their segment is young; the wrapper is built again
                                          around the retained messages

A v2 batch keeps its base offset, last offset, sequence, producer and leader epoch.
Source: Kafka 3.9, Cleaner.cleanInto, MemoryRecords.filterTo.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ...protocol.errors import CorruptRecord
from ...protocol.records.batch import RecordBatch
from ...protocol.records.batches import Batch
from ...protocol.records.builder import build_batch
from ...protocol.records.compaction_loops import OffsetMap
from ...protocol.records.compression.codecs import compress, decompress
from ...protocol.records.layout import (
    CODEC_MASK,
    DELETE_HORIZON_BIT,
    NO_TIMESTAMP,
    TimestampType,
)
from ...protocol.records.legacy_batch import LegacyBatch
from ...protocol.records.record import Record
from ...protocol.records.v2_header import write_header
from .aborted_transactions import CleanedTransactionMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRecord:
    """The last offset of a producer's data (-1 if only markers are left), and the producer's epoch."""

    data_offset: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningTerms:
    """The fixed inputs of one cleaning. `horizon_ms`: the delete horizon for batches that get one now."""

    now_ms: int
    horizon_ms: int
    max_opened_bytes: int
    producers: Mapping[int, LastRecord]


class RecordFilter:
    """Removes records from batches, which have to be passed in the order of the log."""

    def __init__(self, offsets: OffsetMap, aborted: CleanedTransactionMetadata, terms: CleaningTerms) -> None:
        self._offsets = offsets
        self._aborted = aborted
        self._terms = terms
        # Whether tombstones of magic 0 and 1 are kept in the segment that is being copied.
        self.keeps_old_tombstones = True

    def filter_batch(self, batch: Batch) -> bytes | memoryview | None:
        """The batch unchanged, one with fewer records, or None if nothing is kept.

        Raises: CorruptRecord, RecordTooLarge.
        """
        batch.ensure_valid()
        if isinstance(batch, LegacyBatch):
            return self._filter_messages(batch)
        left = self._filter_control(batch) if batch.is_control else self._filter_data(batch)
        if left is None and self._is_last_of_producer(batch):
            return without_records(batch)
        return left

    def _is_last_of_producer(self, batch: RecordBatch) -> bool:
        last = self._terms.producers.get(batch.producer_id)
        if last is None or batch.producer_id < 0:
            return False
        if last.data_offset >= 0:
            return batch.last_offset == last.data_offset
        return batch.is_control and batch.producer_epoch == last.epoch

    def _filter_control(self, batch: RecordBatch) -> bytes | memoryview | None:
        is_done = self._aborted.can_discard_control_batch(batch)
        horizon_ms = batch.delete_horizon_ms
        if not batch.record_count or (is_done and horizon_ms is not None and horizon_ms <= self._terms.now_ms):
            return None
        if not is_done or horizon_ms is not None:
            return batch.data
        return build_batch(
            batch.records(),
            base_offset=batch.base_offset,
            last_offset=batch.last_offset,
            timestamp_type=batch.timestamp_type,
            log_append_time=batch.max_timestamp,
            partition_leader_epoch=batch.partition_leader_epoch,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            transactional=batch.is_transactional,
            control=True,
            delete_horizon_ms=self._terms.horizon_ms,
        )

    def _filter_data(self, batch: RecordBatch) -> bytes | memoryview | None:
        if self._aborted.is_aborted(batch) or not batch.record_count:
            return None
        opened = decompress(batch.codec, batch.body, magic=batch.magic, max_bytes=self._terms.max_opened_bytes)
        horizon_ms = batch.delete_horizon_ms
        kept = self._offsets.mark_retained_records(
            opened,
            batch.record_count,
            batch.base_offset,
            batch.base_timestamp,
            horizon_ms is None or self._terms.now_ms < horizon_ms,
        )
        if kept < 0:
            raise CorruptRecord(f"the batch at offset {batch.base_offset} has a broken record")
        if not kept:
            return None
        needs_horizon = self._offsets.has_tombstones and horizon_ms is None
        if kept == batch.record_count and not needs_horizon:
            return batch.data
        return self._rebuild_batch(batch, opened, kept, self._terms.horizon_ms if needs_horizon else horizon_ms)

    def _rebuild_batch(
        self, batch: RecordBatch, opened: bytes | bytearray | memoryview, kept: int, horizon_ms: int | None
    ) -> bytes:
        is_append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
        first = batch.max_timestamp if is_append_time else self._offsets.first_timestamp
        base_timestamp = first if horizon_ms is None else horizon_ms
        shift = (batch.max_timestamp if is_append_time else batch.base_timestamp) - base_timestamp
        records = self._offsets.copy_marked_records(opened, batch.record_count, shift, is_append_time)
        attributes = batch.attributes if horizon_ms is None else batch.attributes | DELETE_HORIZON_BIT
        return _build_batch_like(
            batch,
            compress(batch.codec, records, magic=batch.magic) if batch.is_compressed else records,
            attributes=attributes,
            base_timestamp=base_timestamp,
            max_timestamp=batch.max_timestamp if is_append_time else self._offsets.max_timestamp,
            record_count=kept,
        )

    # Magic 0 and 1

    def _filter_messages(self, batch: LegacyBatch) -> bytes | memoryview | None:
        records = list(batch.records(self._terms.max_opened_bytes))
        kept = [record for record in records if self._is_retained(record)]
        if not kept:
            return None
        if len(kept) == len(records):
            return batch.data
        return build_batch(
            kept,
            magic=batch.magic,
            codec=batch.codec,
            timestamp_type=batch.timestamp_type,
            log_append_time=batch.max_timestamp,
        )

    def _is_retained(self, record: Record) -> bool:
        if record.offset > self._offsets.latest_offset:
            return True
        if record.key is None or (record.value is None and not self.keeps_old_tombstones):
            return False
        return record.offset >= self._offsets.get(record.key)


def without_records(batch: RecordBatch) -> bytes:
    """The header alone, as an empty batch, which keeps the producer's sequence and epoch known."""
    attributes = batch.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT)
    return _build_batch_like(
        batch,
        b"",
        attributes=attributes,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=batch.max_timestamp,
        record_count=0,
    )


def _build_batch_like(
    origin: RecordBatch, body: bytes, *, attributes: int, base_timestamp: int, max_timestamp: int, record_count: int
) -> bytes:
    head = write_header(
        body,
        base_offset=origin.base_offset,
        leader_epoch=origin.partition_leader_epoch,
        attributes=attributes,
        last_offset_delta=origin.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=origin.producer_id,
        producer_epoch=origin.producer_epoch,
        base_sequence=origin.base_sequence,
        record_count=record_count,
    )
    return head + body
