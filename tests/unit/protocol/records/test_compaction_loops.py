"""Keys and their highest offsets, and what the map leaves of batches; compiled and as the readable twin."""

from collections.abc import Iterator
from typing import Any

import pytest
from stepdown.protocol.records import compaction_loops
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record
from support.twin import load_twin

SECRET = bytes(range(16))
NOW, HORIZON = 1_000_000, 1_500_000
NEVER = 1 << 62


@pytest.fixture(params=["compiled", "twin"])
def module(request: pytest.FixtureRequest) -> Iterator[Any]:
    yield compaction_loops if request.param == "compiled" else load_twin("compaction_loops")


def record(offset: int, key: bytes | None, value: bytes | None = b"v", timestamp: int = 1000) -> Record:
    return Record(offset=offset, timestamp=timestamp + offset, key=key, value=value)


def noted(module: Any, *batches: bytes, slots: int = 64, most: int = 50, start: int = 0) -> Any:
    found = module.OffsetMap(slots, most, SECRET)
    data = b"".join(batches)
    assert found.note_batches(data, 0, start) == (module.DONE, len(data))
    return found


def sifted(module: Any, found: Any, data: bytes, now: int = NOW) -> bytes:
    out = bytearray(2 * len(data) + 1000)
    status, at, end = found.copy_retained_batches(data, 0, out, 0, NEVER, now, HORIZON)
    assert (status, at) == (module.DONE, len(data))
    return bytes(out[:end])


def records_of(data: bytes) -> list[Record]:
    return [each for batch in iter_batches(data) for each in batch.records()]


def test_the_hash_is_siphash_of_128_bits(module: Any) -> None:
    """The first two vectors of the reference implementation: of nothing and of one zero byte."""
    found = module.OffsetMap(1 << 20, 10, SECRET)
    twin = load_twin("compaction_loops").OffsetMap(8, 4, SECRET)
    twin._hash(memoryview(b""), 0, 0)
    assert twin._h0.to_bytes(8, "little") + twin._h1.to_bytes(8, "little") == bytes.fromhex(
        "a3817f04ba25a8e66df67214c7550293"
    )
    twin._hash(memoryview(b"\0"), 0, 1)
    assert twin._h0.to_bytes(8, "little") + twin._h1.to_bytes(8, "little") == bytes.fromhex(
        "da87c1d86b99af44347659119b22fc45"
    )
    assert found.get(b"") == -1


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 17, 1000])
def test_a_key_of_any_size_is_found_again(module: Any, size: int) -> None:
    found = module.OffsetMap(16, 10, SECRET)
    assert found.put(b"k" * size, 41)
    assert found.put(b"k" * size, 42)
    assert found.get(b"k" * size) == 42
    assert found.get(b"k" * (size + 1)) == -1
    assert found.used == 1


def test_a_full_map_takes_no_more(module: Any) -> None:
    found = module.OffsetMap(8, 3, SECRET)
    assert [found.put(b"%d" % number, number) for number in range(5)] == [True, True, True, False, False]
    data = build_batch([record(9, b"new")])
    assert found.note_batches(data, 0, 0) == (module.FULL, 0)
    assert found.latest_offset == -1


def test_only_the_last_record_of_a_key_stays(module: Any) -> None:
    first = build_batch([record(0, b"a"), record(1, b"b"), record(2, b"a")])
    second = build_batch([record(3, b"b"), record(4, b"c")])
    found = noted(module, first, second)
    left = sifted(module, found, first + second)
    assert [(each.offset, each.key) for each in records_of(left)] == [(2, b"a"), (3, b"b"), (4, b"c")]
    assert [(batch.base_offset, batch.last_offset) for batch in iter_batches(left)] == [(0, 2), (3, 4)]
    assert left.endswith(second)
    assert (found.records_read, found.records_kept) == (5, 3)
    assert (found.written_last_offset, found.written_max_timestamp) == (4, 1004)


def test_what_is_rebuilt_is_what_kafka_builds(module: Any) -> None:
    """Base offset and last offset stay, timestamps count from the first record that is left."""
    source = build_batch(
        [record(5, b"a"), record(6, b"b"), record(7, b"a"), record(8, b"c")],
        producer_id=7,
        producer_epoch=1,
        base_sequence=3,
        partition_leader_epoch=2,
    )
    found = noted(module, source)
    expected = build_batch(
        [record(6, b"b"), record(7, b"a"), record(8, b"c")],
        base_offset=5,
        last_offset=8,
        producer_id=7,
        producer_epoch=1,
        base_sequence=3,
        partition_leader_epoch=2,
    )
    assert sifted(module, found, source) == expected


