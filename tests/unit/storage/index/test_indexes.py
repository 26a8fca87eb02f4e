"""Offset, time and transaction indexes, byte for byte."""

import struct
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.storage.files.file_handle import FileHandle
from stepdown.storage.files.files import Files
from stepdown.storage.index.offset_index import OffsetIndex
from stepdown.storage.index.time_index import TimeIndex
from stepdown.storage.index.transaction_index import AbortedTransaction, TransactionIndex


def offset_index(path: Path, entries: int = 0) -> OffsetIndex:
    return OffsetIndex(Files().handle(str(path)), entries * 8)


def time_index(path: Path, entries: int = 0) -> TimeIndex:
    return TimeIndex(Files().handle(str(path)), entries * 12)


def test_an_offset_entry_is_two_big_endian_numbers(tmp_path: Path) -> None:
    index = offset_index(tmp_path / "i")
    index.append(7, 4200)
    index.append(9, 70000)
    index.trim()
    assert (tmp_path / "i").read_bytes() == bytes.fromhex("00000007 00001068 00000009 00011170")


def test_a_time_entry_is_a_timestamp_and_an_offset(tmp_path: Path) -> None:
    index = time_index(tmp_path / "i")
    index.append_if_later(1_700_000_000_000, 7)
    index.trim()
    assert (tmp_path / "i").read_bytes() == struct.pack(">qi", 1_700_000_000_000, 7)


def test_a_timestamp_that_is_not_later_is_skipped(tmp_path: Path) -> None:
    index = time_index(tmp_path / "i")
    for timestamp, offset in ((-1, 0), (0, 1), (5, 2), (5, 3), (4, 4), (6, 5)):
        index.append_if_later(timestamp, offset)
    assert [index.entry(n) for n in range(index.count)] == [(0, 1), (5, 2), (6, 5)]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 600, 2000])
