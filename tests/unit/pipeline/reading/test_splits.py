"""Splits cover a log once, whatever its indexes say, and leave out what nobody asked for."""

from pathlib import Path
from struct import pack

import pytest
from stepdown.pipeline.failures import BadUsage, DataLoss, PipelineFailure
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.log_end import log_end_offset
from stepdown.pipeline.reading.split_damage import DamagePolicy
from stepdown.pipeline.reading.split_rows import SplitRows
from stepdown.pipeline.reading.splits import OffsetsToRead, Split, SplitPlanner
from stepdown.protocol.records.columns import WantedRows
from stepdown.protocol.records.layout import Codec
from support.log_directories import keyed_records, write_batches, write_topic
from support.segments import START_MS

FILES = PlaceFiles()


def planned(
    log_dir: Path, wanted: OffsetsToRead | None = None, *, max_bytes: int = 500, since: int | None = None
) -> tuple[list[Split], list[str]]:
    planning = SplitPlanner(FILES, max_bytes, since)
    (log,) = find_partition_logs(FILES, str(log_dir))
    return list(planning.plan_splits(log, wanted or OffsetsToRead())), planning.warnings


def offsets(splits: list[Split], leniency: DamagePolicy | None = None) -> list[int]:
    found = []
    for split in splits:
        wanted = WantedRows(first_offset=split.first_offset, end_offset=split.end_offset)
        for columns in SplitRows(FILES, split, wanted, leniency or DamagePolicy()):
            found += memoryview(columns.offsets_buffer).cast("q")[: columns.rows].tolist()
    return found


def index(log_dir: Path, suffix: str = ".index", base: int = 0) -> Path:
    return log_dir / "topic-0" / f"{base:020}{suffix}"


def test_splits_are_cut_at_index_positions(tmp_path: Path) -> None:
    segment = write_batches(tmp_path, "topic", 0, [keyed_records(at * 10, 10) for at in range(8)])
    splits, warnings = planned(tmp_path)
    assert not warnings
    assert len(splits) == 8
    assert [split.start for split in splits] == list(segment.positions)
    assert [split.ends_log for split in splits] == [False] * 7 + [True]
    assert offsets(splits) == list(range(80))


