"""A view over one whole v2 batch (`v2_header.py`, then the records, plain or as one compressed stream).

Source: Kafka 3.9, DefaultRecordBatch. Compaction may leave gaps between offsets, a count below the last offset delta,
and batches of no records (61 bytes).
"""

from collections.abc import Iterator

from ..errors import CorruptRecord, InvalidRecord
from . import kernel
from .compression.codecs import decompress_in_chunks
from .layout import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_OVERHEAD,
    MAGIC_V2,
    MAX_OPENED_BYTES,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    Codec,
    TimestampType,
    next_sequence,
)
from .record import Record, decode_records
from .v2_header import read_header


class RecordBatch:
    """One v2 batch. `data` is a view of its bytes, no copy; nothing is checked before `ensure_valid`."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "crc",
        "data",
        "last_offset_delta",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size_bytes",
    )

    base_offset: int
    size_bytes: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    def __init__(self, data: memoryview) -> None:
        """Take the view of exactly one batch. Raises: CorruptRecord when its size is not what its header says."""
        if len(data) < RECORD_BATCH_OVERHEAD:
            raise CorruptRecord(f"a v2 batch of {len(data)} bytes, below its header of {RECORD_BATCH_OVERHEAD}")
        (
            self.base_offset,
            size,
            self.partition_leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = read_header(data)
        if self.magic < MAGIC_V2 or size + LOG_OVERHEAD != len(data):
            raise CorruptRecord(f"a batch of magic {self.magic} that says {size} bytes in a view of {len(data)}")
        self.data = data
        self.size_bytes = len(data)

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def codec(self) -> Codec:
        """Raises: InvalidRecord for ids 5-7."""
        codec = self.attributes & CODEC_MASK
        if codec > Codec.ZSTD:
            raise InvalidRecord(f"unknown codec {codec} in the batch at offset {self.base_offset}")
        return Codec(codec)

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def is_append_time(self) -> bool:
        """Whether `max_timestamp`, the time of appending, is every record's."""
        return self.attributes & TIMESTAMP_TYPE_BIT != 0

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.is_append_time else TimestampType.CREATE_TIME

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return next_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """Return when the cleaner may drop this batch's tombstones and markers (since Kafka 3.1), if it said so."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def body(self) -> memoryview:
        """The records as stored: a view."""
        return self.data[RECORD_BATCH_OVERHEAD:]

    def ensure_valid(self) -> None:
        """Raises: CorruptRecord when the checksum does not match."""
        crc = kernel.crc32c(self.data[ATTRIBUTES_OFFSET:])
        if crc != self.crc:
            raise CorruptRecord(
                f"the batch at offset {self.base_offset} has checksum 0x{self.crc:08x}, its bytes make 0x{crc:08x}"
            )

    def records(self, max_bytes: int = MAX_OPENED_BYTES) -> Iterator[Record]:
        """Yield the records, opening the batch as a stream that may come to `max_bytes`.

        Raises: InvalidRecord for broken contents, RecordTooLarge above `max_bytes`.
        """
        if self.record_count < 0:
            raise InvalidRecord(f"the batch at offset {self.base_offset} has {self.record_count} records")
        append_time = self.max_timestamp if self.timestamp_type is TimestampType.LOG_APPEND_TIME else None
        if not self.record_count and not self.body:
            return iter(())
        return decode_records(
            decompress_in_chunks(self.codec, self.body, magic=self.magic, max_bytes=max_bytes),
            self.record_count,
            base_offset=self.base_offset,
            base_timestamp=self.base_timestamp,
            append_time=append_time,
        )

    def __repr__(self) -> str:
        return (
            f"RecordBatch(offsets {self.base_offset}-{self.last_offset}, {self.record_count} records,"
            f" {self.size_bytes} bytes, codec {self.attributes & CODEC_MASK})"
        )
