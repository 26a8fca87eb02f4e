"""Down-conversion by the rules of KIP-283 (spec in `protocol/records/conversion/down.py`)."""

import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord, RecordTooLarge, UnsupportedCompression
from stepdown.protocol.records.batches import iter_batches, view_batch
from stepdown.protocol.records.builder import build_batch, build_control_marker, encode_message
from stepdown.protocol.records.compression.codecs import compress
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record

OLD_CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
APPEND = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 777}


def records(*offsets, timestamp=1000, **fields):
    return [Record(offset=offset, timestamp=timestamp + offset, value=b"v%d" % offset, **fields) for offset in offsets]


def marker(offset):
    return build_control_marker(
        ControlType.COMMIT, offset=offset, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=5
    )


def down(source, target=1, first_offset=0, room=4096, **options):
    return convert_down(source, target=target, first_offset=first_offset, out=bytearray(room), **options)


def read(source, target=1, first_offset=0, **options):
    """The converted batches, their checksums verified."""
    batches = list(iter_batches(bytes(down(source, target, first_offset, **options).data)))
    for batch in batches:
        batch.ensure_valid()
    return batches


def offsets(batches):
    return [record.offset for batch in batches for record in batch.records()]


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, *OLD_CODECS])
def test_keys_values_order_and_offsets_are_kept_gaps_included(target, codec):
    source = [
        Record(offset=5, timestamp=7, key=b"k", value=None),
        Record(offset=6, timestamp=9, key=None, value=b""),
        Record(offset=9, timestamp=8, key=b"", value=b"v" * 100, headers=(("lost", b"1"),)),
    ]
    found = [record for batch in read(build_batch(source, codec=codec), target) for record in batch.records()]
    assert [(r.offset, r.key, r.value) for r in found] == [(r.offset, r.key, r.value) for r in source]
    assert [r.timestamp for r in found] == ([7, 9, 8] if target else [-1, -1, -1])
    assert all(not r.headers for r in found)


@pytest.mark.parametrize("target", [0, 1])
def test_a_plain_batch_becomes_a_message_for_each_record(target):
    batches = read(build_batch(records(3, 4)), target)
    assert [(batch.magic, batch.last_offset, batch.is_compressed) for batch in batches] == [
        (target, 3, False),
        (target, 4, False),
    ]


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_a_compressed_batch_becomes_one_wrapper_of_the_same_codec(target, codec):
    (batch,) = read(build_batch(records(3, 4, 8), codec=codec), target)
    assert (batch.magic, batch.codec, batch.last_offset) == (target, codec, 8)
    assert [message.last_offset for message in batch.inner_messages()] == ([0, 1, 5] if target else [3, 4, 8])


def test_a_wrapper_counts_offsets_from_its_first_record_even_above_the_base_offset():
    (batch,) = read(build_batch(records(7, 9), base_offset=5, last_offset=12, codec=Codec.GZIP))
    assert [message.last_offset for message in batch.inner_messages()] == [0, 2]
    assert offsets([batch]) == [7, 9]


@pytest.mark.parametrize(("target", "checksum"), [(0, 0x1A), (1, 0x82)])
def test_lz4_gets_the_broken_header_checksum_in_magic_0_only(target, checksum):
    (batch,) = read(build_batch(records(1, 2), codec=Codec.LZ4), target)
    _, value = batch.key_and_value()
    assert value[6] == checksum


def test_a_v1_wrapper_of_create_time_has_the_highest_timestamp():
    source = [Record(offset=0, timestamp=50), Record(offset=1, timestamp=90), Record(offset=2, timestamp=60)]
    (batch,) = read(build_batch(source, codec=Codec.GZIP))
    assert (batch.max_timestamp, batch.timestamp_type) == (90, TimestampType.CREATE_TIME)


@pytest.mark.parametrize("codec", [Codec.NONE, *OLD_CODECS])
def test_log_append_time_is_written_everywhere_with_its_bit(codec):
    batches = read(build_batch(records(0, 1), codec=codec, **APPEND))
    inner = [message for batch in batches for message in (batch.inner_messages() if codec else (batch,))]
    assert {(m.max_timestamp, m.attributes & 0x08) for m in (*batches, *inner)} == {(777, 8)}


@pytest.mark.parametrize("codec", [Codec.NONE, *OLD_CODECS])
def test_magic_0_loses_the_timestamp_type(codec):
    batches = read(build_batch(records(0, 1), codec=codec, **APPEND), 0)
    inner = [message for batch in batches for message in (batch.inner_messages() if codec else (batch,))]
    assert {m.attributes & 0x08 for m in (*batches, *inner)} == {0}


def test_a_plain_batch_is_trimmed_at_the_first_offset():
    """Some librdkafka versions rely on it."""
    assert offsets(read(build_batch(records(3, 4, 5)), first_offset=5)) == [5]


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_a_compressed_batch_is_sent_whole(codec):
    assert offsets(read(build_batch(records(3, 4, 5), codec=codec), first_offset=5)) == [3, 4, 5]


def test_plain_messages_of_magic_1_are_trimmed_on_their_way_to_magic_0():
    assert offsets(read(build_batch(records(3, 4, 5), magic=1), 0, first_offset=4)) == [4, 5]