@pytest.mark.parametrize(
    "damage", ["none", "missing", "zeros behind", "shifted", "false offsets", "past the end", "torn"]
)
def test_rows_are_the_same_whatever_the_index_says(tmp_path: Path, damage: str) -> None:
    write_topic(tmp_path, "topic", segments=1)
    path = index(tmp_path)
    entries = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        changed = {
            "none": entries,
            "zeros behind": entries + bytes(4096),
            "shifted": b"".join(pack(">ii", 9 + 10 * n, 7 + 300 * n) for n in range(1, 4)),
            "false offsets": b"".join(
                pack(">i", 1000 + n) + entries[8 * n + 4 : 8 * n + 8] for n in range(len(entries) // 8)
            ),
            "past the end": entries[:-4] + pack(">i", 1 << 30),
            "torn": entries[:-3],
        }
        path.write_bytes(changed[damage])
    splits, warnings = planned(tmp_path, max_bytes=300)
    assert offsets(splits) == list(range(40))
    assert len(warnings) == (damage in ("shifted", "false offsets"))
    assert offsets(planned(tmp_path, OffsetsToRead(first=15, end=31))[0]) == list(range(15, 31))


@pytest.mark.parametrize(
    ("first", "end"), [(0, 1), (5, 6), (9, 10), (10, 11), (39, 40), (41, 60), (79, 99), (80, 99), (17, 17)]
)
def test_only_what_holds_the_wanted_offsets_is_read(tmp_path: Path, first: int, end: int) -> None:
    write_topic(tmp_path, "topic")
    splits, _ = planned(tmp_path, OffsetsToRead(first=first, end=end))
    assert offsets(splits) == list(range(first, min(end, 80)))
    assert sum(split.size_bytes for split in splits) <= 900 * max(1, (end - first) // 10)


def test_closed_segments_of_older_records_are_left_out(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=3)
    splits, _ = planned(tmp_path, since=START_MS + 60)
    assert {split.base_offset for split in splits} == {40, 80}
    index(tmp_path, ".timeindex").unlink()
    assert {split.base_offset for split in planned(tmp_path, since=START_MS + 60)[0]} == {0, 40, 80}


def test_a_log_begins_where_its_checkpoint_says(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\ntopic 0 33\n")
    assert offsets(planned(tmp_path)[0]) == list(range(33, 80))


def test_a_torn_batch_ends_the_newest_segment_only(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic")
    newest, older = index(tmp_path, ".log", 40), index(tmp_path, ".log")
    newest.write_bytes(newest.read_bytes()[:-5])
    assert offsets(planned(tmp_path)[0]) == list(range(70))
    older.write_bytes(older.read_bytes()[:-5])
    with pytest.raises(PipelineFailure, match=rf"{older}: position \d+, base offset 30: the batch says \d+ bytes"):
        offsets(planned(tmp_path)[0])
    lenient = DamagePolicy(skip_corrupt=True)
    assert offsets(planned(tmp_path)[0], lenient) == [*range(30), *range(40, 70)]
    assert len(lenient.skipped) == 1


@pytest.mark.parametrize(
    ("at", "byte"), [(16, 7), (8, 128), (8, 127), (17, 0)], ids=["magic", "too small", "too large", "crc"]
)
def test_damaged_batches_are_named_or_passed_by(tmp_path: Path, at: int, byte: int) -> None:
    segment = write_batches(tmp_path, "topic", 0, [keyed_records(n * 10, 10) for n in range(3)])
    write_topic(tmp_path / "more", "other")
    data = bytearray(segment.log.read_bytes())
    position = segment.positions[1]
    data[position + at] = byte if byte else data[position + at] ^ 1
    segment.log.write_bytes(data)
    (tmp_path / "topic-0" / f"{30:020}.log").write_bytes(b"")
    splits, _ = planned(tmp_path, max_bytes=1 << 20)
    with pytest.raises(PipelineFailure, match=rf"{segment.log}: position {position}, base offset 10: "):
        offsets(splits)
    lenient = DamagePolicy(skip_corrupt=True)
    found = offsets(splits, lenient)
    assert found[:10] == list(range(10))
    assert not set(found) & set(range(10, 20))
    assert len(lenient.skipped) == 1


def test_a_segment_that_goes_away_is_a_loss(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic")
    splits, _ = planned(tmp_path)
    index(tmp_path, ".log").unlink()
    with pytest.raises(DataLoss, match="deleted while it was to be read"):
        offsets(splits)
    lenient = DamagePolicy(fail_on_data_loss=False)
    assert offsets(splits, lenient) == list(range(40, 80))
    assert lenient.skipped


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4], ids=lambda codec: codec.name)
def test_a_batch_larger_than_a_window_comes_whole(tmp_path: Path, codec: Codec) -> None:
    large = keyed_records(3, 2, value_bytes=3 << 20)
    write_batches(tmp_path, "topic", 0, [keyed_records(0, 3), large, keyed_records(5, 3)], codec=codec)
    assert offsets(planned(tmp_path, max_bytes=1 << 30)[0]) == list(range(8))


@pytest.mark.parametrize("damage", ["cut", "zeros"])
def test_a_time_index_that_is_cut_or_all_zeros_hides_no_rows(tmp_path: Path, damage: str) -> None:
    """Zeros that were allocated ahead were taken for an entry of 1970, and a part of an index for all of it."""
    write_topic(tmp_path, "topic")
    path = tmp_path / "topic-0" / f"{0:020}.timeindex"
    data = path.read_bytes()
    path.write_bytes(data[:12] if damage == "cut" else bytes(len(data)))
    splits, warnings = planned(tmp_path, since=START_MS + 35)
    assert set(range(35, 80)) <= set(offsets(splits))
    assert len(warnings) == (damage == "cut")


def test_the_end_of_a_log_is_behind_its_last_whole_batch(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic")
    (log,) = find_partition_logs(FILES, str(tmp_path))
    assert log_end_offset(FILES, log) == 80
    index(tmp_path, base=40).unlink()
    assert log_end_offset(FILES, log) == 80
    index(tmp_path, ".log", 40).write_bytes(b"")
    (log,) = find_partition_logs(FILES, str(tmp_path))
    assert log_end_offset(FILES, log) == 40


def test_a_log_whose_newest_segment_is_empty_ends_where_that_begins(tmp_path: Path) -> None:
    """Compaction takes the last batches of older segments; the log's end was taken from what it left of them."""
    write_batches(tmp_path, "topic", 0, [keyed_records(0, 10)])
    (tmp_path / "topic-0" / f"{40:020}.log").write_bytes(b"")
    (log,) = find_partition_logs(FILES, str(tmp_path))
    assert log_end_offset(FILES, log) == 40


def test_logs_on_their_way_out_and_internal_ones_are_not_listed(tmp_path: Path) -> None:
    for name in ("kept", "__consumer_offsets"):
        write_topic(tmp_path, name, segments=1)
    (tmp_path / ("gone-0." + "a" * 32 + "-delete")).mkdir()
    assert [log.topic for log in find_partition_logs(FILES, str(tmp_path))] == ["kept"]
    assert [log.topic for log in find_partition_logs(FILES, str(tmp_path), ["__consumer_offsets"])] == [
        "__consumer_offsets"
    ]
    with pytest.raises(BadUsage, match="no such topic: gone"):
        find_partition_logs(FILES, str(tmp_path), ["gone"])


def test_an_index_that_names_first_offsets_of_wrappers_is_right(tmp_path: Path) -> None:
    """Indexes of brokers before 0.11 were called wrong, and each split was planned by reading the segment."""
    batches = [keyed_records(at * 10, 10) for at in range(8)]
    segment = write_batches(tmp_path, "topic", 0, batches, magic=1, codec=Codec.GZIP)
    entries = [pack(">ii", at * 10, position) for at, position in enumerate(segment.positions) if at]
    index(tmp_path).write_bytes(b"".join(entries))
    splits, warnings = planned(tmp_path)
    assert not warnings
    assert len(splits) > 1
    assert offsets(splits) == list(range(80))
    assert offsets(planned(tmp_path, OffsetsToRead(first=25, end=47))[0]) == list(range(25, 47))
