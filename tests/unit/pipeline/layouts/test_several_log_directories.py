"""The log directories of one broker, read as one: `path` is what `log.dirs` was."""

from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.failures import BadUsage, DataLoss, PipelineFailure
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles, join_places, split_places
from stepdown.pipeline.reading.partition_segments import PartitionSegments
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import read_options
from stepdown.storage.directories.log_move import MOVED_MARK
from stepdown.storage.files.checkpoint_file import LOG_STARTS, RECOVERY_POINTS
from support.log_directories import write_topic

FILES = PlaceFiles()
OFFSETS = StructType([StructField("offset", LongType())])


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    """Partition 1 in the second one, 0 and 2 in the first."""
    first, second = tmp_path / "a", tmp_path / "b"
    write_topic(first, "topic", partitions=3)
    second.mkdir()
    (first / "topic-1").rename(second / "topic-1")
    return [first, second]


def logs(directories: list[Path], **more: str) -> list[PartitionSegments]:
    return read_options({"path": ",".join(map(str, directories))} | more).logs(FILES)


def test_they_are_read_as_one(directories: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert [(log.partition, Path(log.directory).parent.name) for log in logs(directories)] == [
        (0, "a"),
        (1, "b"),
        (2, "a"),
    ]
    assert not capsys.readouterr().err  # no partition is said to be at another broker
    assert [log.partition for log in logs(directories[:1])] == [0, 2]
    assert "topic-1 not here, only higher partitions" in capsys.readouterr().err


def test_a_partition_in_two_of_them_is_an_error(directories: list[Path]) -> None:
    """As for a broker, which does not start. Both would be read, every offset twice."""
    write_topic(directories[1], "topic")
    with pytest.raises(PipelineFailure, match=r"topic-0 is in two folders, .*/a/topic-0 and .*/b/topic-0: no broker"):
        logs(directories)
    (directories[1] / "topic-0").rename(directories[1] / f"topic-0.{'0' * 32}-future")
    assert len(logs(directories)) == 3


@pytest.mark.parametrize("old", [0, 1])
def test_of_a_log_that_a_broker_died_in_moving_the_new_one_counts(
    directories: list[Path], old: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for the broker that moved it."""
    write_topic(directories[1], "topic")
    (directories[old] / "topic-0" / MOVED_MARK).write_text(str(directories[1 - old] / "topic-0"))
    (log, *_) = logs(directories)
    assert Path(log.directory).parent == directories[1 - old]
    assert f"topic-0: left out, a broker has moved it to {directories[1 - old]}/topic-0" in capsys.readouterr().err


def test_one_that_is_named_twice_is_an_error(directories: list[Path]) -> None:
    first, second = directories
    with pytest.raises(BadUsage, match="named twice"):
        logs([first, second, first.parent / "b" / ".." / "a"])
    with pytest.raises(BadUsage, match="c: no such log directory"):
        logs([first, first.parent / "c"])


def test_a_partition_is_missed_where_none_of_them_has_it(directories: list[Path]) -> None:
    """The first directory has had partition 1 before it was moved to the second by hand."""
    for path in directories:
        (path / RECOVERY_POINTS).write_text("0\n2\ntopic 0 80\ntopic 1 80\n")
    assert len(logs(directories)) == 3
    (directories[1] / "topic-1").rename(directories[1].parent / "lost")
    (directories[1] / "other-0").mkdir()
    options = read_options({"path": ",".join(map(str, directories)), "subscribe": "topic"})
    with pytest.raises(DataLoss, match="topic-1: the partition has no folder here"):
        SegmentsReader(options, OFFSETS).partitions()


def test_each_has_log_start_offsets_of_its_own(directories: list[Path]) -> None:
    (directories[1] / LOG_STARTS).write_text("0\n1\ntopic 1 7\n")
    assert [log.start_offset for log in logs(directories)] == [0, 7, 0]


def test_places_with_a_comma_are_named_by_a_uri() -> None:
    assert split_places("/a, s3://bucket/b/ ,file:///c%2Cd") == ("/a", "s3://bucket/b", "/c,d")
    assert split_places(join_places(("/a", "/c,d %41"))) == ("/a", "/c,d %41")


def test_partitions_are_found_in_any_order_of_the_directories(directories: list[Path]) -> None:
    first, second = map(str, directories)
    there = find_partition_logs(FILES, first, beside=[second])
    assert there == find_partition_logs(FILES, second, beside=[first])
