"""Lazily converted slices: what they promise and what comes out, chunk by chunk."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from struct import pack

import pytest
from stepdown.bench.load.values import ValueKind, make_values
from stepdown.protocol.errors import CorruptRecord, InvalidRecord, UnsupportedCompression
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.layout import RECORD_BATCH_OVERHEAD, RECORD_COUNT_OFFSET, Codec, ControlType
from stepdown.protocol.records.record import Record
from stepdown.storage.downconversion import chunk
from stepdown.storage.downconversion.conversion_rules import CHUNK_BYTES, ConversionRules, ConversionStats
from stepdown.storage.downconversion.converted_stream import ConvertedStream
from stepdown.storage.downconversion.memory_estimate import buffer_bytes_of, bytes_to_claim_for
from stepdown.storage.downconversion.read_window import batch_header_at, read_window
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files

STANDARD_BUFFER = 256 * 1024


def batch(first: int, count: int, size: int = 200, codec: Codec = Codec.NONE, *, magic: int = 2) -> bytes:
    records = [Record(offset=first + n, timestamp=5 + n, key=b"k", value=bytes([n % 256]) * size) for n in range(count)]
    return build_batch(records, magic=magic, codec=codec)


def marker(offset: int) -> bytes:
    return build_control_marker(
        ControlType.COMMIT, offset=offset, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=5
    )


def stored(tmp_path: Path, data: bytes) -> FileSlice:
    path = tmp_path / "segment"
    path.write_bytes(data)
    return FileSlice(Files().handle(str(path)).open(), 0, len(data))


def converted(source: FileSlice, **rules: object) -> ConvertedStream:
    settings = {"target": 1, "first_offset": 0, **rules}
    stream = ConvertedStream(source, ConversionRules(**settings))  # type: ignore[arg-type]
    while not stream.is_size_known:
        stream.fill(None)
    return stream


def next_part(stream: ConvertedStream) -> bytes:
    """What the next buffer brings that brings something."""
    while True:
        buffer = bytearray(stream.buffer_bytes)
        if size := stream.fill(buffer):
            return bytes(buffer[:size])


def sent(stream: ConvertedStream) -> bytes:
    """What a sender puts on the wire, buffer by buffer, each filled twice."""
    out = bytearray()
    while len(out) < stream.size_bytes:
        part = next_part(stream)
        stats = replace(stream.stats, seconds=0)
        stream.step_back()
        assert next_part(stream) == part
        assert replace(stream.stats, seconds=0) == stats
        out += part
    return bytes(out)


def overflow(size: int) -> bytes:
    """Padding of `size` bytes: an entry that is too large, again every 128 KiB."""
    entries = [pack(">qi", -1, max(left + 1, 61)) + bytes(131072 - 12) for left in range(size, 0, -131072)]
    return b"".join(entries)[:size]


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("seed", range(30))
def test_chunks_add_up_to_the_whole_conversion(tmp_path: Path, seed: int, target: int) -> None:
    random = Random(seed)
    data, offset = b"", 0
    for _ in range(random.randint(1, 25)):
        kind, count = random.random(), random.randint(1, 30)
        if kind < 0.15:
            count, new = 1, marker(offset)
        elif kind < 0.3:
            new = batch(offset, count, magic=random.choice((0, 1)))
        else:
            codec = random.choice((Codec.NONE, Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
            new = batch(offset, count, random.choice((0, 10, 1000, 9000, 30_000)), codec)
        data, offset = data + new, offset + count
    data += batch(offset, 3)[: random.randint(0, 100)]
    first_offset = random.randrange(offset)
    source = stored(tmp_path, data)
    lazily = converted(
        source, target=target, first_offset=first_offset, chunk_bytes=random.choice((1, 3000, 20_000, 131_072))
    )
    whole = bytes(convert_down(data, target=target, first_offset=first_offset, out=bytearray(1)).data)
    got = sent(lazily)
    assert len(got) == lazily.size_bytes
    assert got == (whole + overflow(len(got) - len(whole)))[: len(got)]
    if whole:
        first = next(iter(iter_batches(memoryview(whole))))
        assert lazily.size_bytes >= max(len(data), first.size_bytes)


@pytest.mark.lengthy
@pytest.mark.parametrize("size", [10, 100, 1000, 9000])
@pytest.mark.parametrize("seed", range(5))
def test_megabytes_come_out_as_one_conversion_of_all(tmp_path: Path, seed: int, size: int) -> None:
    random = Random(seed)
    counts, data, offset = [random.randint(1, 1 + 30_000 // (size + 8)) for _ in range(90)], b"", 0
    for count in counts:
        data, offset = data + batch(offset, count, size), offset + count
    lazily = converted(stored(tmp_path, data), target=random.choice((0, 1)), first_offset=random.choice((0, 7)))
    got = sent(lazily)
    assert len(got) > 3 * CHUNK_BYTES
    whole = bytes(
        convert_down(data, target=lazily.rules.target, first_offset=lazily.rules.first_offset, out=bytearray()).data
    )
    assert got == (whole + overflow(len(got) - len(whole)))[: len(got)]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("seed", range(40))
def test_of_a_damaged_slice_whole_batches_come_out_and_then_padding(tmp_path: Path, seed: int, codec: Codec) -> None:
    random = Random(seed)
    sizes = [random.choice((10, 800)) for _ in range(random.randint(2, 40))]
    batches = [batch(n * 20, 20, size, codec) for n, size in enumerate(sizes)]
    data, first_bytes = bytearray(b"".join(batches)), len(batches[0])
    for _ in range(random.randint(1, 3)):
        data[random.randrange(first_bytes, len(data))] ^= 1 << random.randrange(8)
    intact, at = b"", 0
    for one in batches:
        if data[at : at + len(one)] != one:
            break
        intact, at = intact + one, at + len(one)
    with contextlib.suppress(CorruptRecord, InvalidRecord):
        got = sent(converted(stored(tmp_path, bytes(data)), chunk_bytes=random.choice((20_000, 131_072))))
        whole = bytes(convert_down(intact, target=1, first_offset=0, out=bytearray(1)).data)
        assert got.startswith(whole[: len(got)])


def test_a_file_that_shrinks_below_its_slice_is_padded(tmp_path: Path) -> None:
    lazily = converted(stored(tmp_path, batch(0, 20) * 100))
    os.truncate(tmp_path / "segment", 200_000)
    assert len(sent(lazily)) == lazily.size_bytes
    assert lazily.stats.padding_bytes


@pytest.mark.parametrize("left", [*range(15, 19), *range(59, 63)])
def test_a_file_that_ends_within_a_header_is_padded_as_one_that_ends_elsewhere(tmp_path: Path, left: int) -> None:
    one = batch(0, 20)
    lazily = converted(stored(tmp_path, one * 3))
    os.truncate(tmp_path / "segment", len(one) + left)
    whole = bytes(convert_down(one, target=1, first_offset=0, out=bytearray(1)).data)
    assert sent(lazily) == whole + overflow(lazily.size_bytes - len(whole))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_buffer_filled_again_after_its_file_shrank_holds_less(tmp_path: Path, codec: Codec) -> None:
    noise = Random(1).randbytes(20_000)
    records = [Record(offset=n, timestamp=5, value=noise[n * 1000 : n * 1000 + 1000]) for n in range(20)]
    lazily = converted(stored(tmp_path, build_batch(records, codec=codec) * 5))
    stream = lazily
    first = next_part(stream)
    os.truncate(tmp_path / "segment", 100)
    stream.step_back()
    again = next_part(stream)
    assert again[:8] == b"\xff" * 8
    assert not first.startswith(again)


def test_codecs_are_left_to_workers_in_a_file_that_shrank_too(tmp_path: Path) -> None:
    plain = b"".join(batch(n * 20, 20) for n in range(5))
    closed = b"".join(batch(n * 20, 20, codec=Codec.GZIP) for n in range(5, 10))
    lazily = converted(stored(tmp_path, plain + closed + plain))
    os.truncate(tmp_path / "segment", len(plain + closed) + 5)
    stream = lazily
    assert next_part(stream) == convert_down(plain, target=1, first_offset=0, out=bytearray(1)).data
    assert stream.needs_worker
    whole = bytes(convert_down(plain + closed, target=1, first_offset=0, out=bytearray(1)).data)
    assert (
        sent(converted(lazily.source))
        == (whole + overflow(max(0, lazily.size_bytes - len(whole))))[: lazily.size_bytes]
    )


def test_a_fill_ends_before_a_batch_that_takes_more_than_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker opened a large batch behind small ones in what had been claimed for the small ones."""
    opened: list[int] = []
    monkeypatch.setattr(chunk, "convert_compressed_batch", lambda batch, rules: opened.append(len(batch)))
    small = b"".join(batch(n * 4, 4, 1000, Codec.LZ4) for n in range(20))
    values = [Random(n).randbytes(1000) for n in range(2000)]
    records = [Record(offset=80 + n, timestamp=5, key=None, value=value) for n, value in enumerate(values)]
    lazily = converted(stored(tmp_path, small + build_batch(records, codec=Codec.LZ4)))
    stream = lazily
    assert next_part(stream)
    assert not opened
    assert stream.needs_worker and stream.bytes_to_claim > 2_000_000


