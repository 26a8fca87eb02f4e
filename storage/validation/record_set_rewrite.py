"""Rewrites a record set as one batch of magic 2, for old magics, another codec, or wrong offset deltas.

Records keep key, value, headers, order and timestamps; the new batch has the producer's id, epoch, sequence and flags
of the first one (Kafka 3.9, `LogValidator.buildRecordsAndAssignOffsets`). If only the codec changes, chunks pass from
the decompressor to the compressor unchanged. Only the result is held in memory, up to max.message.bytes: a larger one
is dropped, and refused after all records have been checked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...protocol.errors import CorruptRecord, ErrorCode, InvalidRecord, PeerFault, RecordTooLarge
from ...protocol.records.batch import RecordBatch
from ...protocol.records.batches import next_batch_size
from ...protocol.records.compression.codecs import CHUNK_BYTES, make_compressor
from ...protocol.records.conversion.record_stream import RecordStream, run_loop
from ...protocol.records.conversion.up import convert_up
from ...protocol.records.kernel import MessagesUp
from ...protocol.records.kernel.results import ConvertedUp
from ...protocol.records.layout import MAGIC_V2, NO_TIMESTAMP, RECORD_BATCH_OVERHEAD, Codec, TimestampType
from ...protocol.records.legacy_batch import LegacyBatch
from ...protocol.records.record import Buffer, Record, encode_record
from .append_rules import AppendRules
from .checksummed_batch_head import BatchHead
from .prepared_append import PreparedAppend
from .record_checks import check_records, decompress_records, legacy_records, survey


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltBatch:
    """One new batch; `read_bytes` and `written_bytes` count uncompressed records, and 61 bytes for each batch."""

    batch: PreparedAppend
    read_bytes: int
    written_bytes: int


def rebuild_batch(batch: RecordBatch, target: Codec, rules: AppendRules, now_ms: int) -> RebuiltBatch:
    """Rebuilds a v2 batch as one of codec `target`.

    Raises: InvalidRecord, RecordErrors; RecordTooLarge if the decompressed or the new batch is above its limit.
    """
    output = _RewriteOutput(target, rules)
    found = survey(batch, output.write_and_pass(decompress_records(batch, rules)))
    check_records(batch, found, rules, now_ms)
    if found.oldest < NO_TIMESTAMP:
        raise _negative_timestamp(found.oldest)
    base_timestamp, written_bytes = batch.base_timestamp, found.opened_bytes
    if not found.in_order or batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
        output = _RewriteOutput(target, rules)
        tally = output.encode_and_write(batch.records(rules.max_decompressed_bytes))
        base_timestamp, written_bytes = tally.base_timestamp, tally.written_bytes
    body = output.finish_body()
    head = BatchHead(
        codec=target,
        timestamp_type=rules.timestamp_type,
        record_count=batch.record_count,
        base_timestamp=base_timestamp,
        max_timestamp=now_ms if rules.stamps_append_time else found.newest,
    )
    return RebuiltBatch(
        batch=head.with_producer_of(batch).prepare_append(body),
        read_bytes=RECORD_BATCH_OVERHEAD + found.opened_bytes,
        written_bytes=RECORD_BATCH_OVERHEAD + written_bytes,
    )


def rebuild_plain_messages(
    records: memoryview, magic: int, target: Codec, rules: AppendRules, now_ms: int
) -> RebuiltBatch | None:
    """Rebuilds a set of uncompressed magic 0 or 1 messages as one batch of codec `target`.

    It checks checksums and records too, and returns None if any is wrong: then each message has to be checked.

    Raises: RecordTooLarge if the new batch is above max.message.bytes.
    """
    output = _RewriteOutput(target, rules)
    up = MessagesUp(magic, True, None)
    pieces = RecordStream((records,))
    try:
        run_loop(pieces, up, output.write)
        next_batch_size(pieces.data, pieces.at)
    except (CorruptRecord, InvalidRecord):
        return None
    done = up.summary()
    suspect = not done.record_count or done.oldest < NO_TIMESTAMP or (rules.compacted and done.keyless)
    if suspect or up.saw_append_time() or not rules.accepts_timestamp_span(done.oldest, done.newest, now_ms):
        return None
    return _finish_batch(output, _make_tally(done), done.record_count, target, rules, now_ms)


def rebuild_messages(batches: Iterable[LegacyBatch], target: Codec, rules: AppendRules, now_ms: int) -> RebuiltBatch:
    """Rebuilds magic 0 or 1 messages, plain or in wrappers, as one batch of codec `target`, record by record.

    Raises: as `rebuild_batch`; CorruptRecord for a wrong checksum inside a wrapper.
    """
    read_bytes = batch_count = 0

    def records() -> Iterator[Record]:
        nonlocal read_bytes, batch_count
        for batch in batches:
            batch_count += 1
            for message in legacy_records(batch, rules, now_ms):
                read_bytes += message.size_bytes
                yield Record(timestamp=message.timestamp, key=message.key, value=message.value)

    output = _RewriteOutput(target, rules)
    tally = output.encode_and_write(records())
    return _finish_batch(output, replace(tally, read_bytes=read_bytes), batch_count, target, rules, now_ms)


def rebuild_wrapper(wrapper: LegacyBatch, target: Codec, rules: AppendRules, now_ms: int) -> RebuiltBatch:
    """Rebuilds the messages inside a wrapper as one batch of codec `target`.

    Raises: as `rebuild_messages`.
    """
    output = _RewriteOutput(target, rules)
    try:
        up = convert_up((wrapper,), output.write, max_opened_bytes=rules.max_decompressed_bytes)
    except (CorruptRecord, InvalidRecord):
        return rebuild_messages((wrapper,), target, rules, now_ms)
    suspect = up.oldest < NO_TIMESTAMP or wrapper.last_offset < 0 or (rules.compacted and up.keyless)
    suspect = suspect or wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME
    if suspect or not rules.accepts_timestamp_span(up.oldest, up.newest, now_ms):
        return rebuild_messages((wrapper,), target, rules, now_ms)
    return _finish_batch(output, _make_tally(up), 1, target, rules, now_ms)


def _make_tally(up: ConvertedUp) -> "_Tally":
    return _Tally(
        count=up.record_count,
        base_timestamp=up.base_timestamp,
        newest=up.newest,
        written_bytes=up.written_bytes,
        read_bytes=up.read_bytes,
    )


def _finish_batch(
    output: "_RewriteOutput", tally: "_Tally", batch_count: int, target: Codec, rules: AppendRules, now_ms: int
) -> RebuiltBatch:
    body = output.finish_body()
    head = BatchHead(
        codec=target,
        timestamp_type=rules.timestamp_type,
        record_count=tally.count,
        base_timestamp=tally.base_timestamp,
        max_timestamp=now_ms if rules.stamps_append_time else tally.newest,
    )
    return RebuiltBatch(
        batch=head.prepare_append(body),
        read_bytes=batch_count * RECORD_BATCH_OVERHEAD + tally.read_bytes,
        written_bytes=RECORD_BATCH_OVERHEAD + tally.written_bytes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tally:
    count: int
    base_timestamp: int
    newest: int
    written_bytes: int
    read_bytes: int = 0


class _RewriteOutput:
    """Compresses the records of the new batch as they are written, and holds up to max.message.bytes of the result."""

    def __init__(self, codec: Codec, rules: AppendRules) -> None:
        self._held = bytearray()
        self._writer = make_compressor(codec, self._held, magic=MAGIC_V2, level=rules.compression_level(codec))
        self._max_bytes = rules.max_message_bytes
        self._fits = True

    def write_and_pass(self, chunks: Iterable[Buffer]) -> Iterator[Buffer]:
        """Yields the chunks, after writing each."""
        for chunk in chunks:
            self.write(chunk)
            yield chunk

    def encode_and_write(self, records: Iterable[Record]) -> _Tally:
        """Writes the records with offsets 0, 1, 2 ... and timestamps relative to the first."""
        count = written_bytes = 0
        base_timestamp = max_timestamp = oldest = NO_TIMESTAMP
        pending = bytearray()
        for record in records:
            oldest = min(oldest, record.timestamp)
            if not count:
                base_timestamp = record.timestamp
            max_timestamp = max(max_timestamp, record.timestamp)
            encoded = encode_record(record, base_offset=record.offset - count, base_timestamp=base_timestamp)
            count += 1
            written_bytes += len(encoded)
            pending += encoded
            if len(pending) >= CHUNK_BYTES:
                self.write(bytes(pending))
                pending.clear()
        if oldest < NO_TIMESTAMP:
            raise _negative_timestamp(oldest)
        self.write(bytes(pending))
        return _Tally(count=count, base_timestamp=base_timestamp, newest=max_timestamp, written_bytes=written_bytes)

    def finish_body(self) -> memoryview:
        """Completes the body and returns it. Raises: RecordTooLarge if the batch would be above max.message.bytes."""
        if self._fits:
            self._writer.finish()
            self._check_size()
        if not self._fits:
            raise RecordTooLarge(
                f"the records take more than max.message.bytes ({self._max_bytes}) in one batch of the log's format"
            )
        return memoryview(self._held)

    def write(self, chunk: Buffer) -> None:
        if self._fits:
            self._writer.write(chunk)
            self._check_size()

    def _check_size(self) -> None:
        if RECORD_BATCH_OVERHEAD + len(self._held) > self._max_bytes:
            self._fits = False
            self._held.clear()


def _negative_timestamp(timestamp: int) -> PeerFault:
    return PeerFault(f"a record with the negative timestamp {timestamp}", ErrorCode.INVALID_TIMESTAMP)
