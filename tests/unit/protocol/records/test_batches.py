"""The reading rules of ByteBufferLogInputStream."""

import pytest
from stepdown.protocol.errors import CorruptRecord
from stepdown.protocol.records.batch import RecordBatch
from stepdown.protocol.records.batches import iter_batches, view_batch
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.legacy_batch import LegacyBatch
from stepdown.protocol.records.record import Record

BATCHES = [build_batch([Record(offset=offset, value=b"a")], magic=magic) for offset, magic in enumerate((0, 1, 2, 2))]
DATA = b"".join(BATCHES)


def with_size(data, size):
    return data[:8] + size.to_bytes(4, "big", signed=True) + data[12:]


def with_magic(data, magic):
    return data[:16] + bytes((magic,)) + data[17:]


def test_batches_of_any_magic_follow_one_another():
    found = list(iter_batches(DATA))
    assert [type(batch) for batch in found] == [LegacyBatch, LegacyBatch, RecordBatch, RecordBatch]
    assert [bytes(batch.data) for batch in found] == BATCHES


@pytest.mark.parametrize("cut", range(len(BATCHES[3])))
def test_a_part_of_a_batch_at_the_end_is_ignored(cut):
    assert len(list(iter_batches(DATA + BATCHES[3][:cut]))) == 4


def test_a_size_below_the_smallest_message_is_corrupt_even_where_it_is_not_whole():
    for left in (12, 17, 40):
        with pytest.raises(CorruptRecord, match="13"):
            list(iter_batches(with_size(BATCHES[1], 13)[:left]))


def test_a_negative_size_is_corrupt():
    with pytest.raises(CorruptRecord):
        list(iter_batches(with_size(BATCHES[1], -1)))


def test_a_size_above_the_reader_s_maximum_is_corrupt():
    assert len(list(iter_batches(BATCHES[2], max_bytes=len(BATCHES[2]) - 12))) == 1
    with pytest.raises(CorruptRecord, match="above the limit"):
        list(iter_batches(BATCHES[2], max_bytes=len(BATCHES[2]) - 13))


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_an_unknown_magic_is_corrupt_once_it_can_be_seen(magic):
    data = with_magic(BATCHES[2], magic)
    assert list(iter_batches(data[:16])) == []
    with pytest.raises(CorruptRecord, match="magic"):
        list(iter_batches(data[:17]))


def test_batches_before_a_wrong_frame_come_out():
    batches = iter_batches(BATCHES[2] + with_size(BATCHES[2], 0))
    assert next(batches).base_offset == 2
    with pytest.raises(CorruptRecord):
        next(batches)


def test_a_v2_batch_below_its_header_is_corrupt():
    data = with_size(BATCHES[2][:60], 48)
    with pytest.raises(CorruptRecord, match="header"):
        list(iter_batches(data))


def test_a_v1_message_below_its_header_is_corrupt():
    with pytest.raises(CorruptRecord):
        list(
            iter_batches(
                with_magic(BATCHES[0][:26], 1)[:8] + (14).to_bytes(4, "big") + with_magic(BATCHES[0], 1)[12:26]
            )
        )


def test_a_view_takes_exactly_one_batch():
    for data in (b"", BATCHES[2][:-1], BATCHES[2] + b"x", BATCHES[1] + b"x"):
        with pytest.raises(CorruptRecord):
            view_batch(data)