@pytest.mark.lengthy
@pytest.mark.parametrize("size", [10, 500], ids=["that grow", "of 500 bytes"])
@pytest.mark.parametrize("before", [0, 3], ids=["first", "behind small ones"])
def test_a_large_plain_batch_is_read_in_a_worker_within_what_was_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, size: int
) -> None:
    """It was read and converted on the event loop, through a window that nobody had claimed."""
    small, large = b"".join(batch(n, 1) for n in range(before)), batch(before, 1_000_000 // (size + 10), size)
    source = stored(tmp_path, small + large + batch(1_000_000, 5))
    seen: list[int] = []
    streams: list[ConvertedStream] = []

    def read(source: FileSlice, at: int, size_bytes: int) -> memoryview:
        if size_bytes > STANDARD_BUFFER:
            seen.append(size_bytes)
            assert streams[0].needs_worker
            assert size_bytes <= streams[0].bytes_to_claim - streams[0].buffer_bytes
        return read_window(source, at, size_bytes)

    lazily = ConvertedStream(source, ConversionRules(target=0, first_offset=0))
    assert lazily.needs_worker == (not before)
    lazily.fill(None)
    assert lazily.is_size_known
    monkeypatch.setattr(chunk, "read_window", read)
    streams.append(lazily)
    made = bytearray()
    while len(made) < lazily.size_bytes:
        made += next_part(streams[0])
    assert set(seen) == {len(large)}
    whole = bytes(convert_down(small + large, target=0, first_offset=0, out=bytearray(1)).data)
    assert made[: len(whole)] == whole[: len(made)]


@pytest.mark.parametrize(
    "behind",
    [batch(1000, 9000, 500), batch(1000, 5, codec=Codec.LZ4) + batch(1005, 10_000, 1)],
    ids=["a larger one", "one for less memory"],
)
def test_behind_a_large_batch_that_vanishes_a_chunk_is_made_in_a_claim_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: bytes
) -> None:
    """It was made in what had been claimed for the one that vanished; made again later, it came out shorter."""
    lazily = converted(stored(tmp_path, batch(0, 1000, 500) + behind), first_offset=1000)
    stream, read = lazily, []

    def reading(source: FileSlice, at: int, size_bytes: int) -> memoryview:
        read.append(min(size_bytes, source.size_bytes - at))
        return read_window(source, at, size_bytes)

    monkeypatch.setattr(chunk, "read_window", reading)
    size = 0
    while not size:
        claimed, buffer = stream.bytes_to_claim, bytearray(stream.buffer_bytes)
        size = stream.fill(buffer)
        assert max(read) <= claimed
    stream.step_back()
    assert next_part(stream) == buffer[:size]


