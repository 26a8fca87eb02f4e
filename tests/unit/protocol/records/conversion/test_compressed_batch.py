"""Batches that are converted in one piece: the same bytes as through streams."""

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from stepdown.protocol.errors import InvalidRecord
from stepdown.protocol.records.batches import view_batch
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.compression.codecs import decompress_in_chunks
from stepdown.protocol.records.conversion.compressed_batch import (
    AT_ONCE_BYTES,
    convert_compressed_batches,
    size_as_wrapper,
)
from stepdown.protocol.records.conversion.down import convert_compressed
from stepdown.protocol.records.kernel import crc32c
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Buffer, Record

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
WORDS = [b"record ", b"batch ", b"offset ", b"epoch ", b"\x00\x01", b"segment "]


def batch(rng: Random, codec: Codec, *, count: int, size: int, append_time: bool = False) -> memoryview:
    def value() -> bytes:
        return b"".join(rng.choice(WORDS) for _ in range(size // 6)) if rng.random() < 0.7 else rng.randbytes(size)

    records = [
        Record(offset=100 + 2 * n, timestamp=5 + n, key=rng.choice([None, b"k" * 9]), value=value())
        for n in range(count)
    ]
    times = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 77} if append_time else {}
    return memoryview(build_batch(records, codec=codec, **times))


def opened(wrapper: Buffer) -> list[Record]:
    found = view_batch(memoryview(wrapper))
    found.ensure_valid()
    return list(found.records())


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("seed", range(6))
def test_one_piece_gives_what_streams_give(codec: Codec, target: int, seed: int) -> None:
    rng = Random(seed)
    count, size = rng.choice([(1, 0), (1, 20_000), (15, 1000), (200, 10), (60, 1000), (30, 2500)])
    source = batch(rng, codec, count=count, size=size, append_time=seed % 2 == 1)
    streamed = convert_compressed(source, target=target, first_offset=0, max_opened_bytes=AT_ONCE_BYTES - 1)
    out = bytearray(b"\xaa" * 4 * AT_ONCE_BYTES)
    at, end, records, temporary_bytes = convert_compressed_batches(source, 0, target, out, 7)
    if at:
        assert (at, records) == (len(source), count)
        assert (opened(out[7:end]), temporary_bytes) == (opened(streamed.data), streamed.temporary_bytes)
    whole = convert_compressed(source, target=target, first_offset=0)
    assert size_as_wrapper(source, target) == (whole.size_bytes if at else 0)
    assert (opened(whole.data), whole.records) == (opened(streamed.data), streamed.records)


@pytest.mark.parametrize("codec", CODECS)
def test_an_ordinary_batch_needs_no_stream(codec: Codec) -> None:
    source = batch(Random(1), codec, count=15, size=1000)
    assert convert_compressed_batches(source, 0, 1, bytearray(100_000), 0).source_end == len(source)


@pytest.mark.parametrize("codec", CODECS)
def test_batches_end_before_one_that_opens_to_more_than_is_allowed(codec: Codec) -> None:
    one = bytes(batch(Random(1), codec, count=15, size=1000))
    out = bytearray(200_000)
    assert convert_compressed_batches(one * 3, 0, 1, out, 0, 14_000).source_end == 0
    assert convert_compressed_batches(one * 3, 0, 1, out, 0, 20_000).source_end == len(one)
    assert convert_compressed_batches(one * 3, 0, 1, out, 0, 40_000).source_end == 2 * len(one)


def test_batches_end_where_nothing_more_may_be_opened() -> None:
    """To isal a limit of 0 is none: a batch of 28 kB opened to 29 MB in the event loop."""
    one = bytes(batch(Random(1), Codec.GZIP, count=15, size=1000))
    opened_bytes = len(
        b"".join(decompress_in_chunks(Codec.GZIP, memoryview(one)[61:], magic=2, max_bytes=AT_ONCE_BYTES))
    )
    assert convert_compressed_batches(one * 2, 0, 1, bytearray(200_000), 0, opened_bytes).source_end == len(one)


def test_a_small_batch_that_goes_through_python_counts_for_more() -> None:
    one = bytes(batch(Random(1), Codec.GZIP, count=1, size=10))
    assert convert_compressed_batches(one * 200, 0, 1, bytearray(200_000), 0, 50 * 1024).source_end == 50 * len(one)


@pytest.mark.parametrize("codec", CODECS)
def test_what_has_no_room_or_is_damaged_is_left_to_streams(codec: Codec) -> None:
    source = batch(Random(1), codec, count=15, size=1000)
    assert convert_compressed_batches(source, 0, 1, bytearray(1000), 0).source_end == 0
    damaged = bytearray(source)
    damaged[-1] ^= 1
    plain = build_batch([Record(offset=0, timestamp=1, key=None, value=b"v")])
    for other in damaged, plain, source[:-1], b"":
        both = memoryview(bytes(source) + bytes(other))
        assert convert_compressed_batches(both, 0, 1, bytearray(100_000), 0).source_end == len(source)


@pytest.mark.parametrize("target", [0, 1])
def test_batches_follow_each_other_until_there_is_no_room(target: int) -> None:
    sources = [batch(Random(seed), codec, count=15, size=1000) for seed in range(3) for codec in CODECS]
    wrappers = [convert_compressed(source, target=target, first_offset=0) for source in sources]
    together = memoryview(b"".join(sources))
    out = bytearray(200_000)
    at, end, records, temporary_bytes = convert_compressed_batches(together, 0, target, out, 0)
    assert (at, records) == (len(together), 15 * len(sources))
    assert temporary_bytes == sum(each.temporary_bytes for each in wrappers)
    assert out[:end] == b"".join(bytes(each.data) for each in wrappers)
    at, end, records, _ = convert_compressed_batches(together, 0, target, bytearray(40_000), 0)
    assert at == sum(map(len, sources[: records // 15]))
    assert 0 < records < 15 * len(sources)


def test_threads_convert_side_by_side() -> None:
    """Each thread has its own buffers and its own compressor's state."""
    sources = [batch(Random(seed), CODECS[seed % 3], count=60, size=900) for seed in range(12)]

    def made(source: memoryview) -> bytes:
        out = bytearray(100_000)
        return bytes(out[: convert_compressed_batches(source, 0, 1, out, 0).result_end])

    expected = [made(source) for source in sources]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(made, sources * 20)) == expected * 20


def test_a_broken_stream_under_a_good_checksum_is_refused() -> None:
    source = bytearray(batch(Random(1), Codec.LZ4, count=15, size=1000))
    source[61 + 11 : 61 + 40] = b"\xff" * 29
    source[17:21] = crc32c(memoryview(source)[21:]).to_bytes(4, "big")
    with pytest.raises(InvalidRecord):
        convert_compressed_batches(memoryview(source), 0, 1, bytearray(100_000), 0)
