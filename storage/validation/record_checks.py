"""Checks the records in a batch before it is appended, in one pass that keeps no record.

Only if a record is wrong are the records read a second time, to name each wrong one (KIP-467).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...protocol.errors import CorruptRecord, InvalidRecord
from ...protocol.records.batch import RecordBatch
from ...protocol.records.compression.codecs import decompress_in_chunks
from ...protocol.records.conversion.large_record_in_pieces import skip_and_read_deltas
from ...protocol.records.conversion.record_stream import RecordStream, run_loop
from ...protocol.records.kernel import RecordSurvey
from ...protocol.records.layout import MAGIC_V1, NO_TIMESTAMP, TimestampType
from ...protocol.records.legacy_batch import LegacyBatch
from ...protocol.records.record import Buffer
from .append_rules import AppendRules
from .errors import ChecksumMismatch, RecordErrorCollector

_NO_OUTPUT = bytearray()


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """A summary of the records of one batch.

    `oldest`, `newest`: the range of timestamps, -1 if no record has one. `keyless`: whether a record has no key.
    `in_order`: whether the offset deltas are 0, 1, 2 ... `opened_bytes`: the decompressed size of the records.
    """

    oldest: int
    newest: int
    keyless: bool
    in_order: bool
    opened_bytes: int


def decompress_records(batch: RecordBatch, rules: AppendRules) -> Iterator[Buffer]:
    """The decompressed records of a batch in chunks, up to the limit of the rules."""
    return decompress_in_chunks(batch.codec, batch.body, magic=batch.magic, max_bytes=rules.max_decompressed_bytes)


def survey(batch: RecordBatch, chunks: Iterable[Buffer]) -> Survey:
    """Surveys the records in `chunks`, the decompressed body of `batch`; holds one chunk and a record of up to 1 MiB.

    Raises: InvalidRecord if their structure is broken or the batch has another record count.
    """
    marked = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    loop = RecordSurvey(batch.record_count, batch.base_timestamp, batch.max_timestamp if marked else None)
    opened_bytes = 0

    def count_chunks() -> Iterator[Buffer]:
        nonlocal opened_bytes
        for chunk in chunks:
            opened_bytes += len(chunk)
            yield chunk

    pieces = RecordStream(count_chunks())
    run_loop(
        pieces,
        loop,
        _write_nothing,
        out=_NO_OUTPUT,
        giant=lambda: loop.note_large_record(*skip_and_read_deltas(pieces)),
    )
    oldest, newest, keyless, in_order = loop.check_and_summarize()
    return Survey(oldest=oldest, newest=newest, keyless=keyless, in_order=in_order, opened_bytes=opened_bytes)


def survey_plain(batch: RecordBatch) -> Survey:
    """Surveys the records of an uncompressed batch. Raises: InvalidRecord, as `survey`."""
    marked = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    body = batch.body
    loop = RecordSurvey(batch.record_count, batch.base_timestamp, batch.max_timestamp if marked else None)
    at, _, _ = loop.feed(body, 0, _NO_OUTPUT)
    if at != len(body):
        return survey(batch, (body,))
    oldest, newest, keyless, in_order = loop.check_and_summarize()
    return Survey(oldest=oldest, newest=newest, keyless=keyless, in_order=in_order, opened_bytes=at)


def _write_nothing(piece: Buffer) -> None:
    """A survey has no output."""


def check_records(batch: RecordBatch, found: Survey, rules: AppendRules, now_ms: int) -> None:
    """Raises: RecordErrors if a record's timestamp is not accepted, or a record lacks the key that the topic needs."""
    marked = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    suspect = (rules.compacted and found.keyless) or (marked and (rules.stamps_append_time or found.newest < 0))
    if not suspect and rules.accepts_timestamp_span(found.oldest, found.newest, now_ms):
        return
    collector = RecordErrorCollector()
    for index, record in enumerate(batch.records(rules.max_decompressed_bytes)):
        check_record(collector, index, record.key is None, record.timestamp, marked, rules, now_ms)
    collector.raise_if_any()


def check_record(
    collector: RecordErrorCollector,
    index: int,
    keyless: bool,
    timestamp: int,
    marked: bool,
    rules: AppendRules,
    now_ms: int,
) -> None:
    """Adds the record's error, if any, to the collector; `marked`: its batch has LogAppendTime, as only brokers may."""
    if rules.compacted and keyless:
        collector.add_keyless(index)
    elif not rules.stamps_append_time and timestamp != NO_TIMESTAMP:
        if not rules.accepts_timestamp(timestamp, now_ms):
            collector.add_invalid_timestamp(index, rules.describe_refused_timestamp(timestamp, now_ms))
    elif marked:
        collector.add_invalid_timestamp(index, "a producer may not set the timestamp type LogAppendTime")


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyRecord:
    """A magic 0 or 1 message, plain or from a wrapper; `size_bytes` includes its offset and size fields (12 bytes)."""

    timestamp: int
    key: memoryview | None
    value: memoryview | None
    size_bytes: int


def legacy_records(batch: LegacyBatch, rules: AppendRules, now_ms: int) -> Iterator[LegacyRecord]:
    """Yields the messages of one plain or wrapper message; key and value are views, valid until the next is taken.

    Raises: RecordErrors after the last message; CorruptRecord, InvalidRecord, RecordTooLarge at a broken one.
    """
    collector = RecordErrorCollector()
    marked = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    messages = _check_inner_messages(batch, rules) if batch.is_compressed else iter((batch,))
    for index, message in enumerate(messages):
        key, value = message.key_and_value()
        timestamp = batch.max_timestamp if marked else message.max_timestamp
        if message.magic != batch.magic:
            collector.add_invalid_record(index, f"a message of magic {message.magic} inside one of magic {batch.magic}")
        else:
            check_record(collector, index, key is None, timestamp, marked, rules, now_ms)
        yield LegacyRecord(timestamp=timestamp, key=key, value=value, size_bytes=message.size_bytes)
    collector.raise_if_any()


def _ensure_checksum(message: LegacyBatch) -> None:
    try:
        message.ensure_valid()
    except CorruptRecord as error:
        raise ChecksumMismatch(f"inside a compressed message: {error}") from error


def _check_inner_messages(batch: LegacyBatch, rules: AppendRules) -> Iterator[LegacyBatch]:
    last_offset = None
    for message in batch.inner_messages(rules.max_decompressed_bytes):
        if message.is_compressed:
            raise InvalidRecord("a compressed message inside a compressed message")
        _ensure_checksum(message)
        last_offset = message.last_offset
        yield message
    if last_offset is None:
        raise InvalidRecord("a compressed message that holds no message")
    if batch.magic == MAGIC_V1 and batch.last_offset != 0 and batch.last_offset < last_offset:
        raise InvalidRecord(f"wrapper offset {batch.last_offset} below its last inner offset {last_offset}")
