"""Offsets that no file has: with failOnDataLoss an error when the query is planned, without it a line."""

from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.failures import DataLoss
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import ReadOptions, read_options
from stepdown.pipeline.sources.segments_stream import SegmentsStreamReader
from support.log_directories import write_topic

SCHEMA = StructType([StructField("offset", LongType())])


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    write_topic(tmp_path, "topic", segments=3, partitions=2)
    return tmp_path


def options(log_dir: Path, *, fail: bool) -> ReadOptions:
    return read_options({"path": str(log_dir), "failOnDataLoss": str(fail).lower()})


def empty(log_dir: Path) -> None:
    (log_dir / "topic-1" / f"{40:020}.log").write_bytes(b"")


def test_a_batch_query_is_not_planned_over_an_empty_segment(log_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was fewer rows, without a word."""
    empty(log_dir)
    with pytest.raises(DataLoss, match=r"topic-1: offsets 40 to 79 are missing: .*00040.log is empty"):
        SegmentsReader(options(log_dir, fail=True), SCHEMA).partitions()
    assert len(SegmentsReader(options(log_dir, fail=False), SCHEMA).partitions()) == 5
    assert "lost: topic-1: offsets 40 to 79 are missing" in capsys.readouterr().err


def test_a_stream_misses_what_was_lost_between_two_runs(log_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = {"topic": {"0": 120, "1": 40}}
    empty(log_dir)
    strict = SegmentsStreamReader(options(log_dir, fail=True), SCHEMA)
    end = strict.latestOffset(start, ReadAllAvailable())
    assert end == {"topic": {"0": 120, "1": 120}}
    with pytest.raises(DataLoss, match="topic-1: offsets 40 to 79 are missing"):
        strict.partitions(start, end)
    lenient = SegmentsStreamReader(options(log_dir, fail=False), SCHEMA)
    assert len(lenient.partitions(start, end)) == 1
    assert "lost: topic-1: offsets 40 to 79 are missing" in capsys.readouterr().err


def test_a_stream_that_goes_on_without_a_partition_says_so(log_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A partition that was gone was forgotten without a word."""
    for path in (log_dir / "topic-1").iterdir():
        path.unlink()
    (log_dir / "topic-1").rmdir()
    lenient = SegmentsStreamReader(options(log_dir, fail=False), SCHEMA)
    assert lenient.latestOffset({"topic": {"0": 7, "1": 9}}, ReadAllAvailable()) == {"topic": {"0": 120}}
    assert "topic-1: offset 9 was there before, the log is gone" in capsys.readouterr().err


def test_a_partition_without_files_is_a_loss_but_for_a_stream_one_that_is_being_made(log_dir: Path) -> None:
    for path in (log_dir / "topic-1").iterdir():
        path.unlink()
    with pytest.raises(DataLoss, match="topic-1: the partition has no segment files"):
        SegmentsReader(options(log_dir, fail=True), SCHEMA).partitions()
    stream = SegmentsStreamReader(options(log_dir, fail=True), SCHEMA)
    assert stream.latestOffset({}, ReadAllAvailable()) == {"topic": {"0": 120}}
