import binascii
import random

import crc32c
import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord
from stepdown.protocol.records import kernel
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record

BYTES = random.Random(1).randbytes(9000)


def batch(first=0, count=3, size=10, **options):
    return build_batch([Record(offset=first + n, timestamp=5, value=bytes(size)) for n in range(count)], **options)


def convert(source, target=1, first_offset=0, room=10_000, **options):
    out = bytearray(room)
    answer = kernel.convert_plain(source, 0, target, first_offset, out, **options)
    return answer, out


@pytest.mark.parametrize("size", [*range(300), 511, 512, 513, 1023, 1024, 1042, 4095, 4096, 4097, 8999])
def test_checksums_of_any_length_and_alignment_equal_the_libraries(size):
    for start in (0, 1):
        data = memoryview(BYTES)[start : start + size]
        assert kernel.crc32(data) == binascii.crc32(data)
        assert kernel.crc32c(data) == crc32c.crc32c(data)


def test_a_checksum_goes_on_from_another():
    for cut in (0, 1, 15, 16, 17, 100, 5000, 9000):
        assert kernel.crc32(BYTES[cut:], kernel.crc32(BYTES[:cut])) == binascii.crc32(BYTES)
        assert kernel.crc32c(BYTES[cut:], kernel.crc32c(BYTES[:cut])) == crc32c.crc32c(BYTES)


def test_a_chunk_takes_whole_batches_up_to_its_limit_and_never_less_than_one():
    one = batch()
    assert kernel.plan_chunk(one * 5, 1, 2 * len(one))[:2] == (2 * len(one), 2)
    assert kernel.plan_chunk(one * 5, 1, 2 * len(one) - 1)[:2] == (len(one), 1)
    assert kernel.plan_chunk(one * 5, 1, 0)[:2] == (len(one), 1)
    assert kernel.plan_chunk(one + one[:-1], 1, 1000)[:2] == (len(one), 1)
    assert kernel.plan_chunk(one[:-1], 1, 1000) == (0, 0, False, 0)
    assert kernel.plan_chunk(b"", 1, 1000) == (0, 0, False, 0)


def test_a_chunk_tells_whether_it_needs_a_codec():
    assert not kernel.plan_chunk(batch() + batch(magic=1), 1, 1000)[2]
    assert kernel.plan_chunk(batch() + batch(codec=Codec.GZIP), 1, 1000)[2]
    assert not kernel.plan_chunk(batch(codec=Codec.GZIP, magic=1), 1, 1000)[2], "it is copied as it is"
    assert kernel.plan_chunk(batch(codec=Codec.GZIP, magic=1), 0, 1000)[2]


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("size", [0, 1, 200])
def test_a_chunk_bounds_what_it_becomes(target, size):
    source = batch(count=9, size=size) + batch(magic=1) + batch(magic=0)
    (_, written, *_), _ = convert(source, target)
    assert written <= kernel.plan_chunk(source, target, 1 << 20)[3]


def test_a_count_that_lies_does_not_inflate_the_bound():
    lying = bytearray(batch())
    lying[57:61] = b"\x7f\xff\xff\xff"
    assert kernel.plan_chunk(lying, 1, 1000)[3] < 10 * len(lying)


def test_a_chunk_ends_before_a_wrong_frame_and_refuses_one_at_its_start():
    wrong = bytearray(batch())
    wrong[8:12] = (13).to_bytes(4, "big")
    good = batch()
    assert kernel.plan_chunk(good + wrong, 1, 1000)[:2] == (len(good), 1)
    with pytest.raises(CorruptRecord, match="frame"):
        kernel.plan_chunk(wrong, 1, 1000)


def test_a_run_without_a_buffer_measures_what_one_with_it_writes():
    source = batch() + batch(3, magic=1) + batch(6)
    (at, written, *rest), _ = convert(source)
    assert kernel.convert_plain(source, 0, 1, 0, None) == (at, written, *rest)


def test_a_run_that_finds_no_room_stops_before_the_batch_that_does_not_fit():
    source = batch() + batch(3)
    (_, whole, *_), _ = convert(source)
    (at, written, batches, *_), out = convert(source, room=whole - 1)
    assert (at, batches) == (len(source) // 2, 1)
    (at, again, *_), rest = convert(source[at:])
    assert written + again == whole
    assert bytes(out[:written] + rest[:again]) == bytes(convert(source)[1][:whole])


def test_a_run_stops_at_a_batch_that_needs_a_codec():
    plain, packed = batch(), batch(3, codec=Codec.LZ4)
    (at, _, batches, records, _, _, codec), _ = convert(plain + packed)
    assert (at, batches, records, codec) == (len(plain), 1, 3, True)


def test_records_before_the_first_offset_are_counted_and_left_out():
    (_, written, _, records, trimmed, *_), _ = convert(batch() + batch(3), first_offset=4)
    assert (records, trimmed) == (2, 4)
    assert written == 2 * (34 + 10)


@pytest.mark.parametrize("magic", [1, 2])
def test_a_wrong_checksum_is_corrupt_before_anything_is_converted(magic):
    damaged = bytearray(batch(magic=magic))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecord, match=r"offset [02] .*checksum"):
        convert(damaged, target=0)


def test_copied_batches_are_not_looked_into():
    damaged = bytearray(batch(magic=1))
    damaged[-1] ^= 1
    assert bytes(convert(damaged)[1][: len(damaged)]) == bytes(damaged)


def resealed(data):
    data = bytearray(data)
    data[17:21] = kernel.crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    return data


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        (57, b"\x00\x00\x00\x04", "broken"),
        (57, b"\x00\x00\x00\x02", "as many"),
        (57, b"\xff\xff\xff\xff", "as many"),
        (61, b"\x7e", "broken"),
        (61, b"\x01", "broken"),
        (64, b"\x02", "order|increase|broken"),
        (27, b"\xff" * 7 + b"\x00", "negative timestamp"),
    ],
    ids=["count above", "count below", "count negative", "length too long", "length negative", "offset", "timestamp"],
)
def test_a_broken_batch_is_invalid(at, value, text):
    broken = bytearray(batch())
    broken[at : at + len(value)] = value
    with pytest.raises(InvalidRecord, match=text):
        convert(resealed(broken))


def test_a_position_outside_the_source_reads_nothing():
    assert kernel.convert_plain(batch(), 10_000, 1, 0, None)[:3] == (10_000, 0, 0)
