"""Lazily converted slices: what they promise and what comes out, chunk by chunk."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from random import Random
from struct import pack

import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord, UnsupportedCompression
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.protocol.records.record import Record
from stepdown.storage.downconversion import chunk_making
from stepdown.storage.downconversion.conversion_rules import CHUNK_BYTES, ConversionRules, ConversionStats
from stepdown.storage.downconversion.converted_chunks import ConvertedChunks
from stepdown.storage.downconversion.converted_slice import ConvertedSlice
from stepdown.storage.downconversion.read_window import read_window
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files
from support.line import Line

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
    return FileSlice(Files().handle(str(path)).opened(), 0, len(data))


def converted(source: FileSlice, **rules: object) -> ConvertedSlice:
    settings = {"target": 1, "first_offset": 0, **rules}
    lazily = ConvertedSlice(source, ConversionRules(**settings))  # type: ignore[arg-type]
    while not lazily.promise():
        assert lazily.needs_worker
    return lazily


def sent(lazily: ConvertedSlice) -> bytes:
    """What a sender puts on the wire: chunk by chunk, each made twice, cut at the promise."""
    chunks, out = lazily.chunks(), bytearray()
    while len(out) < lazily.size_bytes:
        buffer = bytearray(max(chunks.claim_bytes, 1))
        made = chunks.make(buffer)
        if made is None:
            continue
        once = bytes(made)
        assert bytes(chunks.make(bytearray(len(buffer))) or b"") == once
        out += once[: lazily.size_bytes - len(out)]
        chunks.advance()
    return bytes(out)


def sent_in_runs(lazily: ConvertedSlice, random: Random) -> bytes:
    """As `sent`, chunk after chunk in runs, into a socket that is emptied from time to time."""
    chunks = lazily.chunks()
    with Line(random.choice((5000, 50_000, 400_000))) as line:
        while line.taken_bytes < lazily.size_bytes:
            left, before, buffer = lazily.size_bytes - line.taken_bytes, line.taken_bytes, bytearray(chunks.claim_bytes)
            done, unsent, taken = chunks.run(buffer, line, left, random.choice((1, 30_000, 300_000)))
            assert line.taken_bytes == before + done + taken
            if len(unsent):
                line.send_all(unsent[taken:])
                chunks.advance()
            elif not done and (made := chunks.make(buffer)) is not None:
                line.send_all(made[:left])
                chunks.advance()
            if random.random() < 0.3:
                line.drain()
        line.drain()
        return bytes(line.received)


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
    got, stats = sent(lazily), lazily.stats
    assert len(got) == lazily.size_bytes
    assert sent_in_runs(lazily, random) == got
    assert replace(lazily.stats, seconds=0) == replace(stats, seconds=0)
    assert got == (whole + overflow(len(got) - len(whole)))[: len(got)]
    if whole:
        first = next(iter(iter_batches(memoryview(whole))))
        assert lazily.size_bytes >= max(len(data), first.size_bytes)


@pytest.mark.parametrize("size", [10, 100, 1000, 9000])
@pytest.mark.parametrize("seed", range(5))
def test_chunks_read_in_pieces_are_as_many_as_those_read_at_once(tmp_path: Path, seed: int, size: int) -> None:
    """The end of a piece cuts a batch. Of small records, which grow most, a chunk more may be made, since the last
    batch that might have fitted is not tried; and fewer records behind what was promised, where no piece is read."""
    random = Random(seed)
    counts, data, offset = [random.randint(1, 1 + 30_000 // (size + 8)) for _ in range(90)], b"", 0
    for count in counts:
        data, offset = data + batch(offset, count, size), offset + count
    lazily = converted(stored(tmp_path, data), target=random.choice((0, 1)), first_offset=random.choice((0, 7)))
    got, made = sent(lazily), lazily.stats
    assert len(got) > 3 * CHUNK_BYTES
    assert sent_in_runs(lazily, random) == got
    assert made.records - CHUNK_BYTES // (size + 7) <= lazily.stats.records <= made.records
    assert made.chunks <= lazily.stats.chunks <= made.chunks + 2
    whole = bytes(
        convert_down(data, target=lazily.rules.target, first_offset=lazily.rules.first_offset, out=bytearray()).data
    )
    assert got == (whole + overflow(len(got) - len(whole)))[: len(got)]


@pytest.mark.parametrize("seed", range(25))
def test_a_chunk_that_was_dropped_is_made_again_of_the_same_batches(tmp_path: Path, seed: int) -> None:
    """Others needed its memory. Of large and small records in turn a run guesses too small a chunk now and then."""
    random = Random(seed)
    data, offset = b"", 0
    while len(data) < 3 * CHUNK_BYTES:
        size = random.choice((0, 5, 10, 200, 9000))
        count = random.randint(1, 1 + random.choice((300, 5000)) // (size + 8))
        data, offset = data + batch(offset, count, size), offset + count
    data += batch(offset, 3, 5000)[: random.randint(0, 10_000)]
    lazily = converted(stored(tmp_path, data), target=random.choice((0, 1)))
    got, chunks = sent(lazily), lazily.chunks()
    with Line(random.choice((5000, 50_000))) as line:
        while left := lazily.size_bytes - line.taken_bytes:
            buffer = bytearray(chunks.claim_bytes)
            done, unsent, taken = chunks.run(buffer, line, left, 300_000)
            if len(unsent):
                again = chunks.make(bytearray(chunks.claim_bytes))
                assert again is not None and again[: left - done] == unsent
                line.send_all(again[taken : left - done])
                chunks.advance()
            line.drain()
        assert line.received == got


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_slice_comes_out_alike_in_runs_and_chunk_by_chunk(tmp_path: Path, seed: int, codec: Codec) -> None:
    random = Random(seed)
    sizes = [random.choice((10, 800)) for _ in range(random.randint(2, 40))]
    data = bytearray(b"".join(batch(n * 20, 20, size, codec) for n, size in enumerate(sizes)))
    whole_first = len(batch(0, 20, 10, codec))
    for _ in range(random.randint(1, 3)):
        data[random.randrange(whole_first, len(data))] ^= 1 << random.randrange(8)
    with contextlib.suppress(CorruptRecord, InvalidRecord):
        lazily = converted(stored(tmp_path, bytes(data)), chunk_bytes=random.choice((20_000, 131_072)))
        assert sent_in_runs(lazily, random) == sent(lazily)


def test_a_file_that_shrinks_below_its_slice_is_padded_in_runs_too(tmp_path: Path) -> None:
    lazily = converted(stored(tmp_path, batch(0, 20) * 100))
    os.truncate(tmp_path / "segment", 200_000)
    got = sent_in_runs(lazily, Random(1))
    assert got == sent(lazily)
    assert lazily.stats.padding_bytes


@pytest.mark.parametrize("left", [*range(15, 19), *range(59, 63)])
def test_a_file_that_ends_within_a_header_is_padded_as_one_that_ends_elsewhere(tmp_path: Path, left: int) -> None:
    one = batch(0, 20)
    lazily = converted(stored(tmp_path, one * 3))
    os.truncate(tmp_path / "segment", len(one) + left)
    whole = bytes(convert_down(one, target=1, first_offset=0, out=bytearray(1)).data)
    assert sent(lazily) == whole + overflow(lazily.size_bytes - len(whole))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_chunk_sent_in_part_does_not_go_on_as_padding(tmp_path: Path, codec: Codec) -> None:
    noise = Random(1).randbytes(20_000)
    records = [Record(offset=n, timestamp=5, value=noise[n * 1000 : n * 1000 + 1000]) for n in range(20)]
    lazily = converted(stored(tmp_path, build_batch(records, codec=codec) * 5))
    with Line(5000) as line:
        chunks = lazily.chunks()
        done, unsent, _ = chunks.run(bytearray(chunks.buffer_bytes), line, lazily.size_bytes, 1 << 20)
        assert not done and len(unsent)
    os.truncate(tmp_path / "segment", 100)
    with pytest.raises(EOFError, match="again"):
        for _ in range(3):  # None says that it is to be called again
            assert chunks.make(bytearray(chunks.buffer_bytes)) is None


def test_codecs_are_left_to_workers_in_a_file_that_shrank_too(tmp_path: Path) -> None:
    plain = b"".join(batch(n * 20, 20) for n in range(5))
    closed = b"".join(batch(n * 20, 20, codec=Codec.GZIP) for n in range(5, 10))
    lazily = converted(stored(tmp_path, plain + closed + plain))
    os.truncate(tmp_path / "segment", len(plain + closed) + 5)
    chunks = lazily.chunks()
    made = chunks.make(bytearray(chunks.buffer_bytes))
    assert made == convert_down(plain, target=1, first_offset=0, out=bytearray(1)).data
    chunks.advance()
    assert chunks.needs_worker
    whole = bytes(convert_down(plain + closed, target=1, first_offset=0, out=bytearray(1)).data)
    assert sent(lazily) == (whole + overflow(max(0, lazily.size_bytes - len(whole))))[: lazily.size_bytes]


def test_a_run_to_the_end_of_a_slice_brings_its_padding_along(tmp_path: Path) -> None:
    lazily = converted(stored(tmp_path, b"".join(batch(n, 1) for n in range(50))))
    chunks = lazily.chunks()
    with Line(400_000) as line:
        done, unsent, taken = chunks.run(bytearray(chunks.claim_bytes), line, lazily.size_bytes, 1 << 20)
        line.drain()
    assert (done, len(unsent), taken) == (lazily.size_bytes, 0, 0)
    assert line.received == sent(lazily)
    assert lazily.stats.padding_bytes


@pytest.mark.parametrize("missing_bytes", [0, 1])
def test_padding_that_does_not_fit_behind_the_last_chunk_is_a_chunk_of_its_own(
    tmp_path: Path, missing_bytes: int
) -> None:
    lazily = converted(stored(tmp_path, b"".join(batch(n, 1) for n in range(50))))
    chunks = lazily.chunks()
    with Line(400_000) as line:
        done, unsent, _ = chunks.run(bytearray(lazily.size_bytes - missing_bytes), line, lazily.size_bytes, 1 << 20)
        line.drain()
    assert 0 < done <= lazily.size_bytes == done + len(unsent)
    assert chunks.is_padding == bool(len(unsent)) == bool(missing_bytes)
    assert line.received + unsent == sent(lazily)


def test_a_run_ends_before_a_batch_that_takes_more_than_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker opened a large batch behind small ones in what had been claimed for the small ones."""
    opened: list[int] = []
    monkeypatch.setattr(chunk_making, "through_codec", lambda batch, rules: opened.append(len(batch)))
    small = b"".join(batch(n * 4, 4, 1000, Codec.LZ4) for n in range(20))
    values = [Random(n).randbytes(1000) for n in range(2000)]
    records = [Record(offset=80 + n, timestamp=5, key=None, value=value) for n, value in enumerate(values)]
    lazily = converted(stored(tmp_path, small + build_batch(records, codec=Codec.LZ4)))
    chunks = lazily.chunks()
    with Line(400_000) as line:
        done, unsent, _ = chunks.run(bytearray(chunks.buffer_bytes), line, lazily.size_bytes, 1 << 20)
    assert done and not unsent
    assert not opened
    assert chunks.needs_worker and chunks.claim_bytes > 2_000_000


