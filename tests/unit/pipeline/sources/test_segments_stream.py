"""`kafka-segments` as a stream: every row once, in bounded steps, over restarts and new partitions."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType
from stepdown.pipeline.failures import BadUsage, DataLoss, failure_of
from stepdown.pipeline.reading.splits import Split
from stepdown.pipeline.sources.options import read_options
from stepdown.pipeline.sources.segments_stream import SegmentsStreamReader
from stepdown.protocol.records.builder import build_batch
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.files.clock import SystemClock
from stepdown.storage.files.files import Files
from stepdown.storage.log.log_config import FOREVER, LogConfig
from support.log_directories import keyed_records, write_batches, write_topic


def splits(partitions: Sequence[InputPartition]) -> list[Split]:
    """All splits of the tasks."""
    return [split for task in partitions for split in task.splits]  # type: ignore[attr-defined]


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
    (split,) = splits(stream.partitions(before, after))
    assert (split.partition, split.first_offset, split.end_offset) == (1, 5, 15)


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
    assert {split.first_offset for split in splits(lenient.partitions(start, end))} == {33}
    with pytest.raises(DataLoss, match="offset 90 was there before, the log ends at 80"):
        reader(tmp_path).latestOffset({"topic": {"0": 90}}, ReadAllAvailable())
    with pytest.raises(DataLoss, match="gone"):
        reader(tmp_path).latestOffset({"topic": {"0": 80}, "other": {"0": 3}}, ReadAllAvailable())


def test_a_batch_that_is_made_again_is_whole_or_a_loss(tmp_path: Path) -> None:
    """After a restart Spark asks for a batch's rows by its offsets alone; a log that was cut gave fewer rows."""
    write_topic(tmp_path, "topic", segments=1)
    stream = reader(tmp_path)
    with pytest.raises(DataLoss, match="offset 80 was there before, the log ends at 40"):
        stream.partitions({"topic": {"0": 0}}, {"topic": {"0": 80}})
    with pytest.raises(DataLoss, match="other-0: offset 5 was there before, the log is gone"):
        stream.partitions({"topic": {"0": 0}}, {"topic": {"0": 40}, "other": {"0": 5}})
    lenient = reader(tmp_path, failOnDataLoss="false")
    assert len(lenient.partitions({"topic": {"0": 0}}, {"topic": {"0": 80}, "other": {"0": 5}})) == 1


def test_without_fail_on_data_loss_lost_logs_are_forgotten_and_shorter_ones_go_on(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=1)
    stream = reader(tmp_path, failOnDataLoss="false", subscribe="topic,other")
    before = {"topic": {"0": 90}, "other": {"0": 7}}
    for limit in (ReadAllAvailable(), ReadMaxRows(5)):
        assert stream.latestOffset(before, limit) == {"topic": {"0": 40}}
    write_batches(tmp_path, "topic", 0, [keyed_records(40, 10)], base=40)
    write_batches(tmp_path, "other", 0, [keyed_records(0, 10)])
    after = stream.latestOffset({"topic": {"0": 40}}, ReadAllAvailable())
    assert after == {"topic": {"0": 50}, "other": {"0": 10}}
    found = {(split.topic, split.first_offset) for split in splits(stream.partitions({"topic": {"0": 40}}, after))}
    assert found == {("topic", 40), ("other", 0)}


def test_a_topic_that_never_was_is_named(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=1)
    stream = reader(tmp_path, subscribe="topic,typo")
    with pytest.raises(BadUsage, match="no such topic: typo"):
        stream.initialOffset()
    with pytest.raises(BadUsage, match="no such topic: typo"):
        stream.latestOffset({"topic": {"0": 3}}, ReadAllAvailable())


TOO_LATE = "Timed out while waiting for the Python worker to connect back"
"""Spark waits ten seconds for the Python process of a stream's source, whatever is set; nothing has run by then."""
TRIES = 5


class Query:
    """A streaming query into a Parquet directory; each `run` is a restart from its checkpoint that ends by itself."""

    def __init__(self, spark: SparkSession, log_dir: Path, folder: Path) -> None:
        self.checkpoint = folder / "checkpoint"
        self._spark = spark
        self._log_dir = log_dir
        self._sink = folder / "sink"

    def start(self, options: dict[str, str], *, once: bool) -> StreamingQuery:
        """A query that has taken what was there, or if it is to end, has ended."""
        for left in reversed(range(TRIES)):
            query = self._start(options, once=once)
            try:
                query.awaitTermination() if once else query.processAllAvailable()
            except StreamingQueryException as error:
                if left and TOO_LATE in str(error):
                    continue
                raise
            break
        return query

    def _start(self, options: dict[str, str], *, once: bool) -> StreamingQuery:
        source = self._spark.readStream.format("kafka-segments").option("path", str(self._log_dir))
        frame = source.options(**options).load().select("topic", "partition", "offset")
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))
        return (writer.trigger(availableNow=True) if once else writer).start(str(self._sink))

    def run(self, **options: str) -> list[int]:
        """The rows of each batch."""
        progress = self.start(options, once=True).recentProgress
        return [step["numInputRows"] for step in progress if step["numInputRows"]]

    def fail(self, **options: str) -> str:
        """What it says when it fails."""
        with pytest.raises(StreamingQueryException) as raised:
            self.run(**options)
        return str(failure_of(raised.value))

    def rows(self) -> list[tuple[str, int, int]]:
        return sorted(map(tuple, self._spark.read.parquet(str(self._sink)).collect()))


def test_a_query_reads_every_row_once_over_restarts_and_tells_of_lost_ones(spark: SparkSession, tmp_path: Path) -> None:
    log_dir = tmp_path / "log-dir"
    write_topic(log_dir, "topic", segments=1)
    query = Query(spark, log_dir, tmp_path)
    assert query.run(maxOffsetsPerTrigger="30") == [30, 10]
    write_batches(log_dir, "topic", 0, [keyed_records(40, 30)], base=40)
    write_batches(log_dir, "topic", 1, [keyed_records(5, 10)], base=5)
    (log_dir / "log-start-offset-checkpoint").write_text("0\n1\ntopic 0 50\n")
    assert "topic-0: offsets 40 to 49 are missing: offset 40 was asked for, the log starts at 50" in query.fail(
        maxOffsetsPerTrigger="30"
    )
    assert sum(query.run(maxOffsetsPerTrigger="30", failOnDataLoss="false")) == 30
    old = [("topic", 0, offset) for offset in [*range(40), *range(50, 70)]]
    assert query.rows() == old + [("topic", 1, offset) for offset in range(5, 15)]


def test_a_query_keeps_up_with_a_log_that_grows(spark: SparkSession, tmp_path: Path) -> None:
    """Segments roll under it; their indexes are those of an open log."""
    config = LogConfig(segment_bytes=3000, index_interval_bytes=500, retention_ms=-1, segment_ms=FOREVER)
    log_manager = LogManager([str(tmp_path / "log-dir")], Files(), SystemClock(), config)
    log = log_manager.create("topic", 0, None)
    log.append_as_follower(build_batch(keyed_records(0, 10)))
    query = Query(spark, tmp_path / "log-dir", tmp_path)
    running = query.start({"maxOffsetsPerTrigger": "70"}, once=False)
    try:
        for first in range(10, 200, 10):
            log.append_as_follower(build_batch(keyed_records(first, 10)))
        running.processAllAvailable()
        log.append_as_follower(build_batch(keyed_records(200, 10)))
        running.processAllAvailable()
    finally:
        running.stop()
        log_manager.shutdown()
    assert len(log.segments) > 2
    assert query.rows() == [("topic", 0, offset) for offset in range(210)]
