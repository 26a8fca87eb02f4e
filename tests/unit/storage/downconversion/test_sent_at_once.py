"""Converted slices that leave by one call, with what goes before them: the same bytes and counts as chunk by chunk."""

import os
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from stepdown.storage.downconversion.conversion_rules import CHUNK_BYTES, ConversionRules
from stepdown.storage.downconversion.converted_slice import Begun, ConvertedSlice
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files
from support.by_chunks import by_chunks
from support.line import Line

HEAD = bytearray(b"what goes before")
CHUNK_ROOM = 256 * 1024
WHOLE_SLICE = 5 * CHUNK_ROOM


def batches(random: Random, size_bytes: int, sizes: tuple[int, ...], codec: Codec = Codec.NONE) -> bytes:
    """Batches of records of `sizes`, about `size_bytes` together."""
    data, offset = b"", 0
    while len(data) < size_bytes:
        size = random.choice(sizes)
        count = random.randint(1, 1 + 20_000 // (size + 8))
        value = random.randbytes(size)
        data += build_batch([Record(offset=offset + n, timestamp=5, value=value) for n in range(count)], codec=codec)
        offset += count
    return data


def converted(tmp_path: Path, data: bytes, target: int = 1, first_offset: int = 0) -> ConvertedSlice:
    path = tmp_path / "segment"
    path.write_bytes(data)
    source = FileSlice(Files().handle(str(path)).opened(), 0, len(data))
    lazily = ConvertedSlice(source, ConversionRules(target=target, first_offset=first_offset))
    while not lazily.promise():
        assert lazily.needs_worker
    return lazily


def finish(lazily: ConvertedSlice, begun: Begun, line: Line) -> bytes:
    """All that `line` received, once what `begun` left over has followed: made again, as if it had been dropped."""
    left = lazily.size_bytes - begun.done_bytes
    chunks = begun.chunks
    if len(begun.unsent):
        assert chunks is not None
        again = chunks.make(bytearray(chunks.buffer_bytes))
        assert again is not None and again[:left] == begun.unsent
        line.send_all(begun.unsent[begun.taken_bytes :])
        left -= len(begun.unsent)
        chunks.advance()
    while left:
        assert chunks is not None
        made = chunks.make(bytearray(chunks.buffer_bytes))
        if made is not None:
            line.send_all(made[:left])
            left -= len(made[:left])
            chunks.advance()
    line.drain()
    return bytes(line.received)


@pytest.mark.parametrize("room", [CHUNK_ROOM, 2 * CHUNK_ROOM, WHOLE_SLICE])
@pytest.mark.parametrize("seed", range(20))
def test_what_leaves_at_once_is_what_leaves_chunk_by_chunk(tmp_path: Path, seed: int, room: int) -> None:
    """Into sockets that take all of it, or some; with a last batch that is cut; for turns of any length."""
    random = Random(seed)
    sizes = random.choice(((10,), (100, 1000), (10_000,), (0, 5, 9000)))
    data = batches(random, random.choice((30_000, CHUNK_BYTES, 1 << 20)), sizes)
    data = data[: -random.choice((1, 50, 5000))]
    lazily = converted(tmp_path, data, random.choice((0, 1)), random.choice((0, 3)))
    expected = by_chunks(lazily)
    counted = lazily.stats
    with Line(random.choice((20_000, 300_000, 2_000_000))) as line:
        turn = random.choice((1, 300_000, 1 << 30))
        assert lazily.goes_at_once(line)
        begun = lazily.send_at_once(HEAD, line, memoryview(bytearray(room)), turn)
        assert begun is not None and begun.head_bytes == len(HEAD)
        assert line.taken_bytes == len(HEAD) + begun.done_bytes + begun.taken_bytes
        assert finish(lazily, begun, line) == HEAD + expected
    assert lazily.stats.padding_bytes == counted.padding_bytes
    assert counted.records - CHUNK_BYTES // 17 <= lazily.stats.records <= counted.records
    assert counted.chunks <= lazily.stats.chunks <= counted.chunks + 3


def test_a_socket_with_room_takes_a_slice_and_its_padding_by_one_call(tmp_path: Path) -> None:
    lazily = converted(tmp_path, batches(Random(1), 1 << 20, (9000,))[: 1 << 20])
    expected, counted = by_chunks(lazily), lazily.stats
    with Line(4_000_000) as line:
        begun = lazily.send_at_once(HEAD, line, memoryview(bytearray(WHOLE_SLICE)), 1 << 30)
        assert begun == Begun(len(HEAD), lazily.size_bytes)
        line.drain()
        assert line.received == HEAD + expected
    assert replace(lazily.stats, seconds=0) == replace(counted, seconds=0)
    assert lazily.stats.chunks == 5 and lazily.stats.padding_bytes and lazily.stats.seconds > 0


def test_of_a_head_that_is_not_taken_whole_no_chunk_goes(tmp_path: Path) -> None:
    lazily = converted(tmp_path, batches(Random(1), 100_000, (900,)))
    head = bytearray(Random(2).randbytes(1_000_000))
    with Line(20_000) as line:
        begun = lazily.send_at_once(head, line, memoryview(bytearray(CHUNK_ROOM)), 1 << 30)
        assert begun is not None and begun.chunks is None and not begun.done_bytes
        assert 0 < begun.head_bytes == line.taken_bytes < len(head)
        line.drain()
        assert line.received == head[: begun.head_bytes]
    assert not lazily.stats.chunks


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4])
def test_what_a_codec_opens_is_not_sent_at_once(tmp_path: Path, codec: Codec) -> None:
    lazily = converted(tmp_path, batches(Random(1), 50_000, (900,), codec))
    with Line(400_000) as line:
        assert not lazily.goes_at_once(line)


