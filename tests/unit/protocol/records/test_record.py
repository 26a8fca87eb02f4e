import pytest
from stepdown.protocol.errors import InvalidRecord
from stepdown.protocol.records.record import (
    Record,
    decode_record,
    decode_records,
    decode_varint,
    encode_record,
    encode_varint,
)

RECORD = Record(offset=12, timestamp=1010, key=b"key", value=None, headers=(("a", b"1"), ("b", None)))
FROM = {"base_offset": 10, "base_timestamp": 1000}


def decode(data, end=None, append_time=None):
    return decode_record(data, 0, len(data) if end is None else end, **FROM, append_time=append_time)


@pytest.mark.parametrize("value", [0, -1, 1, -64, 63, 64, 2**31 - 1, -(2**31)])
def test_a_varint_reads_as_it_was_written(value):
    data = encode_varint(value)
    assert decode_varint(data, 0, len(data)) == (value, len(data))


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, -(2**63)])
def test_a_varlong_reads_as_it_was_written(value):
    data = encode_varint(value)
    assert decode_varint(data, 0, len(data), 70) == (value, len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80\x80\x80\x80\x80\x00"], ids=["empty", "cut", "six bytes"])
def test_a_varint_that_does_not_end_is_invalid(data):
    with pytest.raises(InvalidRecord, match="varint"):
        decode_varint(data, 0, len(data))


def test_a_record_reads_as_it_was_written():
    data = encode_record(RECORD, **FROM)
    assert decode(data) == (RECORD, len(data))


def test_an_append_time_replaces_the_record_s_own():
    record, _ = decode(encode_record(RECORD, **FROM), append_time=7)
    assert record.timestamp == 7


def test_a_record_that_reaches_beyond_its_data_is_invalid():
    data = encode_record(RECORD, **FROM)
    for end in range(len(data)):
        with pytest.raises(InvalidRecord):
            decode(data, end)


@pytest.mark.parametrize(
    "body",
    [
        b"\x00\x00\x00\x01\x01\x00\xff",
        b"\x00\x00\x00\x08a\x01\x00",
        b"\x00\x00\x00\x01\x01\x02\x01\x00",
        b"\x00\x00\x00\x01\x01\x01",
        b"\x00\x00\x00\x01\x01\x40",
    ],
    ids=["bytes left", "key too long", "header without key", "negative header count", "too many headers"],
)
def test_a_record_that_is_not_consumed_exactly_is_invalid(body):
    with pytest.raises(InvalidRecord):
        decode(encode_varint(len(body)) + body)


def in_pieces(data, size):
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_records_read_the_same_however_the_stream_is_cut(size):
    records = [Record(offset=10 + n, timestamp=1000, value=bytes(n)) for n in range(20)]
    data = b"".join(encode_record(record, **FROM) for record in records)
    assert list(decode_records(in_pieces(data, size), 20, **FROM, append_time=None)) == records


@pytest.mark.parametrize(("count", "text"), [(3, "missing"), (1, "left")])
def test_a_count_that_the_stream_does_not_bear_out_is_invalid(count, text):
    data = encode_record(RECORD, **FROM) * 2
    with pytest.raises(InvalidRecord, match=text):
        list(decode_records(in_pieces(data, 8), count, **FROM, append_time=None))


def test_timestamps_wrap_at_64_bits_as_java_s_do():
    """A delta from -1 to the last timestamp there is was written in a form that read as another one."""
    record = Record(offset=10, timestamp=2**63 - 1)
    data = encode_record(record, base_offset=10, base_timestamp=-1)
    assert decode_record(data, 0, len(data), base_offset=10, base_timestamp=-1, append_time=None)[0] == record