def test_records_without_a_key_go(module: Any) -> None:
    source = build_batch([record(0, None), record(1, b"a")])
    assert [each.key for each in records_of(sifted(module, noted(module, source), source))] == [b"a"]


def test_records_above_the_last_one_noted_stay(module: Any) -> None:
    source = build_batch([record(0, b"a"), record(1, b"a")])
    later = build_batch([record(2, None), record(3, b"a", None)])
    left = records_of(sifted(module, noted(module, source), source + later))
    assert [each.offset for each in left] == [1, 2, 3]


def test_a_tombstone_gets_a_delete_horizon_and_goes_when_it_has_come(module: Any) -> None:
    source = build_batch([record(0, b"a"), record(1, b"b"), record(2, b"a", None)])
    left = sifted(module, noted(module, source), source)
    (batch,) = iter_batches(left)
    assert batch.delete_horizon_ms == HORIZON
    assert left == build_batch(
        [record(1, b"b"), record(2, b"a", None)], base_offset=0, last_offset=2, delete_horizon_ms=HORIZON
    )
    found = noted(module, left)
    assert sifted(module, found, left, now=HORIZON - 1) == left
    assert [each.key for each in records_of(sifted(module, found, left, now=HORIZON))] == [b"b"]


def test_append_times_stay(module: Any) -> None:
    source = build_batch(
        [record(0, b"a"), record(1, b"a"), record(2, b"t", None)],
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        log_append_time=77_000,
    )
    left = sifted(module, noted(module, source), source)
    assert [each.timestamp for each in records_of(left)] == [77_000, 77_000]
    assert next(iter_batches(left)).max_timestamp == 77_000


@pytest.mark.parametrize("kind", ["compressed", "transactional", "control", "magic 1"])
def test_what_is_not_plain_stops_it(module: Any, kind: str) -> None:
    plain = build_batch([record(0, b"a")])
    other = build_batch(
        [record(1, b"b")],
        codec=Codec.GZIP if kind == "compressed" else Codec.NONE,
        magic=1 if kind == "magic 1" else 2,
        transactional=kind == "transactional",
        control=kind == "control",
    )
    found = module.OffsetMap(64, 50, SECRET)
    assert found.note_batches(plain + other, 0, 0) == (module.OTHER, len(plain))
    out = bytearray(1000)
    assert found.copy_retained_batches(plain + other, 0, out, 0, NEVER, NOW, HORIZON) == (
        module.OTHER,
        len(plain),
        len(plain),
    )


def test_a_batch_of_a_producer_that_has_to_be_remembered_stops_it(module: Any) -> None:
    first, second = build_batch([record(0, b"a")]), build_batch([record(1, b"a")])
    found = noted(module, first, second)
    out = bytearray(1000)
    assert found.copy_retained_batches(first + second, 0, out, 0, 1, NOW, HORIZON) == (module.OTHER, len(first), 0)


def test_damage_is_not_written_anew(module: Any) -> None:
    """With a new checksum over it, nobody would ever notice."""
    source = bytearray(build_batch([record(0, b"a"), record(1, b"a")]))
    source[-1] ^= 1
    found = module.OffsetMap(64, 50, SECRET)
    assert found.note_batches(bytes(source), 0, 0) == (module.BROKEN, 0)
    assert found.copy_retained_batches(bytes(source), 0, bytearray(1000), 0, NEVER, NOW, HORIZON)[0] == module.BROKEN


def test_without_room_nothing_of_the_batch_is_written(module: Any) -> None:
    source = build_batch([record(0, b"a")])
    found = noted(module, source)
    assert found.copy_retained_batches(source, 0, bytearray(len(source)), 0, NEVER, NOW, HORIZON) == (
        module.NO_ROOM,
        0,
        0,
    )


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_opened_records_are_judged_and_written_alike(module: Any, codec: Codec) -> None:
    records = [record(0, b"a"), record(1, b"b"), record(2, b"a", None)]
    plain = build_batch(records)
    found = module.OffsetMap(64, 50, SECRET)
    assert found.note_records(plain[61:], 3, 0, 0) == module.DONE
    found.latest_offset = 2
    assert found.mark_retained_records(plain[61:], 3, 0, 1000, True) == 2
    assert found.has_tombstones
    assert (found.first_timestamp, found.max_timestamp) == (1001, 1002)
    expected = build_batch(records[1:], base_offset=0, last_offset=2)
    assert found.copy_marked_records(plain[61:], 3, -1, False) == expected[61:]
