"""Wrappers of magic 0 and 1: whose offsets and timestamps their messages have."""

import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord, RecordTooLarge
from stepdown.protocol.records.batches import view_batch
from stepdown.protocol.records.builder import build_batch, encode_message
from stepdown.protocol.records.compression.codecs import compress
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record

LEGACY_CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
APPEND_TIME = 0x08


def message(offset, value=b"v", *, magic=1, timestamp=5, attributes=0):
    return encode_message(magic=magic, offset=offset, timestamp=timestamp, attributes=attributes, key=None, value=value)


def wrapper(*messages, offset, magic=1, codec=Codec.GZIP, attributes=0, timestamp=9):
    packed = compress(codec, b"".join(messages), magic=magic)
    return view_batch(message(offset, packed, magic=magic, timestamp=timestamp, attributes=attributes | codec))


def offsets(batch):
    return [record.offset for record in batch.records()]


def test_offsets_inside_a_v0_wrapper_are_absolute():
    batch = wrapper(message(3, magic=0), message(7, magic=0), offset=7, magic=0)
    assert offsets(batch) == [3, 7]
    assert (batch.base_offset, batch.last_offset) == (3, 7)


def test_offsets_inside_a_v1_wrapper_count_back_from_the_wrapper_s_with_gaps_kept():
    batch = wrapper(message(0), message(2), message(5), offset=105)
    assert offsets(batch) == [100, 102, 105]
    assert batch.base_offset == 100


def test_a_v1_wrapper_at_offset_zero_takes_inner_offsets_as_they_are():
    """Some librdkafka producers send 0 there."""
    assert offsets(wrapper(message(0), message(1), offset=0)) == [0, 1]


def test_a_v1_wrapper_offset_below_its_last_inner_offset_is_invalid():
    with pytest.raises(InvalidRecord, match="wrapper offset 1"):
        offsets(wrapper(message(0), message(2), offset=1))


def test_create_time_leaves_each_message_its_timestamp():
    batch = wrapper(message(0, timestamp=5), message(1, timestamp=6), offset=1, timestamp=6)
    assert [record.timestamp for record in batch.records()] == [5, 6]
    assert batch.max_timestamp == 6


def test_log_append_time_gives_all_messages_the_wrapper_s_timestamp_and_type():
    batch = wrapper(message(0, timestamp=5), offset=0, attributes=APPEND_TIME, timestamp=9)
    assert [(r.timestamp, r.timestamp_type) for r in batch.records()] == [(9, TimestampType.LOG_APPEND_TIME)]


def test_magic_0_has_no_timestamp():
    batch = view_batch(message(1, magic=0))
    assert (batch.max_timestamp, batch.timestamp_type) == (-1, TimestampType.NONE)


def test_a_wrapper_does_not_know_how_many_messages_it_holds():
    assert wrapper(message(0), offset=0).record_count is None
    assert view_batch(message(0)).record_count == 1


def test_a_wrapper_without_a_value_is_invalid():
    batch = view_batch(message(0, None, attributes=Codec.GZIP))
    with pytest.raises(InvalidRecord, match="no value"):
        offsets(batch)


def test_a_wrapper_without_messages_is_invalid():
    with pytest.raises(InvalidRecord, match="holds no message"):
        offsets(wrapper(offset=0))


def test_a_compressed_message_inside_a_wrapper_is_invalid():
    with pytest.raises(InvalidRecord, match="compressed message inside"):
        offsets(wrapper(message(0, attributes=Codec.GZIP), offset=0))


def test_zstd_in_magic_0_or_1_is_invalid():
    with pytest.raises(InvalidRecord, match="zstd"):
        offsets(view_batch(message(0, b"x", attributes=Codec.ZSTD)))


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_invalid(codec):
    with pytest.raises(InvalidRecord, match="unknown codec"):
        offsets(view_batch(message(0, b"x", attributes=codec)))


def test_an_inner_size_below_the_smallest_message_is_corrupt():
    small = bytes(8) + (13).to_bytes(4, "big") + bytes(13)
    with pytest.raises(CorruptRecord, match="13"):
        offsets(wrapper(small, offset=0))


@pytest.mark.parametrize("cut", [1, 11, 12, 30])
def test_a_part_of_a_message_at_the_end_of_a_wrapper_is_ignored(cut):
    assert offsets(wrapper(message(0), message(1), message(2)[:cut], offset=1)) == [0, 1]


def test_inner_checksums_are_not_looked_at_when_reading():
    damaged = bytearray(message(0))
    damaged[-1] ^= 1
    assert offsets(wrapper(bytes(damaged), offset=0)) == [0]


def test_an_outer_checksum_that_is_wrong_is_corrupt():
    damaged = bytearray(message(4))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecord, match="offset 4"):
        view_batch(damaged).ensure_valid()


@pytest.mark.parametrize("size", [2, 2**31 - 1])
def test_a_value_beyond_the_message_is_invalid(size):
    damaged = bytearray(message(0))
    damaged[-5:-1] = size.to_bytes(4, "big")
    with pytest.raises(InvalidRecord, match="past its end"):
        offsets(view_batch(damaged))


def test_any_negative_length_is_null():
    negative = bytearray(message(0, None))
    negative[-4:] = (-7).to_bytes(4, "big", signed=True)
    (record,) = view_batch(negative).records()
    assert record.value is None


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_a_wrapper_that_opens_beyond_the_limit_is_too_large(codec):
    records = [Record(offset=n, value=bytes(1000)) for n in range(100)]
    batch = view_batch(build_batch(records, magic=1, codec=codec))
    assert len(list(batch.records(max_bytes=200_000))) == 100
    with pytest.raises(RecordTooLarge, match="50000"):
        list(batch.records(max_bytes=50_000))