def test_a_codec_further_on_is_left_to_the_chunks(tmp_path: Path) -> None:
    plain = batches(Random(1), 300_000, (900,))
    lazily = converted(tmp_path, plain + batches(Random(2), 30_000, (900,), Codec.LZ4) + plain)
    expected = by_chunks(lazily)
    with Line(4_000_000) as line:
        begun = lazily.send_at_once(HEAD, line, memoryview(bytearray(WHOLE_SLICE)), 1 << 30)
        assert begun is not None and begun.chunks is not None and begun.chunks.needs_worker
        assert begun.done_bytes > len(plain) and not len(begun.unsent)
        assert finish(lazily, begun, line) == HEAD + expected


def test_a_codec_behind_chunks_made_in_vain_is_not_what_follows_the_cut_one(tmp_path: Path) -> None:
    plain = batches(Random(1), 700_000, (900,))
    lazily = converted(tmp_path, plain + batches(Random(2), 30_000, (900,), Codec.LZ4) + plain)
    expected = by_chunks(lazily)
    with Line(150_000) as line:
        begun = lazily.send_at_once(HEAD, line, memoryview(bytearray(WHOLE_SLICE)), 1 << 30)
        assert begun is not None and begun.chunks is not None and len(begun.unsent)
        again = begun.chunks.make(bytearray(begun.chunks.buffer_bytes))
        assert again == begun.unsent
        begun.chunks.advance()
        assert not begun.chunks.needs_worker
        assert lazily.stats.seconds > 0
        got = bytearray(HEAD + expected[: begun.done_bytes] + begun.unsent)
        while left := lazily.size_bytes + len(HEAD) - len(got):
            made = begun.chunks.make(bytearray(begun.chunks.buffer_bytes))
            if made is not None:
                got += made[:left]
                begun.chunks.advance()
    assert got == HEAD + expected


@pytest.mark.parametrize("left", [0, 100, 200_000, 700_000])
def test_a_file_that_shrank_is_padded(tmp_path: Path, left: int) -> None:
    lazily = converted(tmp_path, batches(Random(1), 1 << 20, (900,)))
    os.truncate(tmp_path / "segment", left)
    expected = by_chunks(lazily)
    with Line(4_000_000) as line:
        begun = lazily.send_at_once(HEAD, line, memoryview(bytearray(WHOLE_SLICE)), 1 << 30)
        if left < CHUNK_BYTES:
            assert begun is None and not line.taken_bytes
        else:
            assert begun is not None and finish(lazily, begun, line) == HEAD + expected


@pytest.mark.parametrize("seed", range(20))
def test_damage_ends_it_where_it_ends_the_chunks(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    data = bytearray(batches(random, 700_000, (100, 900)))
    at = random.randrange(30_000, len(data))
    data[at] ^= 1 << random.randrange(8)
    lazily = converted(tmp_path, bytes(data))
    expected = by_chunks(lazily)
    with Line(4_000_000) as line:
        begun = lazily.send_at_once(HEAD, line, memoryview(bytearray(WHOLE_SLICE)), 1 << 30)
        if begun is None:  # who makes chunks alone finds the good batches of the first
            assert at < CHUNK_BYTES + 30_000 and not line.taken_bytes
        else:
            assert finish(lazily, begun, line) == HEAD + expected


def test_what_went_before_the_peer_did_is_counted(tmp_path: Path) -> None:
    lazily = converted(tmp_path, batches(Random(1), 1 << 20, (900,)))
    with Line(4_000_000) as line:
        line.far.close()
        with pytest.raises(BrokenPipeError):
            lazily.send_at_once(HEAD, line, memoryview(bytearray(CHUNK_ROOM)), 1 << 30)
        assert lazily.stats.chunks == 0 == line.taken_bytes