def test_padding_takes_no_more_than_a_chunk_after_a_large_batch_that_is_damaged(tmp_path: Path) -> None:
    damaged = bytearray(batch(20, 10_000, 500))
    damaged[-1] ^= 1
    lazily = converted(stored(tmp_path, batch(0, 20) + bytes(damaged)))
    stream = lazily
    while not stream.stats.padding_bytes:
        next_part(stream)
    assert not stream.needs_worker
    assert stream.bytes_to_claim == stream.buffer_bytes == STANDARD_BUFFER


def test_a_promise_that_takes_more_memory_than_it_began_with_is_asked_for_again(tmp_path: Path) -> None:
    large, larger = batch(0, 1000, 500), batch(1000, 3000, 500)
    lazily = ConvertedStream(stored(tmp_path, large + larger), ConversionRules(target=1, first_offset=1000))
    assert lazily.needs_worker and lazily.bytes_to_claim > 2 * len(large)
    lazily.fill(None)
    assert not lazily.is_size_known and lazily.bytes_to_claim > 2 * len(larger)
    lazily.fill(None)
    assert lazily.is_size_known
    assert lazily.size_bytes == len(large) + len(larger)


def test_a_promise_above_128_kib_is_padded_with_a_header_every_128_kib(tmp_path: Path) -> None:
    headers = tuple((f"h{n}", bytes(5000)) for n in range(60))
    fat = build_batch([Record(offset=0, timestamp=1, key=None, value=b"v", headers=headers)])
    got = sent(converted(stored(tmp_path, fat), first_offset=0))
    rest = got[35:]
    assert len(got) == len(fat)
    assert rest[:12] == pack(">qi", -1, len(rest) + 1)
    assert rest[131072 : 131072 + 12] == pack(">qi", -1, len(rest) - 131072 + 1)


