"""Offsets that no file has: with failOnDataLoss an error when the query is planned, without it a line."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.archive.log_archive import LogArchive, find_new_offsets
from stepdown.pipeline.failures import BadUsage, DataLoss
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.log_losses import find_lost_log_or_tail
from stepdown.pipeline.sources.kafka_batches import BatchesReader
from stepdown.pipeline.sources.kafka_segments import DAMAGED, SegmentsReader
from stepdown.pipeline.sources.options import BATCH_OPTIONS, ReadOptions, read_options
from stepdown.pipeline.sources.segments_stream import SegmentsStreamReader
from support.log_directories import write_topic

SCHEMA = StructType([StructField("offset", LongType())])
DAMAGE_SCHEMA = StructType([*SCHEMA, *(StructField(name, kind) for name, kind in DAMAGED.items())])
BATCH_SCHEMA = StructType([StructField("position", LongType())])


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


RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"


def note(log_dir: Path, name: str, offsets: dict[int, int]) -> None:
    """Write a checkpoint that names partitions of `topic`."""
    lines = [f"topic {partition} {offset}" for partition, offset in offsets.items()]
    (log_dir / name).write_text("\n".join(["0", str(len(lines)), *lines, ""]))


def remove(log_dir: Path, partition: int) -> None:
    shutil.rmtree(log_dir / f"topic-{partition}")


@pytest.mark.parametrize("name", [RECOVERY_POINTS, HIGH_WATERMARKS])
@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_a_partition_whose_folder_is_gone_is_missed(
    log_dir: Path, name: str, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A batch query had fewer rows, without a word."""
    note(log_dir, name, {0: 120, 1: 120, 2: 0})
    remove(log_dir, 1)
    told = f"topic-1: the partition has no folder here, and {name} names it"
    given = {"path": str(log_dir), "isolation.level": level}
    for planned in (
        SegmentsReader(read_options(given), SCHEMA).partitions,
        BatchesReader(read_options(given, BATCH_OPTIONS), BATCH_SCHEMA).partitions,
        lambda: SegmentsStreamReader(read_options(given), SCHEMA).latestOffset({}, ReadAllAvailable()),
        lambda: find_new_offsets(PlaceFiles(), archive_of(given), read_options(given).logs(PlaceFiles()), {}),
    ):
        with pytest.raises(DataLoss, match=told):
            planned()
    lenient = given | {"failOnDataLoss": "false"}
    assert [task.losses for task in SegmentsReader(read_options(lenient), SCHEMA).partitions()] == [()] * 3
    assert f"lost: {told}" in capsys.readouterr().err
    (*_, last) = SegmentsReader(read_options(lenient), DAMAGE_SCHEMA).partitions()
    assert [(loss.kind, loss.partition, loss.end_offset) for loss in last.losses] == [("missing", 1, 120)]


def archive_of(given: dict[str, str]) -> LogArchive:
    return LogArchive(options=read_options(given), out="unused", format="parquet", file_bytes=1 << 20)


@pytest.mark.parametrize("suffix", ["delete", "future", "stray"])
def test_a_partition_that_was_given_up_is_not_missed(log_dir: Path, suffix: str) -> None:
    note(log_dir, RECOVERY_POINTS, {0: 120, 1: 120})
    (log_dir / "topic-1").rename(log_dir / f"topic-1.{'0' * 32}-{suffix}")
    assert len(SegmentsReader(options(log_dir, fail=True), SCHEMA).partitions()) == 3


def test_high_watermarks_of_a_topic_of_long_ago_miss_nothing(log_dir: Path) -> None:
    """Kafka writes no such file for a directory that has no partition left."""
    note(log_dir, RECOVERY_POINTS, {0: 120, 1: 120})
    note(log_dir, HIGH_WATERMARKS, {0: 120, 1: 120, 7: 5})
    assert len(SegmentsReader(options(log_dir, fail=True), SCHEMA).partitions()) == 6


