"""Columns hold what the batches hold, filled by the compiled kernel and by its readable twin."""

from collections.abc import Iterator
from typing import Any

import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord
from stepdown.protocol.records import columns
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.columns import ColumnFiller, WantedRows
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record
from support.record_sets import batch_with_body, patched
from support.twin import load_twin

NOW = 1_700_000_000_000
Row = tuple[int, int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


@pytest.fixture(params=["compiled", "twin"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "twin":
        monkeypatch.setattr(columns, "RecordColumns", load_twin("kernel.columns").RecordColumns)
        monkeypatch.setattr(columns, "MessagesDown", load_twin().MessagesDown)
    return str(request.param)


def sample(magic: int, count: int = 7, first: int = 100) -> list[Record]:
    kinds = TimestampType.NONE if magic == 0 else TimestampType.CREATE_TIME
    return [
        Record(
            offset=first + 2 * n,
            timestamp=-1 if magic == 0 else NOW + n,
            timestamp_type=kinds,
            key=None if n % 3 == 0 else b"key %d" % n,
            value=None if n % 4 == 1 else b"v" * (n * 40),
            headers=(("a", b"1"), ("empty", b""), ("null", None))[: n % 4] if magic == 2 else (),
        )
        for n in range(count)
    ]


def strings(column: Any) -> list[bytes | None]:
    ends = memoryview(column.ends_buffer).cast("i")
    data, valid = bytes(column.data_buffer[: column.used]), column.valid_buffer
    return [data[ends[n] : ends[n + 1]] if valid[n] else None for n in range(column.count)]


def rows_of(found: Any, wanted: WantedRows) -> Iterator[Row]:
    offsets = memoryview(found.offsets_buffer).cast("q")
    timestamps = memoryview(found.timestamps_buffer).cast("q")
    types = memoryview(found.types_buffer).cast("i")
    keys = strings(found.key) if wanted.key else [None] * found.rows
    values = strings(found.value) if wanted.value else [None] * found.rows
    headers: list[tuple[str, bytes | None]] = []
    ends = memoryview(bytes(4 * found.rows + 4)).cast("i")
    if wanted.headers:
        names = [name.decode() for name in strings(found.header_key) if name is not None]
        headers = list(zip(names, strings(found.header_value), strict=True))
        ends = memoryview(found.header_ends_buffer).cast("i")
    for n in range(found.rows):
        yield offsets[n], timestamps[n], types[n], keys[n], values[n], tuple(headers[ends[n] : ends[n + 1]])


def filled(data: bytes, **choice: Any) -> list[Row]:
    wanted = WantedRows(**{"headers": True, **choice})
    filler = ColumnFiller(wanted)
    rows: list[Row] = []
    for at in filler.fill(data):
        rows += rows_of(filler.columns, wanted)
        filler.columns.clear()
        assert at in (-1, len(data))
    return rows


def expected(data: bytes, first: int = 0, end: int = 1 << 62) -> list[Row]:
    return [
        (each.offset, each.timestamp, each.timestamp_type, each.key, each.value, each.headers)
        for batch in iter_batches(data)
        if not batch.is_control
        for each in batch.records()
        if first <= each.offset < end
    ]


EVERY = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec is not Codec.ZSTD]
KINDS, STAMPED = (
    pytest.mark.parametrize(("magic", "codec"), kinds, ids=[f"v{magic}-{codec.name}" for magic, codec in kinds])
    for kinds in (EVERY, [kind for kind in EVERY if kind[0] > 0])
)
"""All, and those that have timestamps."""


@KINDS
def test_columns_hold_the_records_of_every_format(either: str, magic: int, codec: Codec) -> None:
    data = b"".join(build_batch(sample(magic, first=at), magic=magic, codec=codec) for at in (5, 50, 500))
    assert filled(data) == expected(data)


@STAMPED
def test_append_time_stands_for_the_timestamps(either: str, magic: int, codec: Codec) -> None:
    stamped = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": NOW + 99}
    data = build_batch(sample(magic), magic=magic, codec=codec, **stamped)  # type: ignore[arg-type]
    assert filled(data) == expected(data)
    assert {row[1:3] for row in filled(data)} == {(NOW + 99, 1)}


@KINDS
@pytest.mark.parametrize("room", [{"max_rows": 1}, {"max_rows": 3}, {"max_bytes": 1}, {"max_bytes": 100}], ids=str)
def test_full_columns_go_on_where_they_stopped(either: str, magic: int, codec: Codec, room: dict[str, int]) -> None:
    data = b"".join(build_batch(sample(magic, first=at), magic=magic, codec=codec) for at in (5, 50))
    assert filled(data, **room) == expected(data)


@KINDS
def test_only_the_wanted_offsets_come(either: str, magic: int, codec: Codec) -> None:
    data = b"".join(build_batch(sample(magic, first=at), magic=magic, codec=codec) for at in (5, 50, 500))
    assert filled(data, first_offset=9, end_offset=504) == expected(data, 9, 504)
    assert filled(data, first_offset=55) == expected(data, 55)


def test_what_is_not_wanted_is_not_copied(either: str) -> None:
    data = build_batch(sample(2))
    plain = [(*row[:3], None, None, ()) for row in expected(data)]
    assert filled(data, key=False, value=False, headers=False) == plain
    filler = ColumnFiller(WantedRows(key=False, value=False))
    assert list(filler.fill(data)) == [len(data)]
    assert (filler.columns.key, filler.columns.value) == (None, None)


def test_values_larger_than_the_limit_come_whole(either: str) -> None:
    large = [Record(offset=n, timestamp=NOW, key=b"k" * 5000, value=b"v" * 300_000) for n in range(3)]
    for codec in (Codec.NONE, Codec.GZIP):
        data = build_batch(large, codec=codec)
        assert filled(data, max_bytes=1000) == expected(data)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_records_with_many_headers_come_whole(either: str, count: int) -> None:
    headers = tuple((f"name {n}", bytes(n)) for n in range(count))
    one = [Record(offset=n, timestamp=NOW, headers=headers[: count - n]) for n in range(min(3, count))]
    data = build_batch(sample(2, first=0)) + build_batch([*one, Record(offset=9, timestamp=NOW, headers=headers)])
    assert filled(data) == expected(data)


def test_control_batches_have_no_rows(either: str) -> None:
    marker = build_control_marker(
        ControlType.COMMIT, offset=107, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=NOW
    )
    data = build_batch(sample(2, first=0)) + marker + build_batch(sample(2, first=200))
    assert filled(data) == expected(data)


def test_batches_of_old_records_are_passed_by(either: str) -> None:
    old, new = build_batch(sample(2, first=0)), build_batch(sample(2, first=200))
    new = patched(new, max_timestamp=NOW + 100)
    assert [row[0] for row in filled(old + new, min_timestamp=NOW + 50)] == [row[0] for row in expected(new)]


@KINDS
def test_a_wrong_checksum_is_found_unless_it_is_not_looked_at(either: str, magic: int, codec: Codec) -> None:
    good = build_batch(sample(magic, count=1), magic=magic, codec=codec)
    bad = bytearray(build_batch(sample(magic, count=1, first=300), magic=magic, codec=codec))
    at = 17 if magic == 2 else 12
    bad[at] ^= 1
    filler = ColumnFiller(WantedRows())
    with pytest.raises(CorruptRecord, match=r"300.*checksum"):
        list(filler.fill(good + bytes(bad)))
    assert (filler.columns.rows, filler.columns.position) == (1, len(good))
    assert [row[0] for row in filled(good + bytes(bad), checked=False)] == [100, 300]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"\x0c" + bytes(6), 2),
        (2 * (b"\x0c" + bytes(6)), 1),
        (b"\xff\xff\xff\xff\xff\x01", 1),
        (b"\x7f" + bytes(6), 1),
        (b"\x0c\0\0\0\x40\0\0", 1),
    ],
    ids=["missing", "left over", "endless varint", "past the end", "key past the end"],
)
def test_broken_records_are_refused(either: str, body: bytes, count: int, codec: Codec) -> None:
    with pytest.raises(InvalidRecord):
        filled(batch_with_body(body, count, codec))


def test_a_cut_batch_is_left(either: str) -> None:
    data = build_batch(sample(2))
    cut = build_batch(sample(2, first=300))[:-1]
    assert list(ColumnFiller(WantedRows()).fill(data + cut)) == [len(data)]


def test_a_wrong_frame_is_refused(either: str) -> None:
    data = bytearray(build_batch(sample(2)))
    data[16] = 9
    with pytest.raises(CorruptRecord, match="frame"):
        filled(bytes(data))


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_batches_that_one_thread_opens_in_turn_do_not_disturb_each_other(either: str, codec: Codec) -> None:
    wanted = WantedRows(headers=True, max_rows=2)
    sets = [sample(2, count=9, first=first) for first in (100, 500)]
    fillers = [ColumnFiller(wanted) for _ in sets]
    walks = [filler.fill(build_batch(records, codec=codec)) for filler, records in zip(fillers, sets, strict=True)]
    found: list[list[Row]] = [[], []]
    for _ in range(5):
        for rows, walk, filler in zip(found, walks, fillers, strict=True):
            next(walk)
            rows += rows_of(filler.columns, wanted)
            filler.columns.clear()
    assert found == [filled(build_batch(records)) for records in sets]
