"""What opens gzip streams and closes them again: zlib agrees with it, on sound streams and on damaged ones."""

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from struct import pack
from types import ModuleType

import pytest
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.conversion.compressed_batch import convert_singles
from stepdown.protocol.records.layout import RECORD_BATCH_OVERHEAD, V0_OVERHEAD, V1_OVERHEAD, Codec
from stepdown.protocol.records.record import Record
from support.mutations import mended
from support.twin import load_twin

MOST = 128 * 1024
HEADER = b"\x1f\x8b\x08\x00\0\0\0\0\0\xff"
STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED)
WINDOW = 32_768

Repeat = tuple[int, int, int]
"""Where it begins, how long it is, how far back it lies."""


@pytest.fixture(scope="module")
def inflating() -> ModuleType:
    return load_twin("kernel.inflating")


@pytest.fixture(scope="module")
def carrying() -> ModuleType:
    return load_twin("kernel.carrying")


@pytest.fixture(scope="module")
def deflating() -> ModuleType:
    return load_twin("kernel.deflating")


def content(random: Random, most: int = 3000) -> bytes:
    size, kind = random.choice((0, 1, 7, 100, random.randrange(most + 1))), random.randrange(5)
    if kind == 0:
        return random.randbytes(size)
    if kind == 1:
        return bytes(random.choices(b"abcdefghij", k=size))
    if kind == 2:
        return bytes(size)
    if kind == 3:  # codes of all lengths
        return bytes(min(255, int(random.expovariate(0.2))) for _ in range(size))
    return b"".join(b'{"user": %d, "city": "%x"}, ' % (random.randrange(99), n % 7) for n in range(size // 20))


def packed(random: Random, data: bytes) -> bytes:
    """A deflate stream, of one of the ways that zlib has."""
    made = zlib.compressobj(
        random.randrange(10), zlib.DEFLATED, -15, random.randrange(1, 10), random.choice(STRATEGIES)
    )
    at = random.randrange(len(data) + 1)
    between = random.choice((zlib.Z_NO_FLUSH, zlib.Z_NO_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_PARTIAL_FLUSH))
    return made.compress(data[:at]) + made.flush(between) + made.compress(data[at:]) + made.flush()


def member(stream: bytes, data: bytes) -> bytes:
    return HEADER + stream + pack("<II", zlib.crc32(data), len(data))


def open_by(inflating: ModuleType, stream: bytes, room: int = MOST) -> tuple[bytes, list[Repeat]] | None:
    """What a stream opens to, and the repeats that were seen; None where it is left to others."""
    loop, out = inflating.Inflating(), memoryview(bytearray(room + inflating.OPENED_EXTRA))
    size = loop.open(memoryview(stream), 0, len(stream), out, room)
    if size < 0:
        return None
    assert all(loop.present[byte] for byte in out[:size])
    return bytes(out[:size]), repeats_of(loop.repeats, loop.repeated)


def repeats_of(words: memoryview, count: int) -> list[Repeat]:
    return [(words[2 * n], words[2 * n + 1] >> 16, words[2 * n + 1] & 0xFFFF) for n in range(count)]


def close_by(deflating: ModuleType, data: bytes, repeats: Iterable[Repeat], room: int | None = None) -> bytes:
    """A stream; empty where it found no room."""
    words = [word for at, size, distance in repeats for word in (at, size << 16 | distance)]
    sink = memoryview(bytearray(len(data) + len(data) // 6 + 1024 if room is None else room))
    given = memoryview(bytearray(4 * len(words) + 4)).cast("I")
    given[: len(words)] = memoryview(pack(f"{len(words)}I", *words)).cast("I")
    repeated = (given, len(words) // 2)
    size = deflating.Deflating().close(memoryview(data), len(data), bytes_in(data), *repeated, sink, 0, len(sink))
    return bytes(sink[:size])


def bytes_in(data: bytes) -> bytes:
    """For each byte, whether it is there."""
    return bytes(byte in data for byte in range(256))


def check_repeats(data: bytes, repeats: list[Repeat]) -> None:
    """They are what they say, in order, apart."""
    end = 0
    for at, size, distance in repeats:
        assert at >= end
        assert 3 <= size <= 258
        assert 0 < distance <= min(at, WINDOW)
        assert all(data[n] == data[n - distance] for n in range(at, at + size))
        end = at + size
    assert end <= len(data)


@pytest.mark.parametrize("seed", range(15))
def test_what_zlib_makes_is_opened(inflating: ModuleType, seed: int) -> None:
    random = Random(seed)
    for _ in range(20):
        data = content(random)
        found = open_by(inflating, member(packed(random, data), data))
        assert found is not None
        assert found[0] == data
        check_repeats(data, found[1])


@pytest.mark.parametrize("seed", range(15))
def test_a_damaged_stream_is_opened_as_zlib_opens_it_or_left_to_others(inflating: ModuleType, seed: int) -> None:
    random = Random(seed)
    opened = left = 0
    for _ in range(200):
        data = content(random, 600)
        stream = bytearray(packed(random, data))
        for _ in range(random.choice((1, 1, 2, 5))):
            stream[random.randrange(min(len(stream), random.choice((8, 80, 800))))] = random.randrange(256)
        loop = zlib.decompressobj(-15)
        try:
            expected = loop.decompress(bytes(stream), MOST)
        except zlib.error:
            expected = b""
        found = open_by(inflating, member(bytes(stream), expected))
        if found is not None:
            assert loop.eof
            assert not loop.unused_data
            assert found[0] == expected
            check_repeats(found[0], found[1])
            opened += 1
        left += found is None
    assert opened > 5
    assert left > 5


@pytest.mark.parametrize("cut", [1, 4, 8, 9, 12, 25])
def test_a_stream_that_is_cut_is_left_to_others(inflating: ModuleType, cut: int) -> None:
    random = Random(cut)
    data = bytes(random.choices(b"abcdefghij", k=1000))
    whole = member(packed(random, data), data)
    assert open_by(inflating, whole[:-cut]) is None
    assert open_by(inflating, whole[: -cut - 8] + whole[-8:]) is None


def test_no_more_is_opened_than_there_is_room_for(inflating: ModuleType) -> None:
    random = Random(0)
    for data in (bytes(1000), random.randbytes(1000), bytes(random.choices(b"abcdefghij", k=1000))):
        for level in (0, 1, 9):
            whole = gzip.compress(data, level)
            assert open_by(inflating, whole, 1000) is not None
            assert open_by(inflating, whole, 999) is None
            assert open_by(inflating, whole, 1) is None


def test_many_empty_blocks_take_no_table_each(inflating: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    build = inflating.Inflating.build
    monkeypatch.setattr(inflating.Inflating, "build", lambda *given: made.append(given[1]) or build(*given))
    data = b"something fixed " * 9
    block = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_FIXED)
    body = block.compress(data) + block.flush()
    empty = 0b010  # a fixed block that is not the last; its end is seven bits of 0
    many = sum(empty << 10 * n for n in range(8000))
    found = open_by(inflating, member(many.to_bytes(10_000, "little") + body, data))
    assert found is not None
    assert found[0] == data
    assert len(made) == 2


@pytest.mark.parametrize("seed", range(15))
def test_what_is_closed_zlib_opens(inflating: ModuleType, deflating: ModuleType, seed: int) -> None:
    random = Random(seed)
    for _ in range(15):
        data = content(random, random.choice((3000, 10_000)))
        found = open_by(inflating, member(packed(random, data), data))
        assert found is not None
        some = [repeat for repeat in found[1] if random.random() < 0.7]
        for repeats in (found[1], some, []):
            made = close_by(deflating, data, repeats)
            assert gzip.decompress(made) == data
            assert open_by(inflating, made) is not None


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 131_072, 262_144])
def test_blocks_may_end_inside_a_repeat(deflating: ModuleType, size: int) -> None:
    data = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    for begin in (16, 31, 300):
        repeats = [(at, min(258, size - at), 16) for at in range(begin, size - 3, 258)]
        check_repeats(data, repeats)
        made = close_by(deflating, data, repeats)
        assert gzip.decompress(made) == data
        assert len(made) < size // 50


def test_codes_are_never_longer_than_allowed(deflating: ModuleType) -> None:
    counts = [1, 1]
    while sum(counts) < 25_000:
        counts.append(counts[-1] + counts[-2] + 1)
    data = b"".join(bytes([byte]) * count for byte, count in enumerate(counts))
    loop = deflating.Deflating()
    sink = memoryview(bytearray(2 * len(data)))
    nothing = (memoryview(bytearray(8)).cast("I"), 0)
    size = loop.close(memoryview(data), len(data), bytes_in(data), *nothing, sink, 0, len(sink))
    assert gzip.decompress(sink[:size]) == data
    assert max(loop.lengths[:256]) == 14


@pytest.mark.parametrize("seed", range(5))
def test_without_room_nothing_is_closed_and_nothing_else_touched(deflating: ModuleType, seed: int) -> None:
    random = Random(seed)
    for _ in range(30):
        data = content(random)
        needed = len(close_by(deflating, data, []))
        assert close_by(deflating, data, [], random.randrange(needed)) == b""
        assert close_by(deflating, data, [], needed + 32) != b""


def records(random: Random) -> list[Record]:
    """Of every size, with keys or without, with headers or without."""
    made = []
    for offset in range(random.choice((1, 2, 16, 40))):
        key = random.choice((None, b"", b"key %d" % (offset % 3), content(random, 60)))
        value = random.choice((None, b"", b"value %d " % offset * 20, content(random, 1500)))
        headers = (("header", b"value"),) if random.random() < 0.3 else ()
        made.append(Record(offset=offset, timestamp=1_700_000_000_000 + offset, key=key, value=value, headers=headers))
    return made


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_carried_repeats_in_the_messages(
    inflating: ModuleType, carrying: ModuleType, seed: int, target: int
) -> None:
    random, item = Random(seed), load_twin("kernel.item").Item()
    for _ in range(10):
        batch = records(random)
        plain = build_batch(batch)[RECORD_BATCH_OVERHEAD:]
        found = open_by(inflating, gzip.compress(plain, random.choice((1, 6, 9))))
        assert found is not None
        messages = build_batch([replace(record, headers=()) for record in batch], magic=target)
        words = memoryview(bytearray(8 * len(found[1]) + 8)).cast("I")
        for n, (at, size, distance) in enumerate(found[1]):
            words[2 * n], words[2 * n + 1] = at, size << 16 | distance
        loop = carrying.Carrying()
        arguments = (bytes_in(plain), words, len(found[1]), memoryview(messages), len(messages), target)
        loop.weigh(memoryview(plain), len(plain))
        loop.carry(item, memoryview(plain), len(plain), *arguments)
        check_repeats(bytes(messages), repeats_of(loop.carried, loop.carried_count))
        assert all(loop.present[byte] for byte in messages)


@pytest.mark.parametrize("target", [0, 1])
def test_repeats_are_kept_and_make_small_what_was_small(target: int) -> None:
    value = b"".join(b'{"user": %d, "city": "somewhere", "sold": %d}, ' % (n, n * n) for n in range(60))
    batch = [Record(offset=n, timestamp=5 + n, key=b"key", value=value + b"%d" % n) for n in range(40)]
    stored = mended(build_batch(batch, codec=Codec.GZIP))
    out = bytearray(300_000)
    made = convert_singles(stored, 0, target, out, 0)
    assert made.at == len(stored)
    packed = out[V1_OVERHEAD if target else V0_OVERHEAD : made.end]
    assert gzip.decompress(packed) == build_batch(batch, magic=target)
    assert len(packed) < 1.2 * len(gzip.compress(gzip.decompress(packed), 1))
