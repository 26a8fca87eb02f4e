"""What Kafka itself does with these and many more inputs: tests/differential/test_append_against_kafka.py."""

import random
import tracemalloc
from typing import Any

import pytest
from stepdown.protocol.errors import ApiError, CorruptRecord, ErrorCode, InvalidRecord, RecordTooLarge
from stepdown.protocol.records.batches import view_batch
from stepdown.protocol.records.layout import MAGIC_OFFSET, RECORD_BATCH_OVERHEAD, Codec, TimestampType
from stepdown.protocol.records.record import Record
from stepdown.storage.validation.append_rules import AppendRules
from stepdown.storage.validation.errors import MAX_RECORD_ERRORS, ChecksumMismatch, InvalidBatch, Reason, RecordErrors
from stepdown.storage.validation.prepared_append import AppendOrigin, PreparedAppend
from stepdown.storage.validation.record_sets import check_version, prepare, prepare_inline, working_bytes
from support.record_sets import (
    NOW,
    batch_with_body,
    message,
    patched,
    record_set,
    records,
    with_wrong_checksum,
    wrapper,
)

CODECS = list(Codec)
LEGACY = [(magic, codec) for magic in (0, 1) for codec in Codec if codec is not Codec.ZSTD]
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
APPEND_TIME = AppendRules(stamps_append_time=True)


def prepared(data: bytes, rules: AppendRules | None = None, **options: Any) -> PreparedAppend:
    return prepare(memoryview(data), rules or AppendRules(), now_ms=NOW, **options)


def written(append: PreparedAppend, first_offset: int = 0) -> Any:
    """A view over the one batch that lies in the log afterwards."""
    batch = view_batch(b"".join(append.pieces(first_offset, 0)))
    batch.ensure_valid()
    return batch


def refusal(data: bytes, rules: AppendRules | None = None, **options: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        prepared(data, rules, **options)
    return caught.value


def contents(batch: Any) -> list[tuple[int, int, bytes | None, bytes | None]]:
    return [(record.offset, record.timestamp, record.key, record.value) for record in batch.records()]


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_a_fitting_batch_stays_byte_for_byte_but_for_offset_and_epoch(codec: Codec) -> None:
    data = record_set(2, codec)
    append = prepared(data)
    log = b"".join(append.pieces(700, 5))
    assert log == (700).to_bytes(8, "big") + data[8:12] + (5).to_bytes(4, "big") + data[16:]
    assert append.conversions == 0


def test_the_body_is_a_view_of_the_request() -> None:
    request = memoryview(bytearray(record_set(2)))
    assert prepare(request, AppendRules(), now_ms=NOW).body.obj is request.obj


@pytest.mark.parametrize(("magic", "codec"), LEGACY, ids=str)
def test_old_magics_become_one_batch_with_the_same_records(magic: int, codec: Codec) -> None:
    append = prepared(record_set(magic, codec))
    batch = written(append, 40)
    times = [-1] * 3 if magic == 0 else [NOW - 30, NOW - 10, NOW - 20]
    assert batch.codec is codec
    assert contents(batch) == [(40 + n, times[n], b"key", b"value %d" % n) for n in range(3)]
    assert append.max_timestamp == (-1 if magic == 0 else NOW - 10)
    assert append.conversions == 3


@pytest.mark.parametrize("source", CODECS, ids=lambda codec: codec.name)
@pytest.mark.parametrize("target", CODECS, ids=lambda codec: codec.name)
def test_another_codec_keeps_records_headers_and_producer(source: Codec, target: Codec) -> None:
    content = [
        Record(offset=n, timestamp=NOW + n, key=None, value=b"v" * n, headers=(("h", b"1"), ("", None)))
        for n in range(50)
    ]
    data = record_set(2, source, content, producer_id=9, producer_epoch=3, base_sequence=11, transactional=True)
    batch = written(prepared(data, AppendRules(codec=target)))
    assert batch.codec is target
    assert list(batch.records()) == content
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.is_transactional) == (9, 3, 11, True)


@pytest.mark.parametrize("codec", COMPRESSED, ids=lambda codec: codec.name)
def test_records_numbered_wrongly_inside_a_compressed_batch_are_renumbered(codec: Codec) -> None:
    content = [Record(offset=0, timestamp=NOW), Record(offset=0, timestamp=NOW + 1), Record(offset=2, timestamp=NOW)]
    numbered = [Record(offset=n * 2, timestamp=record.timestamp) for n, record in enumerate(content)]
    data = patched(record_set(2, codec, numbered), last_offset_delta=2)
    append = prepared(data)
    assert append.conversions == 3
    assert contents(written(append)) == [(n, content[n].timestamp, None, None) for n in range(3)]


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_log_append_time_marks_the_batch_and_leaves_the_records(codec: Codec) -> None:
    data = record_set(2, codec)
    append = prepared(data, APPEND_TIME)
    batch = written(append)
    assert append.log_append_time_ms == batch.max_timestamp == append.max_timestamp == NOW
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert append.body == data[61:]