def test_a_topic_deleted_before_a_broker_of_old_died_is_told_and_not_missed(
    log_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka before 1.1 names it in the recovery points for a minute more: reading a sound directory failed."""
    note(log_dir, RECOVERY_POINTS, {0: 120, 1: 120, 2: 120})
    note(log_dir, HIGH_WATERMARKS, {0: 120, 1: 120})
    assert len(SegmentsReader(options(log_dir, fail=True), SCHEMA).partitions()) == 6
    assert f"topic-2 not here; {RECOVERY_POINTS} names it and {HIGH_WATERMARKS} does not" in capsys.readouterr().err
    remove(log_dir, 0)
    with pytest.raises(DataLoss, match="topic-0: the partition has no folder here"):
        SegmentsReader(options(log_dir, fail=True), SCHEMA).partitions()


@pytest.mark.parametrize("kept", [(), ("__consumer_offsets-3",)])
def test_checkpoints_of_a_directory_without_a_partition_miss_nothing(
    log_dir: Path, kept: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka before 2.8 does not write them again where no partition is left."""
    note(log_dir, RECOVERY_POINTS, {0: 120, 1: 120})
    note(log_dir, HIGH_WATERMARKS, {0: 120, 1: 120})
    remove(log_dir, 0)
    remove(log_dir, 1)
    for name in kept:
        (log_dir / name).mkdir()
    failure = (DataLoss, "topic-0: the partition has no folder here") if kept else (BadUsage, "no logs here")
    with pytest.raises(failure[0], match=failure[1]):
        SegmentsReader(options(log_dir, fail=True), SCHEMA).partitions()
    told = f"has no partition, and {RECOVERY_POINTS} names topic-0, topic-1: deleted, moved or lost"
    assert (told in capsys.readouterr().err) is not bool(kept)


@pytest.mark.parametrize(
    ("knows", "is_lost"), [("neither", False), ("that the broker stopped cleanly", True), ("the id of the topic", True)]
)
def test_a_topic_made_again_before_a_broker_of_old_died_has_not_the_recovery_point_of_the_old_one(
    log_dir: Path, knows: str, is_lost: bool
) -> None:
    """Reading the new topic failed: its log was said to have ended where the old one's did."""
    note(log_dir, RECOVERY_POINTS, {0: 120, 1: 500})
    note(log_dir, HIGH_WATERMARKS, {0: 120, 1: 119})
    if knows == "that the broker stopped cleanly":
        (log_dir / ".kafka_cleanshutdown").touch()
    elif knows == "the id of the topic":
        (log_dir / "topic-1" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    (_, log) = read_options({"path": str(log_dir)}).logs(PlaceFiles())
    assert [loss.end_offset for loss in find_lost_log_or_tail(PlaceFiles(), log)] == [500] * is_lost


def test_a_hole_between_partitions_is_a_line_where_nothing_says_whose_they_are(
    log_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log_dir / "topic-1").rename(log_dir / "topic-9")
    assert len(SegmentsReader(options(log_dir, fail=True), SCHEMA).partitions()) == 6
    said = "topic-1, topic-2, topic-3, topic-4, topic-5 and 3 more not here, only higher partitions"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("source", ["read_committed", "kafka-batches", "stream", "archive"])
def test_a_log_that_ends_before_its_recovery_point_is_told(
    log_dir: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where reading ends at an offset that was looked up before, the end that is missing was not."""
    note(log_dir, RECOVERY_POINTS, {0: 120, 1: 130})
    given = {"path": str(log_dir), "isolation.level": "read_uncommitted" if source == "archive" else "read_committed"}
    told = f"topic-1: offsets 120 to 129 are missing: {RECOVERY_POINTS} says that the log had them"

    def plan(**more: str) -> object:
        if source == "kafka-batches":
            return BatchesReader(read_options(given | more, BATCH_OPTIONS), BATCH_SCHEMA).partitions()
        options = read_options(given | more)
        if source == "archive":
            return find_new_offsets(PlaceFiles(), archive_of(given), options.logs(PlaceFiles()), {})
        if source == "stream":
            stream = SegmentsStreamReader(options, DAMAGE_SCHEMA)
            end = stream.latestOffset({}, ReadAllAvailable())
            return stream.partitions({}, end)
        return SegmentsReader(options, DAMAGE_SCHEMA).partitions()

    with pytest.raises(DataLoss, match=told):
        plan()
    if source != "archive":
        plan(failOnDataLoss="false")
        assert f"lost: {told}" in capsys.readouterr().err
