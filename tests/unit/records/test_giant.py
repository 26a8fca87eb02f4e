"""Records above 1 MiB in compressed batches: written piece by piece."""

import tracemalloc

import pytest
from stepdown.protocol.errors import InvalidRecord
from stepdown.protocol.records import kernel
from stepdown.protocol.records.batches import view
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.compression import compress
from stepdown.protocol.records.convert import convert_down
from stepdown.protocol.records.layout import BATCH_HEADER, Codec, TimestampType
from stepdown.protocol.records.record import Record, encode_varint
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
    batch = view(down(source, target).data)
    batch.ensure_valid()
    for message in batch.inner_messages():
        message.ensure_valid()
    expected, count = reference_conversion.convert_down(source, target=target, first_offset=0)
    assert list(batch.records()) == list(view(expected).records())
    assert (batch.max_timestamp, count) == (30 if target else -1, 5)


def test_giants_have_the_append_time_of_their_batch():
    options = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 77}
    (message,) = view(
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
    head = BATCH_HEADER.pack(0, 49, -1, 2, 0, Codec.GZIP, 0, 0, 0, -1, -1, -1, 1)
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
