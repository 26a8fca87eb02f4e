"""The loop over compressed batches does the same compiled, and uncompiled."""

from collections.abc import Callable
from random import Random
from types import ModuleType

import pytest
from stepdown.protocol.errors import PeerFault
from stepdown.protocol.records.batches import Batch, iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.conversion import compressed_batch, down
from stepdown.protocol.records.conversion.compressed_batch import AT_ONCE_BYTES
from stepdown.protocol.records.conversion.down import convert_compressed
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record
from support.mutations import mended, mutate, random_batch
from support.twin import load_twin

Converts = Callable[[memoryview, int, int, bytearray, int], tuple[int, int, int, int]]

ROOMS = (0, 20_000, 200_000, 600_000)
SIZES = [
    (1, 0),
    (1, 30),
    (3, 400),
    (16, 1000),
    (60, 1000),
    (70, 1000),
    (64, 1024),
    (130, 1000),
    (300, 1000),
    (1, 66_000),
]


@pytest.fixture(scope="module")
def twin() -> ModuleType:
    return load_twin("conversion.compressed_batch")


def compressed(random: Random, codec: int) -> bytes:
    """A v2 batch of records that compress well, badly or not at all."""
    count, size = random.choice(SIZES)
    kind = random.randrange(3)
    offset, records = random.choice((0, 7, 1 << 40)), []
    for n in range(count):
        value = bytes(size) if kind == 0 else random.randbytes(size)
        value = bytes(97 + byte % 10 for byte in value) if kind == 2 else value
        key = random.choice((None, b"", b"key"))
        records.append(Record(offset=offset, timestamp=random.choice((-1, n)), key=key, value=value))
        offset += random.choice((1, 1, 3))
    append_time = random.random() < 0.2
    kind_of_time = TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME
    stamp = 77 if append_time else None
    return build_batch(records, codec=Codec(codec), timestamp_type=kind_of_time, log_append_time=stamp)


def several(random: Random, most: int = 3) -> bytes:
    """Batches, mostly of LZ4 and snappy, one behind the other; some damaged, most of those under a right checksum."""
    batches = []
    for _ in range(random.randrange(1, most + 1)):
        batch = random_batch(random) if random.random() < 0.2 else compressed(random, random.choice((1, 2, 2, 3, 3)))
        if random.random() < 0.4:
            batch = mutate(random, batch) if random.random() < 0.5 else damaged_frame(random, batch)
            batch = mended(batch) if random.random() < 0.8 else batch
        batches.append(batch)
    whole = b"".join(batches)
    return whole[: random.randrange(len(whole))] if random.random() < 0.1 else whole


def damaged_frame(random: Random, batch: bytes) -> bytes:
    """Damage near the beginning or the end of what the codec made."""
    head, body = batch[:61], bytearray(batch[61:])
    if body:
        at = random.choice((random.randrange(min(24, len(body))), len(body) - 1 - random.randrange(min(9, len(body)))))
        if random.random() < 0.7:
            body[at] = random.choice((0, 1, 0x64, 0x80, 0xFF, body[at] ^ 1))
        else:
            body[at : at + random.choice((0, 1, 4))] = random.randbytes(random.choice((0, 1, 4)))
    return head + body


def outcome(converts: Converts, source: bytes, target: int, room: int, at: int, end: int) -> object:
    """What a loop makes, or what it says is wrong."""
    out = bytearray(room)
    try:
        stopped = converts(memoryview(source), at, target, out, end)
    except PeerFault as fault:
        return type(fault), str(fault)
    return tuple(stopped), bytes(out[end : stopped[1]])


def throw(random: Random, loops: list[Converts]) -> None:
    source = several(random)
    target, room, end = random.choice((0, 1)), random.choice(ROOMS), 0
    if room and random.random() < 0.2:
        end = random.randrange(room)
    found = [outcome(converts, source, target, room, 0, end) for converts in loops]
    assert all(each == found[0] for each in found[1:]), (found, source.hex())