def test_a_batch_larger_than_chunk_and_buffer_is_converted_whole(tmp_path: Path) -> None:
    data = batch(0, 3000, 500)
    lazily = converted(stored(tmp_path, data))
    assert len(data) > STANDARD_BUFFER
    assert sent(lazily) == bytes(convert_down(data, target=1, first_offset=0, out=bytearray(1)).data)


@pytest.mark.parametrize("data", [marker(0), marker(0) + marker(1), batch(0, 3)], ids=["marker", "markers", "trimmed"])
def test_a_slice_of_which_nothing_is_left_promises_nothing_and_says_where_to_go_on(tmp_path: Path, data: bytes) -> None:
    lazily = converted(stored(tmp_path, data), first_offset=3, shows_too_large=True)
    last = [b.last_offset for b in iter_batches(memoryview(data))][-1]
    assert (lazily.size_bytes, lazily.next_offset) == (0, max(3, last + 1))


def test_a_codec_behind_what_vanishes_is_left_to_a_worker(tmp_path: Path) -> None:
    """Opening it stopped the event loop, for as long as the codec took, and was not charged to the budget."""
    source = stored(tmp_path, marker(0) + batch(1, 3, codec=Codec.GZIP))
    lazily = ConvertedStream(source, ConversionRules(target=1, first_offset=0))
    assert not lazily.needs_worker
    lazily.fill(bytearray(STANDARD_BUFFER))
    assert not lazily.is_size_known and lazily.needs_worker
    assert lazily.bytes_to_claim > 512 * 1024
    lazily.fill(None)
    assert lazily.is_size_known and lazily.size_bytes > 0
    assert [record.offset for read in iter_batches(memoryview(sent(lazily))) for record in read.records()] == [1, 2, 3]


def test_a_slice_without_a_whole_batch_shows_old_clients_that_it_is_too_large(tmp_path: Path) -> None:
    part = stored(tmp_path, batch(0, 3)[:100])
    assert sent(converted(part, shows_too_large=True)) == pack(">qi", -1, 61)
    assert converted(part, shows_too_large=False).size_bytes == 0


def test_the_first_batch_is_checked_when_the_size_is_promised(tmp_path: Path) -> None:
    damaged = bytearray(batch(0, 3))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecord):
        converted(stored(tmp_path, bytes(damaged)))
    with pytest.raises(UnsupportedCompression):
        converted(stored(tmp_path, batch(0, 3, codec=Codec.ZSTD)))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=["plain", "gzip"])