def test_a_wrapper_of_magic_1_becomes_one_of_magic_0_with_absolute_offsets():
    (batch,) = read(build_batch(records(3, 4, 8), magic=1, codec=Codec.LZ4), 0, first_offset=8)
    assert (batch.magic, batch.last_offset, batch.max_timestamp) == (0, 8, -1)
    assert [message.last_offset for message in batch.inner_messages()] == [3, 4, 8]


@pytest.mark.parametrize(("magic", "target"), [(0, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("codec", [Codec.NONE, *OLD_CODECS])
def test_batches_at_or_below_the_target_are_copied_even_before_the_first_offset(magic, target, codec):
    source = build_batch(records(3, 4), magic=magic, codec=codec)
    converted = down(source, target, first_offset=4)
    assert (bytes(converted.data), converted.records) == (source, 0)


def test_control_and_emptied_batches_vanish():
    empty = build_batch([], base_offset=4, last_offset=6)
    source = build_batch(records(1)) + marker(2) + empty + build_batch(records(7))
    assert offsets(read(source)) == [1, 7]
    assert down(marker(2) + empty).size_bytes == 0


def test_a_part_of_a_batch_at_the_end_is_ignored():
    source = build_batch(records(1))
    converted = down(source + source[:50])
    assert (converted.source_bytes, converted.batches) == (len(source), 1)


@pytest.mark.parametrize("codec", [Codec.NONE, *OLD_CODECS])
@pytest.mark.parametrize("target", [0, 1])
def test_a_negative_timestamp_other_than_none_is_invalid(codec, target):
    with pytest.raises(InvalidRecord, match="negative timestamp"):
        down(
            build_batch([Record(offset=0)], codec=codec, delete_horizon_ms=None, **(APPEND | {"log_append_time": -5})),
            target,
        )


@pytest.mark.parametrize("codec", [Codec.NONE, *OLD_CODECS])
def test_timestamp_none_is_kept(codec):
    (record,) = (r for batch in read(build_batch([Record(offset=0)], codec=codec)) for r in batch.records())
    assert record.timestamp == -1


@pytest.mark.parametrize("codec", [Codec.NONE, *OLD_CODECS])
@pytest.mark.parametrize(("magic", "target"), [(2, 1), (2, 0), (1, 0)])
def test_damage_is_found_and_not_given_a_fresh_checksum(codec, magic, target):
    damaged = bytearray(build_batch(records(1), magic=magic, codec=codec))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecord, match="offset 1"):
        down(damaged, target)


def test_zstd_is_refused():
    source = build_batch(records(1)) + build_batch(records(2), codec=Codec.ZSTD)
    with pytest.raises(UnsupportedCompression, match="zstd"):
        down(source)


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("target", [0, 1])
def test_zstd_becomes_a_wrapper_of_the_codec_asked_for(codec, target):
    (batch,) = read(build_batch(records(3, 4), codec=Codec.ZSTD), target, first_offset=4, zstd_to=codec)
    assert (batch.codec, offsets([batch])) == (codec, [3, 4])


def test_zstd_made_plain_is_trimmed_as_plain_batches_are():
    assert offsets(read(build_batch(records(3, 4), codec=Codec.ZSTD), first_offset=4, zstd_to=Codec.NONE)) == [4]


def test_plain_and_compressed_batches_keep_their_order():
    parts = [
        build_batch(records(1, 2)),
        build_batch(records(3, 4), codec=Codec.GZIP),
        build_batch(records(5), magic=1),
        build_batch(records(6, 7), codec=Codec.LZ4),
        build_batch(records(8)),
    ]
    converted = down(b"".join(parts))
    assert offsets(iter_batches(converted.data)) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert (converted.batches, converted.records, converted.source_bytes) == (5, 7, sum(map(len, parts)))


def test_the_result_of_plain_batches_lies_in_the_buffer_handed_in():
    out = bytearray(4096)
    converted = convert_down(build_batch(records(1)), target=1, first_offset=0, out=out)
    assert converted.data.obj is out


def test_a_buffer_that_is_too_small_is_left_alone():
    source = build_batch(records(*range(50)))
    assert bytes(down(source, room=10).data) == bytes(down(source).data)


@pytest.mark.parametrize(("codec", "head"), [(Codec.NONE, 0), (Codec.GZIP, 34)])
def test_temporary_bytes_are_source_bytes_and_what_was_written_uncompressed(codec, head):
    source = build_batch(records(1, 2), codec=codec)
    assert down(source).temporary_bytes == len(source) + head + 2 * (34 + 2)
    assert down(marker(1)).temporary_bytes == 0


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_a_batch_that_opens_beyond_the_limit_is_too_large(codec):
    source = build_batch([Record(offset=0, value=bytes(10_000))], codec=codec)
    with pytest.raises(RecordTooLarge, match="5000"):
        down(source, max_opened_bytes=5000)


def test_offsets_that_do_not_increase_are_invalid():
    twice = compress(
        Codec.GZIP, encode_message(magic=1, offset=0, timestamp=1, attributes=0, key=None, value=b"") * 2, magic=1
    )
    wrapper = encode_message(magic=1, offset=0, timestamp=1, attributes=Codec.GZIP, key=None, value=twice)
    with pytest.raises(InvalidRecord, match="increase"):
        down(wrapper, 0)


def test_a_source_is_a_view_of_anything():
    data = build_batch(records(1))
    assert down(memoryview(bytearray(data))).data == down(data).data
    assert view_batch(down(data).data).last_offset == 1