@pytest.mark.parametrize("size", [10, 500], ids=["that grow", "of 500 bytes"])
@pytest.mark.parametrize("before", [0, 3], ids=["first", "behind small ones"])
def test_a_large_plain_batch_is_read_in_a_worker_within_what_was_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, size: int
) -> None:
    """It was read and converted on the event loop, through a window that nobody had claimed."""
    small, large = b"".join(batch(n, 1) for n in range(before)), batch(before, 1_000_000 // (size + 10), size)
    source = stored(tmp_path, small + large + batch(1_000_000, 5))
    seen: list[int] = []
    chunks: list[ConvertedChunks] = []

    def read(source: FileSlice, at: int, size_bytes: int) -> memoryview:
        if size_bytes > STANDARD_BUFFER:
            seen.append(size_bytes)
            assert chunks[0].needs_worker
            assert size_bytes <= chunks[0].claim_bytes - chunks[0].buffer_bytes
        return read_window(source, at, size_bytes)

    lazily = ConvertedSlice(source, ConversionRules(target=0, first_offset=0))
    assert lazily.needs_worker == (not before)
    assert lazily.promise()
    monkeypatch.setattr(chunk_making, "read_window", read)
    chunks.append(lazily.chunks())
    made = bytearray()
    while len(made) < lazily.size_bytes:
        buffer = bytearray(chunks[0].buffer_bytes)
        chunk = chunks[0].make(buffer)
        if chunk is not None:
            made += chunk
            chunks[0].advance()
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
    chunks, read = lazily.chunks(), []

    def reading(source: FileSlice, at: int, size_bytes: int) -> memoryview:
        read.append(min(size_bytes, source.size_bytes - at))
        return read_window(source, at, size_bytes)

    monkeypatch.setattr(chunk_making, "read_window", reading)
    made = None
    while made is None:
        claimed = chunks.claim_bytes
        made = chunks.make(bytearray(chunks.buffer_bytes))
        assert max(read) <= claimed
    assert bytes(chunks.make(bytearray(chunks.buffer_bytes)) or b"") == bytes(made)


def test_a_run_ends_before_a_chunk_that_takes_a_larger_buffer(tmp_path: Path) -> None:
    """Of a chunk made in a small one and, dropped, again in a large one, what the larger had more was left out."""
    noise = Random(1)
    lz4 = [Record(offset=n, timestamp=5, key=None, value=noise.randbytes(10_050)) for n in range(23)]
    shrinks = [
        Record(offset=n, timestamp=5, key=None, value=noise.randbytes(4000), headers=(("h", bytes(5500)),))
        for n in range(23, 55)
    ]
    data = build_batch(lz4, codec=Codec.LZ4) + build_batch(shrinks)
    data += b"".join(batch(n, 1, 60_000) for n in range(55, 59)) + batch(59, 15, 100_000)
    lazily = converted(stored(tmp_path, data), chunk_bytes=1 << 20)
    chunks = lazily.chunks()
    buffer = bytearray(chunks.buffer_bytes)
    with Line(400_000) as line:
        done, unsent, _ = chunks.run(buffer, line, lazily.size_bytes, 1 << 20)
    assert done > 230_000 and not unsent
    assert chunks.buffer_bytes > len(buffer)


def test_padding_takes_no_more_than_a_chunk_after_a_large_batch_that_is_damaged(tmp_path: Path) -> None:
    damaged = bytearray(batch(20, 10_000, 500))
    damaged[-1] ^= 1
    lazily = converted(stored(tmp_path, batch(0, 20) + bytes(damaged)))
    chunks = lazily.chunks()
    while not chunks.is_padding:
        if chunks.make(bytearray(chunks.buffer_bytes)) is not None:
            chunks.advance()
    assert not chunks.needs_worker
    assert chunks.claim_bytes == chunks.buffer_bytes == STANDARD_BUFFER


def test_a_promise_that_takes_more_memory_than_it_began_with_is_asked_for_again(tmp_path: Path) -> None:
    large, larger = batch(0, 1000, 500), batch(1000, 3000, 500)
    lazily = ConvertedSlice(stored(tmp_path, large + larger), ConversionRules(target=1, first_offset=1000))
    assert lazily.needs_worker and lazily.claim_bytes > 2 * len(large)
    assert not lazily.promise()
    assert lazily.claim_bytes > 2 * len(larger)
    assert lazily.promise()
    assert lazily.size_bytes == len(large) + len(larger)


def test_a_peer_that_has_gone_ends_a_run(tmp_path: Path) -> None:
    chunks = converted(stored(tmp_path, batch(0, 20) * 4)).chunks()
    with Line(50_000) as line:
        line.far.close()
        with pytest.raises(BrokenPipeError):
            chunks.run(bytearray(chunks.claim_bytes), line, 1000, 1000)


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
    lazily = ConvertedSlice(source, ConversionRules(target=1, first_offset=0))
    assert not lazily.needs_worker
    assert not lazily.promise()
    assert lazily.needs_worker
    assert lazily.claim_bytes > 512 * 1024
    assert lazily.promise()
    assert lazily.size_bytes > 0
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
    for got in sent(lazily), sent_in_runs(lazily, Random(1)):
        assert got == kept + overflow(lazily.size_bytes - len(kept))


def test_stats_tell_what_was_converted_and_padded(tmp_path: Path) -> None:
    heard: list[ConversionStats] = []
    data = batch(0, 10, codec=Codec.GZIP) + batch(10, 5) + batch(15, 2, magic=1)
    lazily = converted(stored(tmp_path, data))
    lazily.on_done = heard.append
    size = len(sent(lazily))
    lazily.done()
    (stats,) = heard
    assert stats.records == 15
    assert stats.temporary_bytes > size
    assert not stats.is_truncated or not stats.padding_bytes
