import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord, RecordTooLarge
from stepdown.protocol.records.batches import iter_batches, view_batch
from stepdown.protocol.records.builder import build_batch, encode_message
from stepdown.protocol.records.compression.codecs import compress
from stepdown.protocol.records.conversion.up import convert_up
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record, decode_records, encode_record

LEGACY_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
RECORDS = [
    Record(offset=5, timestamp=100, key=b"k", value=b"v"),
    Record(offset=7, timestamp=90, key=None, value=b""),
    Record(offset=8, timestamp=110, key=b"", value=None),
    Record(offset=9, timestamp=110, key=b"x" * 100, value=b"y" * 70_000),
]


def up(data, **options):
    body = bytearray()
    told = convert_up(list(iter_batches(data)), body.extend, **options)
    return told, bytes(body)


def wrapper(*messages, offset=0, magic=1, attributes=0):
    packed = compress(Codec.GZIP, b"".join(messages), magic=magic)
    attributes |= Codec.GZIP
    return encode_message(magic=magic, offset=offset, timestamp=77, attributes=attributes, key=None, value=packed)


def message(offset=0, **fields):
    fields = {"magic": 1, "timestamp": 5, "attributes": 0, "key": None, "value": b"v"} | fields
    return encode_message(offset=offset, **fields)


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_become_records_numbered_from_zero(magic, codec):
    told, body = up(build_batch(RECORDS, magic=magic, codec=codec))
    renumbered = [
        Record(offset=n, timestamp=r.timestamp if magic else -1, key=r.key, value=r.value)
        for n, r in enumerate(RECORDS)
    ]
    base = 100 if magic else -1
    assert body == b"".join(encode_record(record, base_offset=0, base_timestamp=base) for record in renumbered)
    assert (told.record_count, told.base_timestamp, told.written_bytes) == (4, base, len(body))
    assert (told.oldest, told.newest) == ((90, 110) if magic else (-1, -1))
    assert told.keyless
    found = decode_records([body], 4, base_offset=0, base_timestamp=base, append_time=None)
    assert list(found) == renumbered


def test_read_bytes_count_the_messages_as_they_are_uncompressed():
    plain = build_batch(RECORDS, magic=1)
    assert up(plain)[0].read_bytes == up(build_batch(RECORDS, magic=1, codec=Codec.LZ4))[0].read_bytes == len(plain)


def test_a_wrapper_of_log_append_time_lends_its_timestamp():
    data = build_batch(
        RECORDS, magic=1, codec=Codec.GZIP, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=777
    )
    told, _ = up(data)
    assert (told.base_timestamp, told.oldest, told.newest) == (777, 777, 777)


def test_keys_everywhere_are_told():
    assert not up(build_batch([RECORDS[0], RECORDS[2]], magic=1))[0].keyless


def test_an_inner_checksum_that_is_wrong_is_corrupt():
    damaged = bytearray(message())
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecord, match="checksum"):
        up(wrapper(bytes(damaged)))


@pytest.mark.parametrize(
    "data",
    [
        wrapper(message(attributes=Codec.GZIP)),
        wrapper(message(magic=0)),
        wrapper(),
        wrapper(message(0), message(5), offset=3),
        message(value=None, attributes=Codec.GZIP),
        message() + message(magic=0),
        wrapper(message()) * 2,
        message() + wrapper(message()),
    ],
    ids=[
        "nested",
        "other magic inside",
        "empty",
        "offset",
        "no value",
        "other magic",
        "two wrappers",
        "wrapper second",
    ],
)
def test_what_old_producers_may_not_send_is_invalid(data):
    with pytest.raises(InvalidRecord):
        up(data)


def test_an_inner_size_below_the_smallest_is_corrupt():
    with pytest.raises(CorruptRecord, match="frame"):
        up(wrapper(bytes(12)))


def test_a_wrapper_at_offset_zero_is_valid_whatever_lies_inside():
    assert up(wrapper(message(0), message(5), offset=0))[0].record_count == 2


def test_a_wrapper_that_opens_beyond_the_limit_is_too_large():
    with pytest.raises(RecordTooLarge, match="50000"):
        up(build_batch(RECORDS, magic=1, codec=Codec.SNAPPY), max_opened_bytes=50_000)


def test_what_goes_up_comes_down_the_same():
    told, body = up(build_batch(RECORDS, magic=1))
    records = decode_records([body], 4, base_offset=0, base_timestamp=told.base_timestamp, append_time=None)
    assert list(view_batch(build_batch(list(records))).records())[3].value == RECORDS[3].value