@pytest.mark.parametrize("is_written", [False, True], ids=["partly in memory", "written"])
def test_a_lookup_finds_the_last_entry_not_above_the_target(tmp_path: Path, count: int, is_written: bool) -> None:
    index = offset_index(tmp_path / "i")
    for n in range(count):
        index.append(10 * n + 5, 100 * n + 100)
    if is_written:
        index.write_out()
        index = offset_index(tmp_path / "i", count)
    assert index.position_of(4) == 0
    for n in {0, count // 3, count // 2, count - 1}:
        assert index.position_of(10 * n + 5) == 100 * n + 100
        assert index.position_of(10 * n + 14) == 100 * n + 100
        assert index.offset_from_position(100 * n + 1) == 10 * n + 5
    assert index.offset_from_position(100 * count + 1) is None


@pytest.mark.parametrize(
    "offset_of",
    [
        lambda n: n * n,
        lambda n: n if n < 900 else 1_000_000 * n,
        lambda n: 2_000_000_000 + n,
        lambda n: 7 * n % 5 + 9 * n,
    ],
    ids=["ever larger sets", "small, then large", "far from the base", "almost even"],
)
def test_a_lookup_finds_its_entry_however_uneven_the_sets_are(tmp_path: Path, offset_of: Callable[[int], int]) -> None:
    offsets = sorted({offset_of(n) for n in range(1000)})
    index = offset_index(tmp_path / "i")
    for n, offset in enumerate(offsets):
        index.append(offset, n + 1)
    for target in {offset + near for offset in offsets for near in (-1, 0, 1)} - {-1}:
        assert index.position_of(target) == bisect_right(offsets, target)


def test_truncating_drops_the_entries_from_the_offset_on(tmp_path: Path) -> None:
    offsets, times = offset_index(tmp_path / "o"), time_index(tmp_path / "t")
    for n in range(100):
        offsets.append(n, n + 1)
        times.append(1000 + n, n)
    offsets.truncate_to(70)
    times.truncate_to(70)
    assert offsets.last_entry() == (69, 70)
    assert times.last_entry() == (1069, 69)
    assert (tmp_path / "o").stat().st_size == 70 * 8
    assert (tmp_path / "t").stat().st_size == 70 * 12


def test_a_file_that_became_shorter_is_a_disk_fault(tmp_path: Path) -> None:
    index = offset_index(tmp_path / "i", entries=3)
    (tmp_path / "i").write_bytes(bytes(8))
    with pytest.raises(DiskFault, match="expected"):
        index.last_entry()


def test_half_an_entry_at_the_end_is_not_counted(tmp_path: Path) -> None:
    assert OffsetIndex(Files().handle(str(tmp_path / "i")), 21).count == 2


@pytest.mark.parametrize(
    ("entry", "is_right"),
    [((5, 4200), True), ((0, 0), False), ((-1, 10), False), ((5, 10_000), False), ((5, -4), False)],
)
def test_an_offset_index_is_believed_by_its_last_entry(tmp_path: Path, entry: tuple[int, int], is_right: bool) -> None:
    (tmp_path / "i").write_bytes(struct.pack(">ii", *entry))
    assert offset_index(tmp_path / "i", 1).looks_right(segment_bytes=10_000) is is_right


def test_the_preallocated_zeros_of_an_open_index_are_not_believed(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(struct.pack(">qi", 1000, 5) + bytes(24))
    assert not time_index(tmp_path / "t", 3).looks_right()


def test_an_aborted_transaction_is_34_bytes(tmp_path: Path) -> None:
    index = TransactionIndex(Files(), str(tmp_path / "x"), 0)
    assert not (tmp_path / "x").exists()
    index.append(AbortedTransaction(7, 10, 20, 15))
    assert (tmp_path / "x").read_bytes() == struct.pack(">hqqqq", 0, 7, 10, 20, 15)


def test_a_search_stops_where_later_transactions_cannot_matter(tmp_path: Path) -> None:
    index = TransactionIndex(Files(), str(tmp_path / "x"), 0)
    for entry in ((1, 0, 10, 5), (2, 5, 20, 21), (3, 30, 40, 41), (4, 22, 50, 51)):
        index.append(AbortedTransaction(*entry))
    found: list[AbortedTransaction] = []
    assert index.collect(11, 21, found.append)
    assert [entry.producer_id for entry in found] == [2]
    found = []
    assert not index.collect(0, 100, found.append)
    assert [entry.producer_id for entry in found] == [1, 2, 3, 4]


def test_a_search_reads_no_transactions_that_ended_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fetch of committed records read all aborted transactions of the segment: 100,000 of them took 0.1 s."""
    index = TransactionIndex(Files(), str(tmp_path / "x"), 0)
    all_aborted = [AbortedTransaction(7, 10 * n, 10 * n + 5, 10 * n) for n in range(2_000)]
    for aborted in all_aborted:
        index.append(aborted)
    sizes: list[int] = []
    read = FileHandle.read
    monkeypatch.setattr(FileHandle, "read", lambda self, size, at: (sizes.append(size), read(self, size, at))[1])
    for fetch_offset in (0, 5, 6, 9_995, 19_990, 19_995, 19_996):
        found: list[AbortedTransaction] = []
        sizes.clear()
        index.collect(fetch_offset, fetch_offset + 25, found.append)
        end = fetch_offset + 25
        assert found == [each for each in all_aborted if each.last_offset >= fetch_offset and each.first_offset < end]
        assert sum(sizes) < 5_000


def test_transactions_that_end_at_or_above_the_cut_are_dropped(tmp_path: Path) -> None:
    index = TransactionIndex(Files(), str(tmp_path / "x"), 0)
    for n in range(4):
        index.append(AbortedTransaction(n, 10 * n, 10 * n + 5, 0))
    index.truncate_to(25)
    assert [entry.producer_id for entry in index.entries()] == [0, 1]
    assert (tmp_path / "x").stat().st_size == 68
