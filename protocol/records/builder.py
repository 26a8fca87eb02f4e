"""Records to bytes of any magic: a v2 batch, a plain message set, or a compressed wrapper.

`layout.py` has the formats. Source of the rules: Kafka 3.9, MemoryRecordsBuilder. Offsets increase strictly, and by no
more than 2^31-1 within a batch. A v2 batch counts timestamps from its first record's; with LogAppendTime its max
timestamp is the append time and its records keep their own deltas. Magic 1 writes the append time into each message.
"""

from collections.abc import Iterable, Sequence
from struct import pack

from . import kernel
from .compression.codecs import compress
from .growing_batch import GrowingBatch
from .layout import (
    CONTROL_BIT,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    LEGACY_CRC_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V0,
    MAGIC_V1,
    MAGIC_V2,
    MAX_INT32,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    V0_HEADER,
    V1_HEADER,
    Codec,
    ControlType,
    TimestampType,
)
from .record import Buffer, Record, encode_record
from .v2_header import write_header

_NO_HEADERS = b"\0"  # their count


def build_batch(
    records: Iterable[Record],
    *,
    magic: int = CURRENT_MAGIC,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    log_append_time: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """Return a v2 batch, or a message set of magic 0 or 1 (one wrapper when compressed), of records at their offsets.

    `base_offset` and `last_offset` are the first and last record's unless compaction left others; a v2 batch of no
    records needs both. `log_append_time` is the timestamp of LogAppendTime.

    Raises: ValueError for what no writer may produce, UnsupportedCompression for zstd below magic 2.
    """
    records = list(records)
    _check_offsets_and_timestamps(records, base_offset)
    append_time = None
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        append_time = NO_TIMESTAMP if log_append_time is None else log_append_time
    if magic < MAGIC_V2:
        return _build_message_set(records, magic, codec, level, append_time, base_offset)
    first = records[0].offset if base_offset is None else base_offset
    last = records[-1].offset if last_offset is None else last_offset
    base_timestamp, max_timestamp = _first_and_max_timestamp(records, append_time)
    attributes = codec | TIMESTAMP_TYPE_BIT * (append_time is not None)
    attributes |= TRANSACTIONAL_BIT * transactional | CONTROL_BIT * control
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_BIT
        base_timestamp = delete_horizon_ms
    encoded = (encode_record(record, base_offset=first, base_timestamp=base_timestamp) for record in records)
    body = compress(codec, encoded, magic=magic, level=level) if records else b""
    head = write_header(
        body,
        base_offset=first,
        leader_epoch=partition_leader_epoch,
        attributes=attributes,
        last_offset_delta=last - first,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    return head + body


def build_plain_batch(
    pairs: Iterable[tuple[bytes | None, bytes | None]],
    *,
    timestamp: int,
    codec: Codec = Codec.NONE,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """Return a v2 batch of at least one key and value, as `build_batch` makes it of records of one timestamp that have
    no headers. A record costs a tenth here: the compiled loop of the producer writes it.

    Raises: ValueError for more than 2 GiB.
    """
    batch = GrowingBatch(MAX_INT32, 1)
    for key, value in pairs:
        if not batch.append(timestamp, key, value, _NO_HEADERS):
            raise ValueError("the records take more than 2 GiB")
    records = batch.close_without_header()
    body = records if codec is Codec.NONE else compress(codec, records, magic=MAGIC_V2)
    head = write_header(
        body,
        base_offset=base_offset,
        leader_epoch=partition_leader_epoch,
        attributes=codec | TRANSACTIONAL_BIT * transactional | CONTROL_BIT * control,
        last_offset_delta=batch.count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=batch.count,
    )
    return b"".join((head, body))


def build_control_marker(
    kind: ControlType,
    *,
    offset: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """Return the batch of one record that ends a transaction: ABORT or COMMIT."""
    record = Record(
        offset=offset, timestamp=timestamp, key=pack(">hh", 0, kind), value=pack(">hi", 0, coordinator_epoch)
    )
    return build_batch(
        [record],
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def encode_message(
    *, magic: int, offset: int, timestamp: int, attributes: int, key: Buffer | None, value: Buffer | None
) -> bytes:
    """Return one outer entry of a magic 0 or 1 set; magic 0 has no timestamp and no timestamp type."""
    tail = _encode_nullable(key) + _encode_nullable(value)
    if magic == MAGIC_V0:
        head = V0_HEADER.pack(
            offset, V0_HEADER.size - LOG_OVERHEAD + len(tail), 0, magic, attributes & ~TIMESTAMP_TYPE_BIT
        )
    else:
        head = V1_HEADER.pack(offset, V1_HEADER.size - LOG_OVERHEAD + len(tail), 0, magic, attributes, timestamp)
    message = bytearray(head + tail)
    crc = kernel.crc32(memoryview(message)[MAGIC_OFFSET:])
    message[LEGACY_CRC_OFFSET : LEGACY_CRC_OFFSET + 4] = crc.to_bytes(4, "big")
    return bytes(message)


def _build_message_set(
    records: Sequence[Record], magic: int, codec: Codec, level: int | None, append_time: int | None, base: int | None
) -> bytes:
    if any(record.headers for record in records):
        raise ValueError(f"magic {magic} has no headers")
    attributes = 0 if append_time is None else TIMESTAMP_TYPE_BIT
    first = records[0].offset if base is None else base
    relative_to = first if magic == MAGIC_V1 and codec else 0
    messages = [
        encode_message(
            magic=magic,
            offset=record.offset - relative_to,
            timestamp=record.timestamp if append_time is None else append_time,
            attributes=attributes,
            key=record.key,
            value=record.value,
        )
        for record in records
    ]
    if not codec:
        return b"".join(messages)
    return encode_message(
        magic=magic,
        offset=records[-1].offset,
        timestamp=_first_and_max_timestamp(records, append_time)[1],
        attributes=attributes | codec,
        key=None,
        value=compress(codec, messages, magic=magic, level=level),
    )


def _check_offsets_and_timestamps(records: Sequence[Record], base_offset: int | None) -> None:
    if not records:
        return
    last = None
    for record in records:
        if last is not None and record.offset <= last:
            raise ValueError(f"offset {record.offset} after {last}")
        if record.timestamp < 0 and record.timestamp != NO_TIMESTAMP:
            raise ValueError(f"negative timestamp {record.timestamp}")
        last = record.offset
    first = records[0].offset if base_offset is None else base_offset
    if records[-1].offset - first > MAX_INT32:
        raise ValueError(f"offset {records[-1].offset} is too far from {first}")


def _first_and_max_timestamp(records: Sequence[Record], append_time: int | None) -> tuple[int, int]:
    """Return the first record's timestamp, and the highest one or the append time."""
    if not records:
        return NO_TIMESTAMP, NO_TIMESTAMP if append_time is None else append_time
    if append_time is not None:
        return records[0].timestamp, append_time
    return records[0].timestamp, max(record.timestamp for record in records)


def _encode_nullable(value: Buffer | None) -> bytes:
    return pack(">i", -1) if value is None else pack(">i", len(value)) + value
