import pytest
from stepdown.protocol.errors import UnsupportedCompression
from stepdown.protocol.records.batches import iter_batches, view_batch
from stepdown.protocol.records.builder import build_batch, build_plain_batch
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record


def record(offset, **fields):
    return Record(offset=offset, timestamp=1000, value=b"v", **fields)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("offsets", [(1, 1), (2, 1)])
def test_offsets_have_to_increase(magic, offsets):
    with pytest.raises(ValueError, match="after"):
        build_batch([record(offset) for offset in offsets], magic=magic)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_offsets_stay_within_an_int32_of_the_first(magic):
    build_batch([record(0), record(2**31 - 1)], magic=magic)
    with pytest.raises(ValueError, match="too far"):
        build_batch([record(0), record(2**31)], magic=magic)


def test_a_negative_timestamp_other_than_none_is_refused():
    with pytest.raises(ValueError, match="negative timestamp"):
        build_batch([Record(offset=0, timestamp=-2)])


@pytest.mark.parametrize("magic", [0, 1])
def test_old_magics_have_neither_headers_nor_zstd(magic):
    with pytest.raises(ValueError, match="headers"):
        build_batch([record(0, headers=(("h", b""),))], magic=magic)
    with pytest.raises(UnsupportedCompression):
        build_batch([record(0)], magic=magic, codec=Codec.ZSTD)


def test_an_uncompressed_set_of_an_old_magic_is_a_message_for_each_record():
    data = build_batch([record(3), record(5)], magic=1)
    assert [(batch.last_offset, batch.record_count) for batch in iter_batches(data)] == [(3, 1), (5, 1)]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_has_the_last_offset_and_the_highest_timestamp(magic):
    records = [Record(offset=5, timestamp=30), Record(offset=6, timestamp=40), Record(offset=9, timestamp=20)]
    batch = view_batch(build_batch(records, magic=magic, codec=Codec.GZIP))
    assert (batch.last_offset, batch.max_timestamp) == (9, 40 if magic else -1)


@pytest.mark.parametrize(("magic", "inner"), [(0, [5, 9]), (1, [0, 4])])
def test_inner_offsets_are_absolute_in_magic_0_and_relative_in_magic_1(magic, inner):
    batch = view_batch(build_batch([record(5), record(9)], magic=magic, codec=Codec.GZIP))
    assert [message.last_offset for message in batch.inner_messages()] == inner


@pytest.mark.parametrize(("magic", "bit"), [(0, 0), (1, 8)])
def test_inner_messages_have_no_codec_but_the_timestamp_type(magic, bit):
    options = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 7}
    batch = view_batch(build_batch([record(5)], magic=magic, codec=Codec.GZIP, **options))
    assert [message.attributes for message in batch.inner_messages()] == [bit]


def test_the_timestamps_of_log_append_time_stay_as_deltas_in_magic_2_only():
    records = [Record(offset=0, timestamp=10), Record(offset=1, timestamp=12)]
    options = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 99}
    v2 = view_batch(build_batch(records, **options))
    assert (v2.base_timestamp, v2.max_timestamp) == (10, 99)
    assert v2.body.hex() == "0c0000000101000c000402010100"
    v1 = list(iter_batches(build_batch(records, magic=1, **options)))
    assert [message.max_timestamp for message in v1] == [99, 99]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("transactional", [False, True])
def test_records_without_headers_and_of_one_time_make_the_same_batch_in_the_compiled_loop(codec, transactional):
    pairs = [(b"k%d" % number * 40, None if number % 3 else b"v" * number) for number in range(300)]
    fields = {"partition_leader_epoch": 3, "producer_id": 4, "producer_epoch": 5, "base_sequence": 0}
    records = [
        Record(offset=7 + number, timestamp=1000, key=key, value=value) for number, (key, value) in enumerate(pairs)
    ]
    wanted = build_batch(records, codec=codec, transactional=transactional, **fields)
    made = build_plain_batch(pairs, timestamp=1000, base_offset=7, codec=codec, transactional=transactional, **fields)
    assert made == wanted
