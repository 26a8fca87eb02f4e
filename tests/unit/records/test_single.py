"""Batches that are converted in one piece: the same bytes as through streams."""

from random import Random

import pytest
from stepdown.protocol.errors import InvalidRecord
from stepdown.protocol.records.batches import view
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.convert import convert_compressed
from stepdown.protocol.records.kernel import crc32c
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Buffer, Record
from stepdown.protocol.records.single import SINGLE_BYTES, convert_single

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
    found = view(memoryview(wrapper))
    found.ensure_valid()
    return list(found.records())


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("seed", range(6))
def test_one_piece_gives_what_streams_give(codec: Codec, target: int, seed: int) -> None:
    rng = Random(seed)
    count, size = rng.choice([(1, 0), (1, 20_000), (15, 1000), (200, 10), (60, 1000), (30, 2500)])
    source = batch(rng, codec, count=count, size=size, append_time=seed % 2 == 1)
    streamed = convert_compressed(source, target=target, first_offset=0, max_opened_bytes=SINGLE_BYTES - 1)
    out = bytearray(b"\xaa" * 4 * SINGLE_BYTES)
    single = convert_single(source, target, out, 7)
    if single is not None:
        end, records, temporary_bytes = single
        assert records == count
        assert (opened(out[7:end]), temporary_bytes) == (opened(streamed.data), streamed.temporary_bytes)
        assert codec is Codec.GZIP or out[7:end] == streamed.data
    whole = convert_compressed(source, target=target, first_offset=0)
    assert (opened(whole.data), whole.records) == (opened(streamed.data), streamed.records)


@pytest.mark.parametrize("codec", CODECS)
def test_an_ordinary_batch_needs_no_stream(codec: Codec) -> None:
    source = batch(Random(1), codec, count=15, size=1000)
    assert convert_single(source, 1, bytearray(100_000), 0) is not None


@pytest.mark.parametrize("codec", CODECS)
def test_what_has_no_room_or_is_damaged_is_left_to_streams(codec: Codec) -> None:
    source = batch(Random(1), codec, count=15, size=1000)
    assert convert_single(source, 1, bytearray(1000), 0) is None
    damaged = bytearray(source)
    damaged[-1] ^= 1
    assert convert_single(memoryview(damaged), 1, bytearray(100_000), 0) is None
    assert (
        convert_single(memoryview(build_batch([Record(offset=0, timestamp=1, key=None, value=b"v")])), 1, damaged, 0)
        is None
    )


def test_a_broken_stream_under_a_good_checksum_is_refused() -> None:
    source = bytearray(batch(Random(1), Codec.LZ4, count=15, size=1000))
    source[61 + 11 : 61 + 40] = b"\xff" * 29
    source[17:21] = crc32c(memoryview(source)[21:]).to_bytes(4, "big")
    with pytest.raises(InvalidRecord):
        convert_single(memoryview(source), 1, bytearray(100_000), 0)
