"""Down-conversion in the plainest Python: read the records of a batch, keep some, build them anew.

The oracle of the kernel's tests. Rules: `protocol/records/conversion/down.py`.
"""

from stepdown.protocol.errors import InvalidRecord, UnsupportedCompression
from stepdown.protocol.records.batches import Batch, iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record


def convert_down(source: bytes, *, target: int, first_offset: int, zstd_to: Codec | None = None) -> tuple[bytes, int]:
    """Return the converted batches and how many records were converted."""
    parts, converted = [], 0
    for batch in iter_batches(source):
        if batch.is_control:
            continue
        if batch.magic <= target:
            parts.append(bytes(batch.data))
            continue
        data, count = _convert(batch, target, first_offset, zstd_to)
        parts.append(data)
        converted += count
    return b"".join(parts), converted


def _convert(batch: Batch, target: int, first_offset: int, zstd_to: Codec | None) -> tuple[bytes, int]:
    batch.ensure_valid()
    codec = batch.codec
    if codec is Codec.ZSTD:
        if zstd_to is None:
            raise UnsupportedCompression("zstd")
        codec = zstd_to
    records = [record for record in batch.records() if codec or record.offset >= first_offset]
    if not records:
        return b"", 0
    append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    try:
        data = build_batch(
            [_without_headers(record) for record in records],
            magic=target,
            codec=codec,
            timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
            log_append_time=batch.max_timestamp if append_time else None,
        )
    except ValueError as error:
        raise InvalidRecord(str(error)) from error
    return data, len(records)


def _without_headers(record: Record) -> Record:
    return Record(offset=record.offset, timestamp=record.timestamp, key=record.key, value=record.value)