def test_a_wrong_max_timestamp_is_put_right() -> None:
    assert written(prepared(patched(record_set(2), max_timestamp=5))).max_timestamp == NOW - 10


def test_a_client_may_not_mark_its_batch_with_log_append_time() -> None:
    data = record_set(2, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=NOW)
    error = refusal(data, APPEND_TIME)
    assert isinstance(error, RecordErrors)
    assert (error.code, error.total) == (ErrorCode.INVALID_TIMESTAMP, 3)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=["plain", "gzip"])
def test_a_compacted_topic_refuses_records_without_a_key(magic: int, codec: Codec) -> None:
    content = [*records(NOW), *records(NOW, key=None, first_offset=1)]
    error = refusal(record_set(magic, codec, content), AppendRules(compacted=True))
    assert isinstance(error, RecordErrors)
    assert (error.code, error.keyless, error.reason) == (ErrorCode.INVALID_RECORD, 1, Reason.NO_KEY)
    assert [index for index, _ in error.errors] == [0 if magic < 2 and codec is Codec.NONE else 1]


def test_one_bad_timestamp_decides_the_code_and_every_bad_record_is_named() -> None:
    content = [*records(NOW - 101, NOW - 100, NOW + 11), *records(NOW, key=None, first_offset=3)]
    rules = AppendRules(timestamp_before_max_ms=100, timestamp_after_max_ms=10, compacted=True)
    error = refusal(record_set(2, Codec.NONE, content), rules)
    assert isinstance(error, RecordErrors)
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in error.errors] == [0, 2, 3]
    assert "3 records" in str(error)


def test_record_errors_are_counted_in_full_and_named_up_to_a_bound() -> None:
    many = MAX_RECORD_ERRORS + 500
    error = refusal(record_set(2, Codec.LZ4, records(*[NOW] * many, key=None)), AppendRules(compacted=True))
    assert isinstance(error, RecordErrors)
    assert (error.total, len(error.errors)) == (many, MAX_RECORD_ERRORS)


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_a_record_length_past_the_end_is_refused(codec: Codec) -> None:
    """Kafka 3.9.1 takes it when the batch stays compressed, and no consumer can read it then."""
    body = record_set(2)[61:]
    assert refusal(batch_with_body(b"\xfe\x7f" + body[1:], 3, codec)).code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_a_huge_record_length_takes_no_memory(codec: Codec) -> None:
    """Kafka 3.9.1 allocates what the record says when it rebuilds the batch."""
    body = record_set(2)[61:]
    for rules in (AppendRules(), AppendRules(codec=Codec.GZIP)):
        error = refusal(batch_with_body(b"\xfe\xff\xff\xff\x0f" + body, 3, codec), rules)
        assert error.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", COMPRESSED, ids=lambda codec: codec.name)
@pytest.mark.parametrize("target", [None, Codec.NONE, Codec.GZIP], ids=["kept", "plain", "gzip"])
def test_a_batch_that_opens_to_more_than_the_bound_is_too_large(codec: Codec, target: Codec | None) -> None:
    data = record_set(2, codec, [Record(timestamp=NOW, value=bytes(3_000_000))])
    rules = AppendRules(codec=target, max_decompressed_bytes=2_000_000, max_message_bytes=4_000_000)
    assert refusal(data, rules).code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", COMPRESSED, ids=lambda codec: codec.name)
def test_a_giant_record_is_checked_but_not_held(codec: Codec) -> None:
    giant = Record(offset=1, timestamp=NOW, key=b"k", value=bytes(40_000_000), headers=(("h", b"v"),))
    data = record_set(2, codec, [*records(NOW - 1), giant, *records(NOW + 1, first_offset=2)])
    tracemalloc.start()
    try:
        append = prepared(data, AppendRules(max_message_bytes=10_000_000, compacted=True))
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()
    assert (append.record_count, append.max_timestamp, append.conversions) == (3, NOW + 1, 0)


def test_a_wrapper_that_opens_to_more_than_the_bound_is_too_large() -> None:
    data = record_set(1, Codec.GZIP, [Record(timestamp=NOW, value=bytes(3_000_000))])
    rules = AppendRules(max_decompressed_bytes=2_000_000, max_message_bytes=4_000_000)
    assert refusal(data, rules).code == ErrorCode.MESSAGE_TOO_LARGE


