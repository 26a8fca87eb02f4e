"""Converts messages of magic 0 and 1 up to v2 batches that keep their offsets.

A wrapper becomes one batch of its codec. Plain messages become batches of up to 16 KiB, as long as offsets follow one
another and the timestamp type stays. The kernel numbers records from 0 on, so messages with gaps between them, which
compaction leaves, are built one by one.
"""

from collections.abc import Iterator

from ...protocol.records.batch import RecordBatch
from ...protocol.records.batches import iter_batches
from ...protocol.records.builder import build_batch
from ...protocol.records.compression.codecs import make_compressor
from ...protocol.records.conversion.up import convert_up
from ...protocol.records.layout import MAGIC_V2, TimestampType
from ...protocol.records.legacy_batch import LegacyBatch
from ...protocol.records.record import Buffer
from ...storage.validation.checksummed_batch_head import BatchHead

GROUP_BYTES = 16 * 1024


def convert_chunk_up(chunk: Buffer) -> bytes:
    """Return the whole batches of `chunk` in magic 2; those of magic 2 are copied.

    Raises: CorruptRecord, InvalidRecord, RecordTooLarge.
    """
    out = bytearray()
    group: list[LegacyBatch] = []
    for batch in iter_batches(chunk):
        if group and not _can_join(group, batch):
            out += _convert_group(group)
            group = []
        if isinstance(batch, RecordBatch):
            out += batch.data
        elif batch.is_compressed:
            out += _convert_group([batch])
        else:
            group.append(batch)
    if group:
        out += _convert_group(group)
    return bytes(out)


def _can_join(group: list[LegacyBatch], batch: LegacyBatch | RecordBatch) -> bool:
    last = group[-1]
    if isinstance(batch, RecordBatch) or batch.is_compressed or batch.magic != last.magic:
        return False
    if batch.last_offset != last.last_offset + 1 or batch.timestamp_type is not last.timestamp_type:
        return False
    if last.timestamp_type is TimestampType.LOG_APPEND_TIME and batch.max_timestamp != last.max_timestamp:
        return False
    return batch.last_offset - group[0].last_offset < GROUP_BYTES and sum(_sizes(group)) < GROUP_BYTES


def _sizes(group: list[LegacyBatch]) -> Iterator[int]:
    return (each.size_bytes for each in group)


def _convert_group(group: list[LegacyBatch]) -> bytes:
    first = group[0]
    append_time = first.timestamp_type is TimestampType.LOG_APPEND_TIME
    if first.is_compressed and not _has_no_gap(first):
        records = list(first.records())
        return build_batch(
            records,
            codec=first.codec,
            timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
            log_append_time=first.max_timestamp if append_time else None,
        )
    body = bytearray()
    writer = make_compressor(first.codec, body, magic=MAGIC_V2)
    up = convert_up(group, writer.write)
    writer.finish()
    head = BatchHead(
        codec=first.codec,
        timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
        record_count=up.record_count,
        base_timestamp=up.base_timestamp,
        max_timestamp=first.max_timestamp if append_time else up.newest,
    )
    base_offset = group[-1].last_offset - up.record_count + 1
    return base_offset.to_bytes(8, "big", signed=True) + head.prepare_append(memoryview(body)).head[8:] + body


def _has_no_gap(wrapper: LegacyBatch) -> bool:
    """Whether the wrapper's messages have consecutive offsets that end in its own, as stored."""
    offsets = [message.last_offset for message in wrapper.inner_messages()]
    increasing = all(offset == offsets[0] + number for number, offset in enumerate(offsets))
    # A v1 wrapper of offset 0 holds absolute offsets, whatever its own says (`legacy_batch.py`).
    return increasing and (offsets[-1] == wrapper.last_offset or (wrapper.magic == 1 and wrapper.last_offset > 0))
