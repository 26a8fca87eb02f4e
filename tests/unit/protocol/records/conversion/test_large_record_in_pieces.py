"""Records and messages above 1 MiB in compressed batches: written piece by piece."""

import tracemalloc

import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord
from stepdown.protocol.records import kernel
from stepdown.protocol.records.batches import view_batch
from stepdown.protocol.records.builder import build_batch, encode_message
from stepdown.protocol.records.compression.codecs import compress
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.conversion.up import convert_up
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record, encode_record, encode_varint
from stepdown.protocol.records.v2_header import LAYOUT
from support import reference_conversion

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
MiB = 1 << 20
GIANT = bytes(3 * MiB)


def down(source, target=1, **options):
    return convert_down(source, target=target, first_offset=0, out=bytearray(1), **options)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("target", [0, 1])
def test_giants_among_others_are_converted_as_all_are(codec, target):
    source = build_batch(
        [
            Record(offset=3, timestamp=10, value=b"small"),
            Record(offset=4, timestamp=30, key=GIANT, value=None, headers=(("h", b"v"), ("n", None))),
            Record(offset=6, timestamp=20, key=None, value=GIANT),
            Record(offset=7, timestamp=25, key=b"", value=b"", headers=(("big", GIANT),)),
            Record(offset=9, timestamp=15, key=b"k" * 100, value=GIANT),
        ],
        codec=codec,
    )
    batch = view_batch(down(source, target).data)
    batch.ensure_valid()
    for message in batch.inner_messages():
        message.ensure_valid()
    expected, count = reference_conversion.convert_down(source, target=target, first_offset=0)
    assert list(batch.records()) == list(view_batch(expected).records())
    assert (batch.max_timestamp, count) == (30 if target else -1, 5)


def test_giants_have_the_append_time_of_their_batch():
    options = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 77}
    (message,) = view_batch(
        down(build_batch([Record(offset=1, value=GIANT)], codec=Codec.LZ4, **options)).data
    ).inner_messages()
    message.ensure_valid()
    assert (message.max_timestamp, message.attributes) == (77, 8)


def test_giants_before_the_first_offset_are_left_out_where_zstd_becomes_plain():
    source = build_batch([Record(offset=n, value=GIANT if n < 2 else b"v") for n in range(3)], codec=Codec.ZSTD)
    converted = convert_down(source, target=1, first_offset=1, out=bytearray(1), zstd_to=Codec.NONE)
    assert (converted.records, converted.size_bytes) == (2, 34 + len(GIANT) + 34 + 1)