def test_max_message_bytes_holds_for_each_message_and_then_for_the_batch_they_become() -> None:
    messages = b"".join(message(1, n) for n in range(10))
    assert isinstance(refusal(messages, AppendRules(max_message_bytes=len(message(1)))), RecordTooLarge)
    size = RECORD_BATCH_OVERHEAD + len(prepared(messages).body)
    assert prepared(messages, AppendRules(max_message_bytes=size)).record_count == 10
    assert isinstance(refusal(messages, AppendRules(max_message_bytes=size - 1)), RecordTooLarge)


def test_a_batch_of_exactly_max_message_bytes_is_taken() -> None:
    data = record_set(2)
    assert prepared(data, AppendRules(max_message_bytes=len(data))).head
    assert refusal(data, AppendRules(max_message_bytes=len(data) - 1)).code == ErrorCode.MESSAGE_TOO_LARGE


def test_bad_records_are_named_even_when_the_result_would_be_too_large() -> None:
    data = record_set(2, Codec.GZIP, [Record(timestamp=NOW, value=bytes(5000))])
    rules = AppendRules(codec=Codec.NONE, max_message_bytes=1000, compacted=True)
    assert isinstance(refusal(data, rules), RecordErrors)


def test_a_cut_batch_at_the_end_is_left_out() -> None:
    good = message(1)
    append = prepared(good * 2 + good[:-1])
    assert (append.record_count, append.received_bytes) == (2, 2 * len(good))


@pytest.mark.parametrize("data", [b"", b"123", record_set(2)[:-1]], ids=["nothing", "a part of a frame", "a cut batch"])
def test_no_whole_batch_is_an_empty_append_before_produce_v3(data: bytes) -> None:
    assert not prepared(data, api_version=2).head
    assert refusal(data, api_version=3).code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("data", "api_version", "code"),
    [
        (record_set(1), 3, ErrorCode.INVALID_RECORD),
        (record_set(2) * 2, 3, ErrorCode.INVALID_RECORD),
        (record_set(2, Codec.ZSTD), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (record_set(2, Codec.ZSTD), 7, None),
        (record_set(2, Codec.ZSTD), 2, None),
        (record_set(0), 2, None),
    ],
    ids=["magic 1 in v3", "two batches", "zstd in v6", "zstd in v7", "zstd in v2", "magic 0 in v2"],
)
def test_what_a_produce_version_may_carry(data: bytes, api_version: int, code: ErrorCode | None) -> None:
    if code is None:
        check_version(memoryview(data), api_version)
        assert prepared(data, api_version=api_version).head
    else:
        assert refusal(data, api_version=api_version).code == code
        with pytest.raises(ApiError):
            check_version(memoryview(data), api_version)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_wrong_checksum_is_corrupt(magic: int) -> None:
    error = refusal(with_wrong_checksum(record_set(magic)))
    assert isinstance(error, ChecksumMismatch)
    assert error.code == ErrorCode.CORRUPT_MESSAGE


def test_a_wrong_checksum_inside_a_wrapper_is_corrupt() -> None:
    data = wrapper(1, Codec.GZIP, [message(1), with_wrong_checksum(message(1, 1))], offset=1)
    assert isinstance(refusal(data), ChecksumMismatch)


@pytest.mark.parametrize(
    "data", [bytes(40), record_set(2)[:16] + b"\x05" + record_set(2)[17:]], ids=["zeros", "magic 5"]
)
def test_a_frame_that_cannot_be_is_corrupt(data: bytes) -> None:
    assert isinstance(refusal(record_set(1) + data), CorruptRecord)


@pytest.mark.parametrize("epoch_sequence", [{"producer_epoch": 0}, {"producer_epoch": 0, "base_sequence": -5}])
def test_a_producer_id_needs_a_sequence(epoch_sequence: dict[str, int]) -> None:
    error = refusal(record_set(2, producer_id=4, **epoch_sequence))
    assert isinstance(error, InvalidBatch)
    assert error.reason is Reason.INVALID_OFFSET_OR_SEQUENCE


def test_a_coordinator_writes_control_batches_and_may_start_anywhere() -> None:
    marker = patched(record_set(2, content=records(NOW), producer_id=4, producer_epoch=0, control=True), base_offset=9)
    append = prepared(marker, origin=AppendOrigin.COORDINATOR)
    assert append.is_control
    assert isinstance(refusal(patched(marker, base_offset=0)), InvalidBatch)


def test_two_compressed_messages_are_one_too_many() -> None:
    assert isinstance(refusal(record_set(1, Codec.GZIP) * 2), InvalidRecord)