def contents(wrapper: Batch) -> object:
    """A wrapper's own fields, and its records."""
    wrapper.ensure_valid()
    fields = wrapper.last_offset, wrapper.magic, wrapper.codec, wrapper.timestamp_type, wrapper.max_timestamp
    return fields, list(wrapper.records())


def by_streams(source: bytes, target: int) -> bytes:
    """What becomes of batches that are too large for all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(down, "convert_to_wrapper", lambda batch, target: None)
        return b"".join(
            bytes(convert_compressed(batch.data, target=target, first_offset=0).data)
            for batch in iter_batches(memoryview(source))
        )


def test_python_is_not_asked_for_lz4_that_clients_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        compressed_batch, "at_once_functions", lambda codec: pytest.fail(f"Python was asked for codec {codec}")
    )
    records = [Record(offset=n, timestamp=5, key=b"key", value=b"value %d " % n * 100) for n in range(16)]
    source = build_batch(records, codec=Codec.LZ4) * 20
    assert compressed_batch.convert_compressed_batches(source, 0, 1, bytearray(600_000), 0).source_end == len(source)


def test_batches_of_thousands_of_records_are_closed_by_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    package = compressed_batch.at_once_functions
    monkeypatch.setattr(compressed_batch, "at_once_functions", lambda codec: asked.append(codec) or package(codec))
    for count, is_left in ((4097, True), (4096, False)):
        records = [Record(offset=n, timestamp=5, key=None, value=b"%d" % n) for n in range(count)]
        source = build_batch(records, codec=Codec.LZ4)
        assert compressed_batch.convert_compressed_batches(source, 0, 1, bytearray(600_000), 0).source_end == len(
            source
        )
        assert bool(asked) == is_left
        asked.clear()


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4])
def test_what_a_batch_becomes_does_not_depend_on_the_room(codec: Codec) -> None:
    sizes = set()
    for value_bytes in range(31_000, 38_000, 500):
        records = [Record(offset=n, timestamp=5, key=None, value=bytes([n]) * value_bytes) for n in range(3)]
        records.append(Record(offset=3, timestamp=5, key=None, value=bytes(131_072 - 3 * value_bytes - 100)))
        records.extend(Record(offset=n, timestamp=5, key=None, value=None) for n in range(4, 10))
        source = build_batch(records, codec=codec)
        made = {
            outcome(compressed_batch.convert_compressed_batches, source, 1, room, 0, 0)
            for room in (2 * AT_ONCE_BYTES, 700_000)
        }
        assert len(made) == 1
        sizes.add(next(iter(made)))
    tiny = [Record(offset=n, timestamp=5, key=None, value=None) for n in range(7000)]
    for count in range(5800, 7000, 100):
        source = build_batch(tiny[:count], codec=codec)
        made = {
            outcome(compressed_batch.convert_compressed_batches, source, 1, room, 0, 0)
            for room in (2 * AT_ONCE_BYTES, 700_000)
        }
        assert len(made) == 1
        sizes.add(next(iter(made)))
    assert len(sizes) > 5


@pytest.mark.parametrize("seed", range(20))
def test_both_loops_do_the_same_damaged_or_not(twin: ModuleType, seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        throw(random, [compressed_batch.convert_compressed_batches, twin.convert_compressed_batches])


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_whole_batches_become_what_streams_make_of_them(codec: Codec, target: int) -> None:
    random = Random(f"{codec} {target}")
    for _ in range(60):
        source = b"".join(compressed(random, codec) for _ in range(random.randrange(1, 4)))
        found = outcome(compressed_batch.convert_compressed_batches, source, target, 1_000_000, 0, 0)
        assert isinstance(found, tuple)
        (at, *_), made = found
        assert list(map(contents, iter_batches(memoryview(made)))) == list(
            map(contents, iter_batches(memoryview(by_streams(source[:at], target))))
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_ten_thousand_sources_each_are_converted_or_refused_alike(twin: ModuleType, seed: int) -> None:
    random = Random(seed)
    for _ in range(1000):
        throw(random, [compressed_batch.convert_compressed_batches, twin.convert_compressed_batches])