def test_a_damaged_batch_further_on_ends_the_data_and_is_padded(tmp_path: Path, codec: Codec) -> None:
    good, bad = batch(0, 50, codec=codec), bytearray(batch(50, 50, codec=codec))
    bad[-1] ^= 1
    tail = batch(100, 1000, 500)
    got = sent(converted(stored(tmp_path, good + bytes(bad) + tail)))
    kept = bytes(convert_down(good, target=1, first_offset=0, out=bytearray(1)).data)
    assert got[: len(kept)] == kept
    assert got[len(kept) : len(kept) + 8] == pack(">q", -1)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4, Codec.ZSTD], ids=["plain", "lz4", "zstd"])
def test_a_damaged_frame_further_on_ends_the_data_and_is_padded(tmp_path: Path, codec: Codec) -> None:
    """Behind compressed batches it broke the response off, so the client never got the good ones."""
    good, bad = batch(0, 50, codec=codec), bytearray(batch(50, 50, codec=codec))
    bad[16] = 9
    rules = {"zstd_to": Codec.LZ4} if codec is Codec.ZSTD else {}
    lazily = converted(stored(tmp_path, good + bytes(bad) + batch(100, 100)), **rules)
    kept = bytes(convert_down(good, target=1, first_offset=0, out=bytearray(1), zstd_to=Codec.LZ4).data)
    got = sent(lazily)
    assert got == kept + overflow(lazily.size_bytes - len(kept))


def test_stats_tell_what_was_converted_and_padded(tmp_path: Path) -> None:
    heard: list[ConversionStats] = []
    data = batch(0, 10, codec=Codec.GZIP) + batch(10, 5) + batch(15, 2, magic=1)
    lazily = converted(stored(tmp_path, data))
    lazily.on_done = heard.append
    size = len(sent(lazily))
    lazily.close()
    (stats,) = heard
    assert stats.records == 15
    assert stats.temporary_bytes > size
    assert not stats.is_truncated or not stats.padding_bytes


def begun(source: FileSlice, target: int = 1) -> ConvertedStream:
    """A stream whose next `fill` promises, and is not that of a small slice."""
    stream = ConvertedStream(source, ConversionRules(target=target, first_offset=0))
    if stream.buffer_bytes and not stream.needs_worker:
        stream.fill(None)
    return stream


def large_compressed(first: int, codec: Codec = Codec.LZ4, *, count: int = 500) -> bytes:
    """A batch that its codec makes no smaller: with the usual count it is larger than a chunk as it is stored."""
    chance = Random(first)
    values = [chance.randbytes(600) for _ in range(count)]
    records = [Record(offset=first + n, timestamp=5, key=None, value=value) for n, value in enumerate(values)]
    return build_batch(records, codec=codec)


CODECS = pytest.mark.parametrize("codec", [Codec.LZ4, Codec.SNAPPY, Codec.GZIP], ids=lambda codec: codec.name.lower())


def varied(first: int, count: int, codec: Codec) -> bytes:
    """A batch that grows a little when it is converted."""
    values = [f"{n * 7919 % 1000} some words that come again {n}".encode() for n in range(first, first + count)]
    records = [Record(offset=first + n, timestamp=5, key=None, value=value) for n, value in enumerate(values)]
    return build_batch(records, codec=codec)


def with_large_batches(codec: Codec) -> bytes:
    return large_compressed(0, codec) + large_compressed(500, codec)


def with_small_batches(codec: Codec) -> bytes:
    return b"".join(varied(first, 100, codec) for first in range(0, 1000, 100))


def with_many_small_batches(codec: Codec) -> bytes:
    return b"".join(large_compressed(first, codec, count=30) for first in range(0, 1000, 30))


def with_one_batch(codec: Codec) -> bytes:
    return varied(0, 20, codec)


def with_a_plain_batch_behind(codec: Codec) -> bytes:
    return varied(0, 20, codec) + batch(20, 2000)


def with_damage_behind(codec: Codec) -> bytes:
    damaged = bytearray(varied(20, 20, codec))
    damaged[-1] ^= 1
    return varied(0, 20, codec) + damaged