def test_the_last_sequence_wraps_to_zero() -> None:
    append = prepared(record_set(2, producer_id=4, producer_epoch=0, base_sequence=(1 << 31) - 2))
    assert append.last_sequence == 0


@pytest.mark.parametrize("rules", [AppendRules(), AppendRules(codec=Codec.LZ4)], ids=["kept", "recompressed"])
def test_a_negative_timestamp_is_kept_but_not_rebuilt(rules: AppendRules) -> None:
    data = patched(record_set(2), base_timestamp=-1000)
    if rules.codec is None:
        assert prepared(data).max_timestamp == -1
    else:
        assert refusal(data, rules).code == ErrorCode.INVALID_TIMESTAMP


def soon(data: bytes, rules: AppendRules | None = None) -> PreparedAppend | None:
    return prepare_inline(memoryview(data), rules or AppendRules(), now_ms=NOW)


@pytest.mark.parametrize("codec", Codec)
def test_what_is_soon_done_takes_no_worker(codec: Codec) -> None:
    text = [Record(offset=n, timestamp=NOW, value=b"%d words of text" % (n * n)) for n in range(2500)]
    for data in (record_set(2, codec), record_set(2, codec, content=text)):
        assert soon(data) == prepare(memoryview(data), AppendRules(), now_ms=NOW) is not None


def test_what_is_nothing_or_small_and_plain_takes_no_worker() -> None:
    assert soon(b"") is not None
    assert soon(record_set(1)) is not None
    assert soon(record_set(2), AppendRules(codec=Codec.ZSTD)) is not None


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_what_opens_to_much_is_for_a_worker(codec: Codec) -> None:
    data = record_set(2, codec, content=[Record(value=bytes(300_000))])
    assert len(data) < 48 * 1024
    assert soon(data) is None


@pytest.mark.parametrize("codec", [Codec.SNAPPY, Codec.LZ4])
def test_blocks_of_64_kb_take_no_worker(codec: Codec) -> None:
    data = record_set(
        2, codec, content=[Record(offset=n, timestamp=NOW, value=random.Random(n).randbytes(600)) for n in range(110)]
    )
    assert len(data) > 60_000
    assert soon(data) == prepare(memoryview(data), AppendRules(), now_ms=NOW) is not None


def test_many_records_that_may_have_to_be_named_are_for_a_worker() -> None:
    keyless = [Record(offset=n, timestamp=NOW, value=b"no key") for n in range(65)]
    compacted = AppendRules(compacted=True)
    assert soon(record_set(2, content=keyless), compacted) is None
    with pytest.raises(RecordErrors):
        soon(record_set(2, content=keyless[:-1]), compacted)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_for_a_worker_if_large_or_compressed(magic: int) -> None:
    assert soon(record_set(magic, Codec.GZIP)) is None
    assert soon(record_set(magic, content=[Record(value=bytes(100_000))])) is None


@pytest.mark.parametrize(
    ("odd", "rules"),
    [
        (message(1, timestamp=-5), AppendRules()),
        (message(1, attributes=8), AppendRules()),
        (message(1, key=None), AppendRules(compacted=True)),
        (with_wrong_checksum(message(1)), AppendRules()),
        (message(0), AppendRules()),
    ],
    ids=["timestamp", "append time", "no key", "checksum", "another magic"],
)
def test_old_messages_that_have_to_be_looked_at_one_by_one_are_for_a_worker(odd: bytes, rules: AppendRules) -> None:
    assert soon(message(1) * 9, rules) is not None
    assert soon(message(1) * 9 + odd, rules) is None


def test_a_magic_that_there_is_not_is_for_a_worker() -> None:
    data = bytearray(message(1) * 9)
    data[MAGIC_OFFSET] = 3
    assert soon(bytes(data)) is None
    assert refusal(bytes(data)).code == ErrorCode.CORRUPT_MESSAGE


def test_what_is_rebuilt_is_for_a_worker() -> None:
    plain = record_set(2, content=[Record(value=bytes(100_000))])
    assert soon(plain) is not None
    assert soon(plain, AppendRules(codec=Codec.ZSTD)) is None
    assert soon(record_set(2, Codec.LZ4), AppendRules(codec=Codec.ZSTD)) is None


def test_only_what_is_rebuilt_is_held() -> None:
    plain = memoryview(record_set(2))
    as_it_is, recompressed = (plain, AppendRules()), (plain, AppendRules(codec=Codec.ZSTD))
    assert working_bytes([as_it_is]) == working_bytes([as_it_is] * 9) < working_bytes([recompressed])
    assert working_bytes([(plain, AppendRules(codec=Codec.NONE))]) == working_bytes([as_it_is])
