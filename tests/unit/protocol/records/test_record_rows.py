"""Many records at a time are those that a batch gives one by one, broken ones included."""

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records import record_rows
from stepdown.protocol.records.batches import Batch, view_batch
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import RECORD_BATCH_OVERHEAD, Codec, TimestampType
from stepdown.protocol.records.record import Header, Record
from stepdown.protocol.records.record_rows import read_rows

DATA = st.none() | st.binary(max_size=40)
FIELDS = st.tuples(
    st.integers(0, 1 << 40), DATA, DATA, st.lists(st.tuples(st.text(max_size=4), DATA), max_size=3).map(tuple)
)
Fields = tuple[int, bytes | None, bytes | None, tuple[Header, ...]]


def until_fault(records: Iterable[Record]) -> tuple[list[Record], str]:
    found: list[Record] = []
    try:
        found.extend(records)
    except ApiError as fault:
        return found, str(fault)
    return found, ""


def by_rows(batch: Batch, position: int, end: int) -> Iterator[Record]:
    for rows in read_rows(batch, position, end):
        assert len(rows)
        yield from rows.records()


def one_by_one(batch: Batch, position: int, end: int) -> Iterator[Record]:
    for record in batch.records():
        if position <= record.offset < end:
            position = record.offset + 1
            yield record


@pytest.mark.lengthy
@given(
    fields=st.lists(FIELDS, min_size=1, max_size=12),
    codec=st.sampled_from(Codec),
    kind=st.sampled_from((TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)),
    step=st.integers(1, 3),
    position=st.integers(0, 40),
    end=st.integers(0, 60),
)
def test_they_are_those_of_the_batch(
    fields: list[Fields], codec: Codec, kind: TimestampType, step: int, position: int, end: int
) -> None:
    records = [
        Record(offset=5 + step * number, timestamp=at, timestamp_type=kind, key=key, value=value, headers=headers)
        for number, (at, key, value, headers) in enumerate(fields)
    ]
    batch = view_batch(build_batch(records, codec=codec, timestamp_type=kind))
    assert list(by_rows(batch, position, end)) == list(one_by_one(batch, position, end))


@given(at=st.integers(0, 300), byte=st.integers(0, 255), codec=st.sampled_from((Codec.NONE, Codec.GZIP)))
def test_a_broken_batch_gives_what_comes_before_and_the_same_fault(at: int, byte: int, codec: Codec) -> None:
    """Negative offsets, and those that do not rise, came by the compiled loops and not one by one."""
    records = [Record(offset=number, timestamp=1, key=b"key", value=b"value %d" % number) for number in range(12)]
    data = bytearray(build_batch(records, codec=codec))
    data[RECORD_BATCH_OVERHEAD + at % (len(data) - RECORD_BATCH_OVERHEAD)] = byte
    batch = view_batch(data)
    assert until_fault(by_rows(batch, 0, 100)) == until_fault(one_by_one(batch, 0, 100))


def test_more_records_than_fit_come_in_several_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_rows, "MAX_ROWS", 7)
    batch = view_batch(build_batch([Record(offset=number, timestamp=1, value=b"v") for number in range(40)]))
    found = list(read_rows(batch, 0))
    assert [len(rows) for rows in found] == [7, 7, 7, 7, 7, 5]
    assert [offset for rows in found for offset in rows.offsets] == list(range(40))


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_the_first_of_them(magic: int) -> None:
    data = build_batch([Record(offset=number, value=b"v") for number in range(5)], magic=magic, codec=Codec.GZIP)
    (rows, *_) = read_rows(view_batch(data), 2)
    assert rows.first(1).offsets == rows.offsets[:1]
    assert rows.first(9) is rows
