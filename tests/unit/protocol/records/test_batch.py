import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord, RecordTooLarge
from stepdown.protocol.records import kernel
from stepdown.protocol.records.batches import view_batch
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record

RECORDS = [Record(offset=10, timestamp=100, value=b"a"), Record(offset=14, timestamp=90, key=b"k")]


def resealed(data):
    data = bytearray(data)
    data[17:21] = kernel.crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    return view_batch(data)


def test_the_header_is_read_as_it_was_written():
    batch = view_batch(
        build_batch(
            RECORDS, producer_id=7, producer_epoch=3, base_sequence=5, partition_leader_epoch=2, transactional=True
        )
    )
    assert (batch.base_offset, batch.last_offset, batch.next_offset, batch.record_count) == (10, 14, 15, 2)
    assert (batch.base_timestamp, batch.max_timestamp, batch.timestamp_type) == (100, 100, TimestampType.CREATE_TIME)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 3, 5)
    assert (batch.partition_leader_epoch, batch.is_transactional, batch.is_control) == (2, True, False)
    assert batch.delete_horizon_ms is None


def test_the_last_sequence_wraps_to_zero_after_2147483647():
    batch = view_batch(build_batch(RECORDS, producer_id=7, producer_epoch=3, base_sequence=2**31 - 1))
    assert batch.last_sequence == 3


def test_no_base_sequence_means_no_last_sequence():
    assert view_batch(build_batch(RECORDS)).last_sequence == -1


def test_log_append_time_is_every_record_s_timestamp():
    data = build_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=777)
    assert [record.timestamp for record in view_batch(data).records()] == [777, 777]


def test_a_delete_horizon_takes_the_place_of_the_base_timestamp_and_leaves_timestamps_alone():
    batch = view_batch(build_batch(RECORDS, delete_horizon_ms=5000))
    assert batch.delete_horizon_ms == 5000
    assert list(batch.records()) == RECORDS


def test_compaction_may_leave_gaps_a_first_record_above_the_base_and_a_last_offset_without_one():
    batch = view_batch(build_batch(RECORDS, base_offset=3, last_offset=20))
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (3, 20, 2)
    assert list(batch.records()) == RECORDS


def test_compaction_may_leave_an_empty_batch():
    batch = view_batch(build_batch([], base_offset=3, last_offset=9, producer_id=1, producer_epoch=0, base_sequence=0))
    assert (batch.size_bytes, batch.record_count, batch.last_sequence) == (61, 0, 6)
    assert list(batch.records()) == []


def test_only_the_low_byte_of_the_attributes_is_read():
    data = bytearray(build_batch(RECORDS))
    data[21] = 0xFF
    batch = resealed(data)
    assert (batch.codec, batch.is_control, list(batch.records())) == (Codec.NONE, False, RECORDS)


def test_offset_and_leader_epoch_lie_outside_the_checksum():
    data = bytearray(build_batch(RECORDS))
    data[:8] = (999).to_bytes(8, "big")
    data[12:16] = (8).to_bytes(4, "big")
    view_batch(data).ensure_valid()


@pytest.mark.parametrize("at", [17, 21, 40, 61, -1])
def test_a_changed_byte_under_the_checksum_is_corrupt(at):
    data = bytearray(build_batch(RECORDS))
    data[at] ^= 1
    with pytest.raises(CorruptRecord, match="offset 10"):
        view_batch(data).ensure_valid()


def test_a_negative_record_count_is_invalid():
    data = bytearray(build_batch(RECORDS))
    data[57:61] = b"\xff" * 4
    with pytest.raises(InvalidRecord, match="-1 records"):
        resealed(data).records()


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize(("count", "text"), [(3, "missing"), (1, "left")])
def test_a_record_count_that_is_not_borne_out_is_invalid(codec, count, text):
    data = bytearray(build_batch(RECORDS, codec=codec))
    data[57:61] = count.to_bytes(4, "big")
    with pytest.raises(InvalidRecord, match=text):
        list(resealed(data).records())


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_opens_beyond_the_limit_is_too_large(codec):
    batch = view_batch(build_batch([Record(offset=n, value=bytes(1000)) for n in range(100)], codec=codec))
    with pytest.raises(RecordTooLarge, match="50000"):
        list(batch.records(max_bytes=50_000))
