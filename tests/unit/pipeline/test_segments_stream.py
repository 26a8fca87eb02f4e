"""`kafka-segments` as a stream: every row once, in bounded steps, over restarts and new partitions."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType
from stepdown.pipeline.reading.rows import DataLoss
from stepdown.pipeline.sources.options import read_options
from stepdown.pipeline.sources.stream import SegmentsStreamReader
from support.log_directories import keyed_records, write_batches, write_topic


def reader(log_dir: Path, **options: str) -> SegmentsStreamReader:
    return SegmentsStreamReader(read_options({"path": str(log_dir), **options}), StructType([]))


def test_offsets_name_the_next_to_read_of_each_partition(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", partitions=2)
    stream = reader(tmp_path)
    assert stream.initialOffset() == {"topic": {"0": 0, "1": 0}}
    assert stream.latestOffset(stream.initialOffset(), ReadAllAvailable()) == {"topic": {"0": 80, "1": 80}}
    assert reader(tmp_path, startingOffsets="latest").initialOffset() == {"topic": {"0": 80, "1": 80}}
    named = reader(tmp_path, startingOffsets='{"topic": {"1": 17}}')
    assert named.initialOffset() == {"topic": {"0": 0, "1": 17}}


def test_a_limit_is_shared_out_by_how_far_each_partition_is_behind(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", partitions=2)
    stream = reader(tmp_path, maxOffsetsPerTrigger="30")
    assert stream.getDefaultReadLimit() == ReadMaxRows(30)
    assert stream.latestOffset({"topic": {"0": 60, "1": 40}}, ReadMaxRows(30)) == {"topic": {"0": 70, "1": 60}}
    assert stream.latestOffset({"topic": {"0": 79, "1": 79}}, ReadMaxRows(1)) == {"topic": {"0": 80, "1": 79}}
    done = {"topic": {"0": 80, "1": 80}}
    assert stream.latestOffset(done, ReadMaxRows(30)) == done
    assert list(stream.partitions(done, done)) == []


def test_a_new_partition_starts_at_its_earliest_offset(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic")
    stream = reader(tmp_path)
    before = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    write_batches(tmp_path, "topic", 1, [keyed_records(5, 10)], base=5)
    after = stream.latestOffset(before, ReadAllAvailable())
    assert after == {"topic": {"0": 80, "1": 15}}
    (task,) = stream.partitions(before, after)
    assert (task.split.partition, task.split.first_offset, task.split.end_offset) == (1, 5, 15)  # type: ignore[attr-defined]


def test_available_now_ends_at_what_was_there(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=1)
    stream = reader(tmp_path)
    stream.prepareForTriggerAvailableNow()
    write_batches(tmp_path, "topic", 0, [keyed_records(40, 10)], base=40)
    assert stream.latestOffset(stream.initialOffset(), ReadAllAvailable()) == {"topic": {"0": 40}}


def test_offsets_that_are_gone_are_a_loss(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\ntopic 0 33\n")
    start, end = {"topic": {"0": 10}}, {"topic": {"0": 80}}
    with pytest.raises(DataLoss, match="offset 10 was asked for, the log starts at 33"):
        reader(tmp_path).partitions(start, end)
    lenient = reader(tmp_path, failOnDataLoss="false")
    assert {task.split.first_offset for task in lenient.partitions(start, end)} == {33}  # type: ignore[attr-defined]
    with pytest.raises(DataLoss, match="offset 90 was read before, the log ends at 80"):
        reader(tmp_path).latestOffset({"topic": {"0": 90}}, ReadAllAvailable())
    with pytest.raises(DataLoss, match="gone"):
        reader(tmp_path).latestOffset({"topic": {"0": 80}, "other": {"0": 3}}, ReadAllAvailable())


def test_a_query_reads_every_row_once_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    log_dir, sink = tmp_path / "log-dir", tmp_path / "sink"
    write_topic(log_dir, "topic", segments=1)

    def run() -> int:
        source = spark.readStream.format("kafka-segments").option("path", str(log_dir))
        frame = source.option("maxOffsetsPerTrigger", "40").load()
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(sink))
        query.awaitTermination()
        return query.lastProgress.batchId if query.lastProgress else -1

    assert run() == 0
    write_batches(log_dir, "topic", 0, [keyed_records(40, 30)], base=40)
    run()
    offsets = [row.offset for row in spark.read.parquet(str(sink)).select("offset").collect()]
    assert sorted(offsets) == list(range(70))
