"""Opening a log: after a clean stop, after a crash, with files missing, torn, left over or from Kafka."""

import logging
import struct
from pathlib import Path
from struct import pack

import pytest
from stepdown.protocol.errors import CorruptRecord, DiskFault
from stepdown.protocol.records.layout import Codec
from stepdown.storage.log.log import Log
from support.files import flip_bit
from support.logs import NOW, append, batch, file_names, make_log, read_all, values_of

SEGMENT = f"{0:020d}.log"
OFFSET_INDEX = f"{0:020d}.index"
TIME_INDEX = f"{0:020d}.timeindex"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The folder of a log of three segments with 6 batches of 2 records, cleanly closed."""
    log = make_log(tmp_path / "orders-0", segment_bytes=200, index_interval_bytes=0)
    fill(log)
    log.close()
    return tmp_path / "orders-0"


def fill(log: Log, first: int = 0, count: int = 6) -> None:
    for n in range(first, first + count):
        append(log, b"%d" % (2 * n), b"%d" % (2 * n + 1), leader_epoch=n // 2, timestamp=1000 * n)


def contents(log: Log) -> list[bytes | None]:
    return list(values_of(read_all(log)))


ALL = [b"%d" % n for n in range(12)]


def snapshot_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_cleanly_closed_log_is_opened_as_it_was(directory: Path) -> None:
    before = snapshot_of(directory)
    log = make_log(directory, segment_bytes=200)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (0, 12, 12)
    assert contents(log) == ALL
    log.close()
    assert snapshot_of(directory) == before


def test_without_the_mark_everything_from_the_recovery_point_is_read_again(directory: Path) -> None:
    before = snapshot_of(directory)
    for name in file_names(directory):
        if name.endswith(("index", "snapshot")) or name == "leader-epoch-checkpoint":
            (directory / name).write_bytes(b"")
    log = make_log(directory, clean=False, segment_bytes=200, index_interval_bytes=0)
    assert contents(log) == ALL
    assert log.recovery_point == 0
    log.close()
    after = snapshot_of(directory)
    assert {name: after[name] for name in before} == before


def test_the_recovery_point_does_not_pass_the_end(directory: Path) -> None:
    assert make_log(directory, clean=False, recovery_point=5).recovery_point == 5
    assert make_log(directory, clean=False, recovery_point=500).recovery_point == 12


@pytest.mark.parametrize("cut", [1, 17, 60, 61, 100])
def test_a_torn_tail_is_cut_to_the_last_whole_batch_and_said(
    directory: Path, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    last = sorted(directory.glob("*.log"))[-1]
    size = last.stat().st_size
    whole = len(batch(b"10", b"11"))
    with last.open("r+b") as file:
        file.truncate(size - cut)
    with caplog.at_level(logging.WARNING):
        log = make_log(directory, clean=False, segment_bytes=200)
    lost = 1 if cut < whole else 2
    assert contents(log) == ALL[: 12 - 2 * lost]
    if cut % whole:
        assert "cut off" in caplog.text
    append(log, b"new", leader_epoch=9)
    assert contents(log)[-1] == b"new"


def test_after_a_cut_later_segments_go(directory: Path) -> None:
    flip_bit(directory / SEGMENT, 8 * 100)  # in the second batch
    log = make_log(directory, clean=False, segment_bytes=200)
    assert contents(log) == ALL[:2]
    assert [segment.base_offset for segment in log.segments] == [0]
    assert [name for name in file_names(directory) if name.endswith(".log")] == [SEGMENT]
    assert log.epochs.entries == [(0, 0)]


def test_damage_below_the_recovery_point_is_not_looked_for(directory: Path) -> None:
    flip_bit(directory / SEGMENT, 8 * 100)
    log = make_log(directory, clean=False, recovery_point=8, segment_bytes=200)
    assert log.log_end_offset == 12


def test_a_damaged_tail_is_cut_even_if_the_mark_says_clean(directory: Path) -> None:
    last = sorted(directory.glob("*.log"))[-1]
    last.write_bytes(last.read_bytes() + b"\x00" * 500)
    log = make_log(directory, segment_bytes=200)
    assert contents(log) == ALL
    assert last.stat().st_size == log.segments.active.size


@pytest.mark.parametrize("name", [OFFSET_INDEX, TIME_INDEX])
@pytest.mark.parametrize(
    "damage",
    [
        None,
        b"",
        b"\xff" * 16,
        struct.pack(">ii", 3, 83) + bytes(96),
        struct.pack(">qi", 1001, 1) + bytes(96),
        struct.pack(">ii", 3, 1 << 30),
    ],
    ids=["missing", "empty", "ones", "offsets then zeros", "times then zeros", "beyond the segment"],
)
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
def test_an_index_that_is_missing_or_wrong_is_rebuilt(
    directory: Path, name: str, damage: bytes | None, clean: bool
) -> None:
    right = (directory / name).read_bytes()
    (directory / name).unlink()
    if damage is not None:
        (directory / name).write_bytes(damage)
    log = make_log(directory, clean=clean, segment_bytes=200, index_interval_bytes=0)
    assert contents(log) == ALL
    found = log.offset_for_timestamp(1001)
    assert found is not None
    assert found.offset == 3
    log.close()
    assert (directory / name).read_bytes() == right


def test_an_index_without_a_segment_is_deleted(directory: Path) -> None:
    (directory / f"{99:020d}.index").write_bytes(b"")
    make_log(directory)
    assert f"{99:020d}.index" not in file_names(directory)


def test_a_log_that_ends_below_its_start_begins_anew_there(directory: Path) -> None:
    log = make_log(directory, log_start_offset=50)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (50, 50, 1)
    assert log.epochs.entries == []
    append(log, b"a")
    assert contents(log) == [b"a"]


def test_the_start_is_the_checkpoint_or_the_first_segment(directory: Path) -> None:
    assert make_log(directory, log_start_offset=5).log_start_offset == 5
    (directory / SEGMENT).unlink()
    assert make_log(directory).log_start_offset == 4


def test_the_mark_of_an_unfinished_deletion_is_followed(directory: Path) -> None:
    (directory / (SEGMENT + ".deleted")).write_bytes(b"x")
    make_log(directory)
    assert SEGMENT + ".deleted" not in file_names(directory)


def test_an_unfinished_compaction_is_undone(directory: Path) -> None:
    (directory / (SEGMENT + ".cleaned")).write_bytes(b"x")
    (directory / (f"{4:020d}.log" + ".swap")).write_bytes(b"x")
    log = make_log(directory)
    assert contents(log) == ALL
    assert not [name for name in file_names(directory) if name.endswith((".cleaned", ".swap"))]


def test_a_finished_compaction_is_completed(directory: Path) -> None:
    merged = b"".join((directory / f"{base:020d}.log").read_bytes() for base in (0, 4))
    (directory / (SEGMENT + ".swap")).write_bytes(merged)
    (directory / (OFFSET_INDEX + ".swap")).write_bytes(b"")
    log = make_log(directory)
    assert [segment.base_offset for segment in log.segments] == [0, 8]
    assert contents(log) == ALL
    assert f"{4:020d}.index" not in file_names(directory)


@pytest.mark.parametrize("data", [b"", b"\xb4x" * 25, b"\x00" * 500], ids=["empty", "garbage", "zeros"])
@pytest.mark.parametrize("base", [0, 1, 4], ids=["of-a-segment", "of-none", "of-the-second"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crash"])
def test_a_damaged_copy_replaces_no_records(directory: Path, base: int, data: bytes, clean: bool) -> None:
    (directory / f"{base:020d}.log.swap").write_bytes(data)
    log = make_log(directory, clean=clean, segment_bytes=200)
    assert contents(log) == ALL
    assert not [name for name in file_names(directory) if name.endswith(".swap")]


def test_a_copy_whose_segment_is_gone_takes_its_place_up_to_the_damage(directory: Path) -> None:
    plain = directory / SEGMENT
    (directory / (SEGMENT + ".swap")).write_bytes(plain.read_bytes()[:-1])
    plain.unlink()
    log = make_log(directory, clean=False, segment_bytes=200)
    assert contents(log) == ALL[:2]


@pytest.mark.parametrize("data", [b"", b"\xb4x" * 25, b"\x00" * 500], ids=["empty", "garbage", "zeros"])
@pytest.mark.parametrize("base", [1, 3, 5, 11])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crash"])
def test_a_stray_segment_without_a_batch_hides_no_records(
    directory: Path, base: int, data: bytes, clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    (directory / f"{base:020d}.log").write_bytes(data)
    log = make_log(directory, clean=clean, segment_bytes=200)
    for offset in range(12):
        assert [record.offset for record in read_all(log, offset) if record.offset >= offset] == list(range(offset, 12))
    assert "has no batch and lies within" in caplog.text
    append(log, b"new", leader_epoch=9)
    assert contents(log) == [*ALL, b"new"]


def test_an_index_that_names_a_position_before_the_file_beside_a_stray_segment_ends_no_start(directory: Path) -> None:
    """The directory was taken for one whose disk had failed."""
    (directory / f"{1:020d}.log").write_bytes(b"")
    (directory / f"{0:020d}.index").write_bytes(pack(">ii", 1, -7))
    assert contents(make_log(directory, clean=False, segment_bytes=200)) == ALL


def test_an_empty_segment_at_the_end_of_the_one_before_stays(directory: Path) -> None:
    (directory / f"{12:020d}.log").write_bytes(b"")
    log = make_log(directory, segment_bytes=200)
    assert [segment.base_offset for segment in log.segments] == [0, 4, 8, 12]


def test_a_name_beyond_the_largest_offset_is_no_segment(directory: Path) -> None:
    stray = directory / "99999999999999999999.log"
    stray.write_bytes(b"x" * 50)
    log = make_log(directory, segment_bytes=200)
    assert log.log_end_offset == 12
    assert stray.exists()


def test_a_segment_of_zeros_is_corrupt_to_readers_and_the_next_is_read(directory: Path) -> None:
    damaged = directory / SEGMENT
    damaged.write_bytes(bytes(damaged.stat().st_size))
    log = make_log(directory, segment_bytes=200)
    with pytest.raises(CorruptRecord):
        list(read_all(log))
    assert list(values_of(read_all(log, 4))) == ALL[4:]


@pytest.mark.parametrize("name", [OFFSET_INDEX, TIME_INDEX, f"{12:020d}.snapshot", "leader-epoch-checkpoint"])
def test_a_folder_in_place_of_a_file_is_named_with_what_to_do(directory: Path, name: str) -> None:
    (directory / name).unlink(missing_ok=True)
    (directory / name).mkdir()
    with pytest.raises(DiskFault, match=f"{name}.*: a file was expected, found a folder: move it away"):
        append(make_log(directory, clean=False, segment_bytes=200), b"new", leader_epoch=9)


def test_snapshots_of_no_segment_go(directory: Path) -> None:
    for offset in (2, 100):
        (directory / f"{offset:020d}.snapshot").write_bytes(b"")
    make_log(directory)
    assert [name[:20] for name in file_names(directory) if name.endswith(".snapshot")] == [
        f"{offset:020d}" for offset in (4, 8, 12)
    ]


@pytest.mark.parametrize("loss", ["snapshots", "nothing"])
@pytest.mark.parametrize("clean", [True, False])
def test_the_last_batch_of_a_producer_is_known_after_a_restart(tmp_path: Path, loss: str, clean: bool) -> None:
    log = make_log(tmp_path / "orders-0")
    for sequence in range(3):
        append(log, b"a", producer_id=7, producer_epoch=0, base_sequence=sequence)
    log.close() if clean else log.release()
    if loss == "snapshots":
        for path in (tmp_path / "orders-0").glob("*.snapshot"):
            path.write_bytes(b"damaged")
    log = make_log(tmp_path / "orders-0", clean=clean)
    again = append(log, b"a", producer_id=7, producer_epoch=0, base_sequence=2)
    assert (again.duplicate, again.first_offset) == (True, 2) or (loss == "snapshots" and clean)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY])
def test_segments_of_old_brokers_are_recovered_and_served(tmp_path: Path, magic: int, codec: Codec) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    data = b"".join(
        batch(b"%d" % n, b"%d" % (n + 1), timestamp=NOW + n, first_offset=n, magic=magic, codec=codec)
        for n in range(0, 100, 2)
    )
    (directory / SEGMENT).write_bytes(data + data[:20])
    log = make_log(directory, clean=False, index_interval_bytes=500)
    assert contents(log) == [b"%d" % n for n in range(100)]
    assert log.size_bytes == len(data)
    assert log.segments.active.offset_index.count > 3
    assert (log.segments.active.time_index.count > 3) is (magic == 1)
    append(log, b"new")
    assert contents(log)[-1] == b"new"


def test_a_segment_whose_offsets_lie_too_far_apart_is_split(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    far = (1 << 31) + 10
    parts = [batch(b"a"), batch(b"b", first_offset=5), batch(b"c", first_offset=far), batch(b"d", first_offset=far + 1)]
    (directory / SEGMENT).write_bytes(b"".join(parts))
    log = make_log(directory, clean=False)
    assert [segment.base_offset for segment in log.segments] == [0, far]
    assert contents(log) == [b"a", b"b", b"c", b"d"]
    assert not [name for name in file_names(directory) if name.endswith((".cleaned", ".swap"))]


def test_batches_whose_offsets_go_back_end_the_log(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / SEGMENT).write_bytes(batch(b"a", b"b") + batch(b"c", first_offset=1))
    log = make_log(directory, clean=False)
    assert contents(log) == [b"a", b"b"]


def test_a_preallocated_segment_is_trimmed_when_it_closes(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", preallocate=True, segment_bytes=10_000)
    append(log, b"a")
    assert (tmp_path / "orders-0" / SEGMENT).stat().st_size == 10_000
    log.close()
    assert (tmp_path / "orders-0" / SEGMENT).stat().st_size == len(batch(b"a"))


def test_a_preallocated_segment_is_recovered(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", preallocate=True, segment_bytes=10_000)
    append(log, b"a")
    log.release()
    assert contents(make_log(tmp_path / "orders-0", clean=False)) == [b"a"]
