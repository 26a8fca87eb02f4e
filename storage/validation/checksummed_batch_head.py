"""Makes the 61-byte head of a magic 2 batch, and an append from the head and its body.

The log itself writes base offset and leader epoch (`prepared_append.py`). The checksum covers everything from byte 21
on, so a head that changes there gets a new checksum, which is computed over the body too.
"""

from dataclasses import dataclass, replace

from ...protocol.records.batch import RecordBatch
from ...protocol.records.layout import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    Codec,
    TimestampType,
)
from ...protocol.records.v2_header import write_header
from .prepared_append import PreparedAppend

_KEPT_IN_PLACE = CODEC_MASK | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHead:
    """The fields of a head that the checksum covers."""

    codec: Codec
    timestamp_type: TimestampType
    record_count: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    transactional: bool = False

    def with_producer_of(self, batch: RecordBatch) -> "BatchHead":
        """The head with the producer fields and the transactional flag of `batch`."""
        return replace(
            self,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            transactional=batch.is_transactional,
        )

    def prepare_append(self, body: memoryview) -> PreparedAppend:
        """The append of a batch with this head and `body`, which takes `record_count` offsets."""
        attributes = self.codec | TRANSACTIONAL_BIT * self.transactional
        if self.timestamp_type is TimestampType.LOG_APPEND_TIME:
            attributes |= TIMESTAMP_TYPE_BIT
        head = write_header(
            body,
            attributes=attributes,
            last_offset_delta=self.record_count - 1,
            base_timestamp=self.base_timestamp,
            max_timestamp=self.max_timestamp,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            record_count=self.record_count,
        )
        return PreparedAppend(
            head=head,
            body=body,
            record_count=self.record_count,
            last_offset_delta=self.record_count - 1,
            max_timestamp=self.max_timestamp,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            is_transactional=self.transactional,
        )


def prepare_with_timestamps(batch: RecordBatch, timestamp_type: TimestampType, max_timestamp: int) -> PreparedAppend:
    """The append of `batch` with this timestamp type and max timestamp; if both are unchanged, so is its head."""
    body = batch.body
    if batch.timestamp_type is timestamp_type and batch.max_timestamp == max_timestamp:
        head = bytes(batch.data[:RECORD_BATCH_OVERHEAD])
    else:
        append_time = TIMESTAMP_TYPE_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0
        head = write_header(
            body,
            attributes=batch.attributes & _KEPT_IN_PLACE | append_time,
            last_offset_delta=batch.last_offset_delta,
            base_timestamp=batch.base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            record_count=batch.record_count,
        )
    return PreparedAppend(
        head=head,
        body=body,
        record_count=batch.record_count,
        last_offset_delta=batch.last_offset_delta,
        max_timestamp=max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
    )