@pytest.mark.parametrize("codec", CODECS)
def test_memory_does_not_depend_on_what_a_batch_opens_to(codec):
    source = build_batch([Record(offset=n, timestamp=1, value=bytes(16 * MiB)) for n in range(2)], codec=codec)
    tracemalloc.start()
    converted = down(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * converted.size_bytes + MiB


def broken(tail, size=None):
    """A gzip batch of one record that begins as a giant does and goes on with `tail`."""
    body = bytes(3) + tail
    stream = encode_varint(len(body) if size is None else size) + body
    head = LAYOUT.pack(0, 49, -1, 2, 0, Codec.GZIP, 0, 0, 0, -1, -1, -1, 1)
    data = bytearray(head + compress(Codec.GZIP, stream, magic=2))
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[17:21] = kernel.crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    return data


NULL_KEY = b"\x01"
VALUE = encode_varint(len(GIANT)) + GIANT


@pytest.mark.parametrize(
    ("tail", "size"),
    [
        (NULL_KEY + VALUE + b"\x00x", None),
        (NULL_KEY + VALUE, None),
        (NULL_KEY + VALUE + b"\x01", None),
        (NULL_KEY + VALUE + b"\x7e", None),
        (NULL_KEY + VALUE + b"\x02\x01", None),
        (NULL_KEY + VALUE + b"\x00", 4 * MiB),
        (NULL_KEY + encode_varint(len(GIANT) + 10) + GIANT, None),
    ],
    ids=[
        "bytes left",
        "no headers",
        "negative count",
        "count too high",
        "null header key",
        "stream ends",
        "value long",
    ],
)
def test_a_broken_giant_is_invalid(tail, size):
    with pytest.raises(InvalidRecord):
        down(broken(tail, size))


def test_a_giant_at_the_end_of_the_stream_is_whole():
    assert down(broken(NULL_KEY + VALUE + b"\x00")).records == 1


# messages of magic 0 and 1

MESSAGES = [
    Record(offset=3, timestamp=10, value=b"small"),
    Record(offset=4, timestamp=30, key=GIANT, value=None),
    Record(offset=6, timestamp=20, key=None, value=GIANT),
    Record(offset=7, timestamp=25, key=GIANT, value=b""),
    Record(offset=9, timestamp=15, key=b"k" * 100, value=GIANT),
]


def up(data):
    body = bytearray()
    return convert_up([view_batch(data)], body.extend), bytes(body)


@pytest.mark.parametrize("codec", CODECS)
def test_giant_messages_go_from_magic_1_to_0_as_all_do(codec):
    source = build_batch(MESSAGES, magic=1, codec=codec)
    batch = view_batch(down(source, 0).data)
    batch.ensure_valid()
    for message in batch.inner_messages():
        message.ensure_valid()
    expected, _ = reference_conversion.convert_down(source, target=0, first_offset=0)
    assert list(batch.records()) == list(view_batch(expected).records())


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_giant_messages_go_up_as_all_do(codec, magic):
    told, body = up(build_batch(MESSAGES, magic=magic, codec=codec))
    base = 10 if magic else -1
    assert body == b"".join(
        encode_record(
            Record(offset=n, timestamp=r.timestamp if magic else -1, key=r.key, value=r.value),
            base_offset=0,
            base_timestamp=base,
        )
        for n, r in enumerate(MESSAGES)
    )
    assert (told.record_count, told.base_timestamp, told.keyless) == (5, base, True)
    assert (told.oldest, told.newest) == ((10, 30) if magic else (-1, -1))
    assert (told.read_bytes, told.written_bytes) == (len(build_batch(MESSAGES, magic=magic)), len(body))


@pytest.mark.parametrize("codec", CODECS)
def test_memory_does_not_depend_on_what_a_wrapper_opens_to(codec):
    messages = [Record(offset=n, timestamp=1, value=bytes(16 * MiB)) for n in range(2)]
    source = build_batch(messages, magic=1, codec=codec)
    tracemalloc.start()
    down(source, 0)
    convert_up([view_batch(source)], len)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(source) + MiB


def giant_wrapper(*, magic=1, damage=None, cut=None, attributes=0):
    inner = bytearray(encode_message(magic=magic, offset=0, timestamp=5, attributes=attributes, key=None, value=GIANT))
    if damage is not None:
        at, value = damage
        inner[at : at + len(value)] = value
    packed = compress(Codec.GZIP, inner[:cut], magic=1)
    return encode_message(magic=1, offset=0, timestamp=5, attributes=Codec.GZIP, key=None, value=packed)


def test_the_checksum_of_a_giant_message_is_verified_on_the_way_up():
    assert up(giant_wrapper())[0].record_count == 1
    with pytest.raises(CorruptRecord, match="checksum"):
        up(giant_wrapper(damage=(-1, b"x")))


@pytest.mark.parametrize(
    "options",
    [
        {"attributes": Codec.LZ4},
        {"damage": (16, b"\x02")},
        {"damage": (26, b"\x7f\xff\xff\xff")},
        {"damage": (30, b"\x00\x00\x00\x07")},
        {"cut": 2 * MiB},
        {"cut": 20},
    ],
    ids=["codec", "magic", "key size", "value size", "stream ends", "head ends"],
)
def test_a_broken_giant_message_is_invalid(options):
    wrapper = giant_wrapper(**options)
    with pytest.raises(InvalidRecord):
        up(wrapper)
    with pytest.raises(InvalidRecord):
        down(wrapper, 0)


def test_a_giant_message_of_another_magic_is_invalid_on_the_way_up():
    with pytest.raises(InvalidRecord, match="magic 0"):
        up(giant_wrapper(magic=0))
