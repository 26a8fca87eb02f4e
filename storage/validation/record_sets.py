"""Validates the record sets of a produce request and converts them to magic 2, ready to be appended.

The checks, in Kafka's order, with the error of each (3.9: `ProduceRequest.validateRecords`,
`UnifiedLog.analyzeAndValidateRecords`, `LogValidator`):

    produce v3+: one batch, of magic 2                       INVALID_RECORD
    produce v3-v6: no zstd                                   UNSUPPORTED_COMPRESSION_TYPE
    frame of each batch                                      CORRUPT_MESSAGE
    a client's v2 batch has base offset 0                    INVALID_RECORD
    each batch at most max.message.bytes                     MESSAGE_TOO_LARGE
    checksum of each batch                                   CORRUPT_MESSAGE
    one batch only if magic 2 or compressed                  INVALID_RECORD
    counts, control bit, sequence number                     INVALID_RECORD
    structure, keys, timestamps of the records               INVALID_RECORD, INVALID_TIMESTAMP (with record errors)
    a rebuilt batch at most max.message.bytes                MESSAGE_TOO_LARGE

An incomplete batch at the end is dropped silently; with produce v0-v2 the set may even be empty. Nothing here needs a
log, clock or file, so it may run in any thread; `prepare_inline` does the short cases in the event loop.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from ...protocol.errors import CorruptRecord, InvalidRecord, RecordTooLarge, UnsupportedCompression
from ...protocol.records.batch import RecordBatch
from ...protocol.records.batches import Batch, iter_batches
from ...protocol.records.layout import (
    CODEC_MASK,
    FRAME,
    LEGACY_ATTRIBUTES_OFFSET,
    LOG_OVERHEAD,
    LOW_ATTRIBUTES_OFFSET,
    MAGIC_OFFSET,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    RECORD_COUNT_OFFSET,
    Codec,
)
from ...protocol.records.legacy_batch import LegacyBatch
from .append_method import AppendMethod, RecordSetShape, choose_method
from .append_rules import AppendRules
from .checksummed_batch_head import prepare_with_timestamps
from .errors import ChecksumMismatch, InvalidBatch, Reason
from .prepared_append import EMPTY_APPEND, AppendOrigin, PreparedAppend
from .record_checks import check_records, decompress_records, survey, survey_plain
from .record_set_rewrite import RebuiltBatch, rebuild_batch, rebuild_messages, rebuild_plain_messages, rebuild_wrapper
from .usual_batch import BLOCK_CODECS, prepare_usual

MAGIC_2_VERSION = 3
ZSTD_VERSION = 7
ZSTD = int(Codec.ZSTD)

# Up to these sizes the work takes less than passing it to another thread and back: 0.1 to 0.2 ms on both processors.
INLINE_BYTES = 256 * 1024
INLINE_COMPRESSED_BYTES = 48 * 1024
INLINE_BLOCKS_BYTES = 96 * 1024  # LZ4 and snappy
INLINE_OPENED_BLOCKS_BYTES = 256 * 1024
INLINE_REBUILT_BYTES = 2 * 1024
INLINE_LEGACY_BYTES = 24 * 1024
# For a batch that stays unchanged, by the three bits of its codec.
MOST_INLINE_BYTES = (
    INLINE_BYTES,
    *(INLINE_BLOCKS_BYTES if codec in BLOCK_CODECS else INLINE_COMPRESSED_BYTES for codec in range(1, 8)),
)
INLINE_RECORDS = 64  # each may need an error of its own, which takes 4 µs, in each partition of a request

STREAM_BYTES = 256 * 1024


def _most_inline_bytes(records: memoryview, rules: AppendRules) -> int:
    """The most bytes of uncompressed records that are prepared in the event loop."""
    if rules.codec:
        return INLINE_REBUILT_BYTES
    return INLINE_BYTES if records[MAGIC_OFFSET] == MAGIC_V2 else INLINE_LEGACY_BYTES


def working_bytes(works: Iterable[tuple[memoryview, AppendRules]]) -> int:
    """The memory, roughly, for preparing these one by one, beside the records: stream chunks and rebuilt batches."""
    return STREAM_BYTES + sum(rules.max_message_bytes for records, rules in works if _is_rebuilt(records, rules))


def _is_rebuilt(records: memoryview, rules: AppendRules) -> bool:
    return records[MAGIC_OFFSET] != MAGIC_V2 or (rules.codec is not None and rules.codec != _codec_bits(records))


def check_version(records: memoryview, api_version: int) -> None:
    """Raises: InvalidRecord, UnsupportedCompression, CorruptRecord if this version may not carry the records."""
    if api_version < MAGIC_2_VERSION:
        return
    size = len(records)
    is_one_batch = (
        size >= RECORD_BATCH_OVERHEAD
        and records[MAGIC_OFFSET] == MAGIC_V2
        and FRAME.unpack_from(records)[1] == size - LOG_OVERHEAD
    )
    if not is_one_batch or (api_version < ZSTD_VERSION and _codec_bits(records) == ZSTD):
        _check_version(list(islice(iter_batches(records), 2)), api_version)


def prepare(
    records: memoryview,
    rules: AppendRules,
    *,
    now_ms: int,
    api_version: int | None = None,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> PreparedAppend:
    """Validates a record set and returns its append; the body is a view of `records` if it is unchanged.

    `api_version`: the version of the produce request, None if there was none.

    Raises: InvalidRecord, RecordErrors, CorruptRecord, RecordTooLarge, UnsupportedCompression.
    """
    if api_version is not None:
        check_version(records, api_version)
    # The event loop has tried small zstd batches already: one that comes here decompresses to too much.
    if len(records) > RECORD_BATCH_OVERHEAD and (
        _codec_bits(records) != ZSTD or len(records) > INLINE_COMPRESSED_BYTES
    ):
        usual = prepare_usual(records, rules, now_ms, origin, rules.max_decompressed_bytes)
        if usual is not None:
            return usual
    return _prepare_with_all_checks(records, rules, now_ms, origin)


def prepare_inline(records: memoryview, rules: AppendRules, *, now_ms: int) -> PreparedAppend | None:
    """Like `prepare`, for a client's records; returns None if that takes too long for an event loop.

    The decompressed size is not known beforehand, so decompression stops at a limit.
    """
    origin = AppendOrigin.CLIENT
    if len(records) > RECORD_BATCH_OVERHEAD:
        if len(records) <= MOST_INLINE_BYTES[records[LOW_ATTRIBUTES_OFFSET] & CODEC_MASK]:
            usual = prepare_usual(records, rules, now_ms, origin, INLINE_OPENED_BLOCKS_BYTES)
            if usual is not None:
                return usual
        magic = records[MAGIC_OFFSET]
        if magic > MAGIC_V2 or _first_batch_has_codec(records) or _takes_long(records, rules):
            return None
        if magic < MAGIC_V2:
            return _prepare_usual_messages(records, magic, rules, now_ms, origin)
    return _prepare_with_all_checks(records, rules, now_ms, origin)


def _prepare_with_all_checks(
    records: memoryview, rules: AppendRules, now_ms: int, origin: AppendOrigin
) -> PreparedAppend:
    """Prepares records that the fast path refused, check by check: they are wrong, or have to be changed."""
    first = next(iter_batches(records), None)
    if first is None:
        return EMPTY_APPEND
    if isinstance(first, RecordBatch):
        source = _check_batches(records, rules, origin)
        return _prepare_batch(first, source, rules, now_ms, origin)
    return _prepare_messages(first, records, rules, now_ms, origin)


def _first_batch_has_codec(records: memoryview) -> bool:
    """Whether the first batch, of magic 0 to 2, is compressed."""
    at = LOW_ATTRIBUTES_OFFSET if records[MAGIC_OFFSET] == MAGIC_V2 else LEGACY_ATTRIBUTES_OFFSET
    return bool(records[at] & CODEC_MASK)


def _takes_long(records: memoryview, rules: AppendRules) -> bool:
    """Whether checking the uncompressed records one by one takes too long for an event loop."""
    if len(records) > _most_inline_bytes(records, rules):
        return True
    if records[MAGIC_OFFSET] != MAGIC_V2:
        return False
    return int.from_bytes(records[RECORD_COUNT_OFFSET:RECORD_BATCH_OVERHEAD]) > INLINE_RECORDS


def _codec_bits(records: memoryview) -> int:
    return records[LOW_ATTRIBUTES_OFFSET] & CODEC_MASK


def _check_version(batches: Sequence[Batch], api_version: int) -> None:
    if not batches:
        raise InvalidRecord(f"produce version {api_version} needs a record batch for each partition")
    if batches[0].magic != MAGIC_V2:
        raise InvalidRecord(f"produce version {api_version} takes magic 2 only, found {batches[0].magic}")
    if api_version < ZSTD_VERSION and batches[0].codec is Codec.ZSTD:
        raise UnsupportedCompression(f"zstd is for produce version {ZSTD_VERSION} and up, this is {api_version}")
    if len(batches) > 1:
        raise InvalidRecord(
            f"produce version {api_version} takes one record batch for a partition, found {len(batches)}"
        )


def _check_batches(records: memoryview, rules: AppendRules, origin: AppendOrigin) -> Codec:
    """Checks each batch; returns the codec of the set, which is that of its last compressed batch."""
    count, source, magic = 0, Codec.NONE, MAGIC_V2
    for batch in iter_batches(records):
        _ensure_valid_batch(batch, rules, origin)
        source = batch.codec or source
        magic = magic if count else batch.magic
        count += 1
    if count > 1 and (magic == MAGIC_V2 or source is not Codec.NONE):
        raise InvalidRecord(f"{count} batches where there may be one: they are compressed or of magic 2")
    return source


def _ensure_valid_batch(batch: Batch, rules: AppendRules, origin: AppendOrigin) -> None:
    if origin is AppendOrigin.CLIENT and batch.magic == MAGIC_V2 and batch.base_offset != 0:
        raise InvalidRecord(f"the base offset of a producer's batch is 0, found {batch.base_offset}")
    if batch.size_bytes > rules.max_message_bytes:
        raise RecordTooLarge(f"a batch of {batch.size_bytes} bytes, max.message.bytes is {rules.max_message_bytes}")
    try:
        batch.ensure_valid()
    except CorruptRecord as error:
        raise ChecksumMismatch(str(error)) from error


def _prepare_batch(
    batch: RecordBatch, source: Codec, rules: AppendRules, now_ms: int, origin: AppendOrigin
) -> PreparedAppend:
    target = rules.codec_for(source)
    method = choose_method(
        RecordSetShape(source != Codec.NONE, target != Codec.NONE, source == target, True, batch.is_control)
    )
    if origin is AppendOrigin.CLIENT:
        _check_client_batch(batch)
    if method is not AppendMethod.REBUILD:
        found = survey_plain(batch) if source is Codec.NONE else survey(batch, decompress_records(batch, rules))
        check_records(batch, found, rules, now_ms)
        if method is AppendMethod.IN_PLACE or found.in_order:
            kept = prepare_with_timestamps(
                batch, rules.timestamp_type, now_ms if rules.stamps_append_time else found.newest
            )
            opened_bytes = 0 if method is AppendMethod.IN_PLACE else RECORD_BATCH_OVERHEAD + found.opened_bytes
            return _with_counts(kept, batch.size_bytes, rules, now_ms, origin, temporary_bytes=opened_bytes)
    rebuilt = rebuild_batch(batch, target, rules, now_ms)
    return _finish_rebuilt(rebuilt, batch.size_bytes, rules, now_ms, origin)


def _check_client_batch(batch: RecordBatch) -> None:
    span = batch.last_offset_delta + 1
    if span <= 0 or batch.record_count <= 0 or span != batch.record_count:
        raise InvalidBatch(
            f"a batch over {span} offsets that says {batch.record_count} records", Reason.INVALID_OFFSET_OR_SEQUENCE
        )
    if batch.is_control:
        raise InvalidBatch("a client may not write control records", Reason.INVALID_OFFSET_OR_SEQUENCE)
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise InvalidBatch(
            f"base sequence {batch.base_sequence} in a batch of producer {batch.producer_id}",
            Reason.INVALID_OFFSET_OR_SEQUENCE,
        )


def _prepare_messages(
    first: LegacyBatch, records: memoryview, rules: AppendRules, now_ms: int, origin: AppendOrigin
) -> PreparedAppend:
    """Prepares messages of magic 0 or 1, which are always rewritten as magic 2."""
    if not first.is_compressed:
        usual = _prepare_usual_messages(records, first.magic, rules, now_ms, origin)
        if usual is not None:
            return usual
    source = _check_batches(records, rules, origin)
    target = rules.codec_for(Codec.NONE)
    if source is Codec.NONE:
        rebuilt = rebuild_messages(_iter_one_magic(records, first.magic), target, rules, now_ms)
    else:
        target = rules.codec_for(source)
        rebuilt = rebuild_wrapper(first, target, rules, now_ms)
    received_bytes = sum(batch.size_bytes for batch in iter_batches(records))
    keeps_plain = source is Codec.NONE and target is Codec.NONE
    return _finish_rebuilt(rebuilt, received_bytes, rules, now_ms, origin, keeps_plain=keeps_plain)


def _prepare_usual_messages(
    records: memoryview, magic: int, rules: AppendRules, now_ms: int, origin: AppendOrigin
) -> PreparedAppend | None:
    """The append of valid uncompressed messages; None for others, which are then checked one by one, 10 µs each."""
    if len(records) > rules.max_message_bytes:
        return None
    target = rules.codec_for(Codec.NONE)
    rebuilt = rebuild_plain_messages(records, magic, target, rules, now_ms)
    if rebuilt is None:
        return None
    received_bytes = rebuilt.read_bytes - RECORD_BATCH_OVERHEAD * rebuilt.batch.record_count
    return _finish_rebuilt(rebuilt, received_bytes, rules, now_ms, origin, keeps_plain=target is Codec.NONE)


def _iter_one_magic(records: memoryview, magic: int) -> Iterator[LegacyBatch]:
    for batch in iter_batches(records):
        if batch.magic != magic or not isinstance(batch, LegacyBatch):
            raise InvalidBatch(f"a message set of magic {magic} and {batch.magic}", Reason.INVALID_MAGIC)
        yield batch


def _finish_rebuilt(
    rebuilt: RebuiltBatch,
    received_bytes: int,
    rules: AppendRules,
    now_ms: int,
    origin: AppendOrigin,
    *,
    keeps_plain: bool = False,
) -> PreparedAppend:
    """The append of a rebuilt batch; from plain messages to a plain batch, only written bytes count as temporary."""
    return _with_counts(
        rebuilt.batch,
        received_bytes,
        rules,
        now_ms,
        origin,
        temporary_bytes=rebuilt.written_bytes + (0 if keeps_plain else rebuilt.read_bytes),
        conversions=rebuilt.batch.record_count,
    )


def _with_counts(
    batch: PreparedAppend,
    received_bytes: int,
    rules: AppendRules,
    now_ms: int,
    origin: AppendOrigin,
    *,
    temporary_bytes: int,
    conversions: int = 0,
) -> PreparedAppend:
    return replace(
        batch,
        origin=origin,
        received_bytes=received_bytes,
        log_append_time_ms=now_ms if rules.stamps_append_time else -1,
        conversions=conversions,
        temporary_bytes=temporary_bytes,
    )
