"""What is missing of a log, or damaged, is an error that names it, or told; compaction explains holes of its own."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.pipeline.failures import DataLoss, PipelineFailure
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.damage import CORRUPT, DELETED, MISSING, OVERLAPPING, Damage, raise_or_keep_loss
from stepdown.pipeline.reading.split_damage import DamagePolicy
from stepdown.pipeline.reading.split_rows import SplitRows
from stepdown.pipeline.reading.splits import OffsetsToRead, SplitPlanner
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_control_marker
from stepdown.protocol.records.columns import WantedRows
from stepdown.protocol.records.layout import Codec, ControlType
from support.log_directories import keyed_records, write_batches, write_topic
from support.segments import write_segment

FILES = PlaceFiles()


def read(
    log_dir: Path, leniency: DamagePolicy | None = None, wanted: OffsetsToRead | None = None, max_bytes: int = 1 << 20
) -> list[int]:
    """The offsets of all rows, as a query reads them."""
    leniency = leniency or DamagePolicy()
    found: list[int] = []
    planning = SplitPlanner(FILES, max_bytes)
    for log in find_partition_logs(FILES, str(log_dir)):
        for split in planning.plan_splits(log, wanted or OffsetsToRead()):
            asked = WantedRows(first_offset=split.first_offset, end_offset=split.end_offset, value=False)
            for columns in SplitRows(FILES, split, asked, leniency):
                found += memoryview(columns.offsets_buffer).cast("q")[: columns.rows].tolist()
    for loss in planning.losses:
        raise_or_keep_loss(loss, is_failure=leniency.fail_on_data_loss, keep=leniency.skipped.append)
    return found


def segment(log_dir: Path, base: int, suffix: str = ".log") -> Path:
    return log_dir / "topic-0" / f"{base:020}{suffix}"


def cut_out(path: Path, gone: slice) -> None:
    """Take batches out of a segment, and the index with them."""
    batches = [bytes(batch.data) for batch in iter_batches(path.read_bytes())]
    del batches[gone]
    path.write_bytes(b"".join(batches))
    path.with_suffix(".index").unlink()


def remove_segment(log_dir: Path) -> None:
    segment(log_dir, 40).unlink()


def empty_segment(log_dir: Path) -> None:
    segment(log_dir, 40).write_bytes(b"")


def empty_two(log_dir: Path) -> None:
    empty_segment(log_dir)
    segment(log_dir, 80).write_bytes(b"")


def remove_all(log_dir: Path) -> None:
    for path in (log_dir / "topic-0").iterdir():
        path.unlink()


def recovery_point(log_dir: Path, offset: int) -> None:
    (log_dir / "recovery-point-offset-checkpoint").write_text(f"0\n1\ntopic 0 {offset}\n")


LOSSES: dict[str, tuple[Callable[[Path], None], range, list[tuple[int, int | None]]]] = {
    "a segment": (remove_segment, range(40, 80), [(40, 80)]),
    "an empty segment": (empty_segment, range(40, 80), [(40, 80)]),
    "two empty segments": (empty_two, range(40, 120), [(40, 80), (80, 120)]),
    "the first batch": (lambda path: cut_out(segment(path, 40), slice(0, 1)), range(40, 50), [(40, 50)]),
    "a batch": (lambda path: cut_out(segment(path, 40), slice(1, 2)), range(50, 60), [(50, 60)]),
    "two batches": (lambda path: cut_out(segment(path, 0), slice(1, 3)), range(10, 30), [(10, 30)]),
    "the last batches": (lambda path: cut_out(segment(path, 40), slice(2, 4)), range(60, 80), [(60, 80)]),
    "all files": (remove_all, range(160), [(0, None)]),
}


@pytest.mark.parametrize("max_bytes", [300, 1 << 20], ids=["many splits", "one split"])
@pytest.mark.parametrize("case", LOSSES)
def test_what_is_missing_is_an_error_that_names_it(tmp_path: Path, case: str, max_bytes: int) -> None:
    """They were fewer rows, without a word."""
    write_topic(tmp_path, "topic", segments=4)
    lose, gone, ranges = LOSSES[case]
    lose(tmp_path)
    if case == "all files":
        said = "topic-0: the partition has no segment files"
    else:
        said = f"topic-0: offsets {gone[0]} to {ranges[0][1] - 1} are missing: .*; failOnDataLoss=false reads"
    with pytest.raises(DataLoss, match=said):
        read(tmp_path, max_bytes=max_bytes)
    lenient = DamagePolicy(fail_on_data_loss=False)
    assert read(tmp_path, lenient, max_bytes=max_bytes) == [offset for offset in range(160) if offset not in gone]
    assert [(each.first_offset, each.end_offset) for each in lenient.skipped] == ranges
    assert {each.kind for each in lenient.skipped} == {MISSING}


@pytest.mark.parametrize("max_bytes", [300, 1 << 20], ids=["many splits", "one split"])
@pytest.mark.parametrize(
    ("magic", "codec"), [(0, Codec.GZIP), (1, Codec.GZIP), (1, Codec.NONE), (2, Codec.LZ4)], ids=str
)
def test_a_missing_batch_is_found_in_every_magic(tmp_path: Path, magic: int, codec: Codec, max_bytes: int) -> None:
    whole = [keyed_records(at * 10, 10) for at in range(5)]
    write_batches(tmp_path, "topic", 0, whole, magic=magic, codec=codec)
    assert read(tmp_path, max_bytes=max_bytes) == list(range(50))
    write_batches(tmp_path, "topic", 0, [*whole[:2], *whole[3:]], magic=magic, codec=codec)
    with pytest.raises(DataLoss, match="topic-0: offsets 20 to 29 are missing: no batch has them"):
        read(tmp_path, max_bytes=max_bytes)


def test_only_offsets_that_were_asked_for_are_missed(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=3)
    remove_segment(tmp_path)
    assert read(tmp_path, wanted=OffsetsToRead(first=5, end=40)) == list(range(5, 40))
    assert read(tmp_path, wanted=OffsetsToRead(first=80, end=95)) == list(range(80, 95))
    for first, end in ((0, 41), (50, 60), (79, 90)):
        with pytest.raises(DataLoss, match=f"offset.* {max(first, 40)} .*missing"):
            read(tmp_path, wanted=OffsetsToRead(first=first, end=end))


def test_a_log_that_ends_before_its_recovery_point_is_a_loss(tmp_path: Path) -> None:
    """What a broker has flushed and is not there was missing without a word."""
    write_topic(tmp_path, "topic")
    recovery_point(tmp_path, 80)
    assert read(tmp_path) == list(range(80))
    newest = segment(tmp_path, 40)
    for change, end in ((newest.read_bytes()[:-5], 70), (b"", 40), (None, 40)):
        newest.unlink() if change is None else newest.write_bytes(change)
        with pytest.raises(DataLoss, match=f"offsets {end} to 79 are missing: "):
            read(tmp_path)


def test_holes_below_the_offset_that_was_cleaned_are_those_of_compaction(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=4)
    cut_out(segment(tmp_path, 0), slice(1, 2))
    remove_segment(tmp_path)
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    checkpoint.write_text("0\n1\ntopic 0 80\n")
    assert read(tmp_path) == [*range(10), *range(20, 40), *range(80, 160)]
    checkpoint.write_text("0\n1\ntopic 0 60\n")
    with pytest.raises(DataLoss, match="offsets 60 to 79 are missing"):
        read(tmp_path)


def test_a_segment_with_thinned_batches_is_one_of_a_compacted_log(tmp_path: Path) -> None:
    """A replica of a compacted log has holes, and its own cleaner may not have seen them yet."""
    batches = [keyed_records(0, 10), [*keyed_records(20, 3), *keyed_records(27, 3)], keyed_records(40, 10)]
    write_batches(tmp_path, "topic", 0, batches)
    expected = [*range(10), 20, 21, 22, 27, 28, 29, *range(40, 50)]
    assert read(tmp_path) == expected
    assert read(tmp_path, max_bytes=100) == expected


@pytest.mark.parametrize("max_bytes", [100, 1 << 20])
def test_control_batches_are_no_gaps(tmp_path: Path, max_bytes: int) -> None:
    batches, lasts = [], []
    for at in range(6):
        marker = build_control_marker(
            offset=at, timestamp=0, producer_id=1, producer_epoch=0, coordinator_epoch=0, kind=ControlType.COMMIT
        )
        batches.append(bytes(marker))
        lasts.append(at)
    write_segment(tmp_path / "topic-0", batches, lasts)
    write_batches(tmp_path, "topic", 0, [keyed_records(6, 10)], base=6)
    assert read(tmp_path, max_bytes=max_bytes) == list(range(6, 16))


def test_segments_that_have_the_same_offsets_are_told(tmp_path: Path) -> None:
    write_batches(tmp_path, "topic", 0, [keyed_records(0, 10)])
    write_batches(tmp_path, "topic", 0, [keyed_records(5, 10)], base=5)
    with pytest.raises(PipelineFailure, match=re.escape("offsets 5 to 9 are in")):
        read(tmp_path)
    lenient = DamagePolicy(skip_corrupt=True)
    assert read(tmp_path, lenient) == [*range(10), *range(5, 15)]
    (found,) = lenient.skipped
    assert (found.kind, found.first_offset, found.end_offset) == (OVERLAPPING, 5, 10)


def test_a_damage_says_what_and_where_it_is(tmp_path: Path) -> None:
    written = write_batches(tmp_path, "topic", 0, [keyed_records(at * 10, 10) for at in range(4)])
    data = bytearray(written.log.read_bytes())
    data[written.positions[2] - 1] ^= 1
    written.log.write_bytes(data)
    lenient = DamagePolicy(skip_corrupt=True)
    assert read(tmp_path, lenient) == [*range(10), *range(20, 40)]
    (found,) = lenient.skipped
    assert found == Damage(
        topic="topic",
        partition=0,
        kind=CORRUPT,
        reason=found.reason,
        file=str(written.log),
        position=written.positions[1],
        size_bytes=written.positions[2] - written.positions[1],
        first_offset=10,
        end_offset=20,
    )


def test_a_file_that_goes_away_while_it_is_read_is_told(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic")
    planning = SplitPlanner(FILES)
    (log,) = find_partition_logs(FILES, str(tmp_path))
    splits = list(planning.plan_splits(log, OffsetsToRead()))
    segment(tmp_path, 40).unlink()
    lenient = DamagePolicy(fail_on_data_loss=False)
    for split in splits:
        assert list(SplitRows(FILES, split, WantedRows(), lenient)) or split.base_offset == 40
    assert [(each.kind, each.first_offset) for each in lenient.skipped] == [(DELETED, 40)]