@CODECS
@pytest.mark.parametrize(
    "made",
    [
        with_large_batches,
        with_small_batches,
        with_many_small_batches,
        with_one_batch,
        with_a_plain_batch_behind,
        with_damage_behind,
    ],
)
def test_what_is_converted_for_the_promised_size_is_sent(
    tmp_path: Path, codec: Codec, made: Callable[[Codec], bytes]
) -> None:
    source = stored(tmp_path, made(codec))
    whole = converted(source)
    expected, kept = sent(whole), begun(source)
    buffer = bytearray(kept.buffer_bytes)
    first = bytes(buffer[: kept.fill(buffer)])
    assert kept.size_bytes == whole.size_bytes
    assert first and expected.startswith(first)
    rest = bytearray()
    while len(first) + len(rest) < kept.size_bytes:
        rest += next_part(kept)
    assert first + rest == expected
    assert replace(kept.stats, seconds=0) == replace(whole.stats, seconds=0)


def with_plain_batches(codec: Codec) -> bytes:
    return batch(0, 20) + batch(20, 30)


def with_a_part_of_a_batch_behind(codec: Codec) -> bytes:
    return varied(0, 20, codec) + varied(20, 20, codec)[:-1]


def with_two_that_grow(codec: Codec) -> bytes:
    return build_batch([Record(offset=0, timestamp=5, key=None, value=b"a")], codec=codec) + varied(1, 20, codec)


@CODECS
@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize(
    "made",
    [with_small_batches, with_one_batch, with_plain_batches, with_a_part_of_a_batch_behind, with_two_that_grow],
)
def test_a_small_slice_is_converted_at_once_to_the_same_bytes(
    tmp_path: Path, codec: Codec, target: int, made: Callable[[Codec], bytes]
) -> None:
    source = stored(tmp_path, made(codec))
    whole, small = (
        converted(source, target=target),
        ConvertedStream(source, ConversionRules(target=target, first_offset=0)),
    )
    buffer, expected = bytearray(STANDARD_BUFFER), sent(whole)
    assert not small.needs_worker and small.buffer_bytes == STANDARD_BUFFER
    assert small.fill(buffer) == small.size_bytes == whole.size_bytes
    assert buffer[: small.size_bytes] == expected
    assert replace(small.stats, seconds=0) == replace(whole.stats, seconds=0)
    small.step_back()
    assert sent(small) == expected  # made again, after it was dropped
    assert replace(small.stats, seconds=0) == replace(whole.stats, seconds=0)


def opens_to_much(codec: Codec) -> bytes:
    return build_batch([Record(offset=0, timestamp=5, key=None, value=bytes(300_000))], codec=codec)


def opens_to_much_in_all(codec: Codec) -> bytes:
    rows = [[Record(offset=n, timestamp=5, key=None, value=bytes(140_000))] for n in range(2)]
    return b"".join(build_batch(each, codec=codec) for each in rows)


def damaged(codec: Codec) -> bytes:
    return with_damage_behind(codec)[len(varied(0, 20, codec)) :]


@CODECS
@pytest.mark.parametrize(
    "made", [opens_to_much, opens_to_much_in_all, damaged, with_damage_behind, with_a_plain_batch_behind]
)
def test_what_would_take_long_or_is_unusual_is_not_converted_at_once(
    tmp_path: Path, codec: Codec, made: Callable[[Codec], bytes]
) -> None:
    lazily = ConvertedStream(stored(tmp_path, made(codec)), ConversionRules(target=1, first_offset=0))
    assert lazily.needs_worker or not lazily.fill(bytearray(STANDARD_BUFFER))
    assert lazily.needs_worker and not lazily.is_size_known


def test_a_slice_of_several_chunks_is_not_small(tmp_path: Path) -> None:
    source = stored(tmp_path, batch(0, 20))
    for chunk_bytes in 1024, source.size_bytes:
        lazily = ConvertedStream(source, ConversionRules(target=1, first_offset=0, chunk_bytes=chunk_bytes))
        assert bool(lazily.buffer_bytes) == (chunk_bytes > 1024)


def test_zstd_is_not_converted_at_once(tmp_path: Path) -> None:
    lazily = ConvertedStream(stored(tmp_path, batch(0, 9, codec=Codec.ZSTD)), ConversionRules(target=1, first_offset=0))
    assert not lazily.fill(bytearray(STANDARD_BUFFER))
    assert lazily.needs_worker and not lazily.is_size_known


@pytest.mark.parametrize("made", [with_large_batches, with_small_batches])
def test_what_was_converted_first_and_dropped_is_converted_again(
    tmp_path: Path, made: Callable[[Codec], bytes]
) -> None:
    kept = begun(stored(tmp_path, made(Codec.LZ4)))
    buffer = bytearray(kept.buffer_bytes)
    first = bytes(buffer[: kept.fill(buffer)])
    kept.step_back()
    assert next_part(kept) == first


def test_a_buffer_without_room_for_the_first_batch_is_left_as_it_is(tmp_path: Path) -> None:
    """Tiny records may grow by more than is expected of a batch: the size is promised, the bytes come later."""
    chance = Random(1)
    records = [Record(offset=n, timestamp=5, key=None, value=chance.randbytes(6)) for n in range(40_000)]
    source = stored(tmp_path, build_batch(records, codec=Codec.SNAPPY))
    whole, kept = converted(source), begun(source)
    assert kept.fill(bytearray(kept.buffer_bytes // 2)) == 0
    assert kept.is_size_known and kept.size_bytes == whole.size_bytes
    assert sent(kept) == sent(whole)


@pytest.mark.parametrize("codec", [Codec.LZ4, Codec.SNAPPY])
def test_the_buffer_has_room_for_a_megabyte_of_small_records(tmp_path: Path, codec: Codec) -> None:
    """Batches of small records were converted four times: twice more for their size than for their bytes."""
    made = islice(make_values(ValueKind.JSON, 60), 16_000)
    records = [Record(offset=n, timestamp=5, key=None, value=value) for n, value in enumerate(made)]
    kept = begun(stored(tmp_path, build_batch(records, codec=codec)))
    assert kept.fill(bytearray(kept.buffer_bytes)) > 0


@pytest.mark.parametrize("plain", [batch(0, 900), batch(0, 3000, 500), marker(0)])
def test_only_a_compressed_first_batch_is_filled_when_its_size_is_promised(tmp_path: Path, plain: bytes) -> None:
    assert begun(stored(tmp_path, plain)).is_size_known or begun(stored(tmp_path, plain)).buffer_bytes == 0


def test_damage_in_a_large_first_batch_is_told_when_its_size_is_promised(tmp_path: Path) -> None:
    damaged = bytearray(large_compressed(0))
    damaged[-1] ^= 1
    lazily = begun(stored(tmp_path, bytes(damaged)))
    with pytest.raises(CorruptRecord):
        lazily.fill(bytearray(lazily.buffer_bytes))


def test_a_damaged_number_of_records_claims_no_less(tmp_path: Path) -> None:
    data = bytearray(batch(0, 100, codec=Codec.LZ4))
    data[RECORD_COUNT_OFFSET:RECORD_BATCH_OVERHEAD] = pack(">i", -(1 << 31))
    header = batch_header_at(stored(tmp_path, bytes(data)), 0)
    assert bytes_to_claim_for(header) > buffer_bytes_of(header) >= STANDARD_BUFFER


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4], ids=["plain", "lz4"])
def test_a_hard_limit_below_the_first_batch_leaves_the_messages_that_fit_or_the_first_bytes_of_one(
    tmp_path: Path, codec: Codec
) -> None:
    first, behind = varied(0, 20, codec), varied(20, 20, codec)
    whole = bytes(convert_down(first, target=1, first_offset=0, out=bytearray(1)).data)
    for limit in 20, 100, 300, len(first) - 1:
        assert (
            sent(converted(stored(tmp_path, first + behind), most_bytes=limit, shows_too_large=True)) == whole[:limit]
        )


def test_a_hard_limit_above_the_first_batch_changes_nothing(tmp_path: Path) -> None:
    data = varied(0, 20, Codec.NONE) + varied(20, 20, Codec.NONE)
    limited = converted(stored(tmp_path, data), most_bytes=len(data), shows_too_large=True)
    assert sent(limited) == sent(converted(stored(tmp_path, data)))
