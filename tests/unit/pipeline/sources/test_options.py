"""The options of Spark's Kafka source that a directory has a meaning for, and those that it has none for."""

import re
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.failures import BadUsage
from stepdown.pipeline.reading.splits import Split
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import read_options
from stepdown.pipeline.sources.segments_stream import SegmentsStreamReader
from support.log_directories import write_topic

SCHEMA = StructType([StructField("offset", LongType())])


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    for topic in ("orders", "orders-old", "events", "__internal"):
        write_topic(tmp_path, topic)
    return tmp_path


def planned(log_dir: Path, **options: str) -> list[tuple[Split, ...]]:
    """The splits of each task of a batch query."""
    reader = SegmentsReader(read_options({"path": str(log_dir), **options}), SCHEMA)
    return [task.splits for task in reader.partitions()]


def topics(log_dir: Path, **options: str) -> set[str]:
    return {split.topic for splits in planned(log_dir, **options) for split in splits}


def test_a_pattern_matches_whole_names_of_topics_that_are_not_internal(log_dir: Path) -> None:
    assert topics(log_dir, subscribePattern="orders") == {"orders"}
    assert topics(log_dir, subscribePattern="orders.*|__.*") == {"orders", "orders-old"}
    assert topics(log_dir, subscribePattern=".*") == topics(log_dir) == {"orders", "orders-old", "events"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subscribePattern": "("}, "the option subscribePattern is a regular expression, not '('"),
        ({"subscribePattern": "a", "subscribe": "a"}, "only one is given"),
        ({"assign": '{"a":[0]}', "subscribe": "a"}, "only one is given"),
        ({"minPartitions": "0"}, "the option minPartitions is a number above 0, not '0'"),
        ({"maxTriggerDelay": "soon"}, "the option maxTriggerDelay is a time like 30s or 15m, not 'soon'"),
        ({"groupIdPrefix": "a"}, "no option groupIdPrefix: segments are read from files, no broker is asked"),
        ({"kafka.bootstrap.servers": "a:1"}, "no option kafka.bootstrap.servers: segments are read from files"),
        ({"fetchOffset.numRetries": "1"}, "no option fetchOffset.numRetries: segments are read from files"),
        ({"kafka.isolation.levl": "a"}, "no option kafka.isolation.levl: is kafka.isolation.level meant?"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(BadUsage, match=re.escape(said)):
        read_options({"path": "logs", **given})


def test_the_isolation_level_has_the_name_of_the_connector(log_dir: Path) -> None:
    assert read_options({"path": "logs", "kafka.isolation.level": "read_committed"}).read_committed
    assert read_options({"path": "logs", "isolation.level": "read_committed"}).read_committed


def test_there_are_at_least_as_many_tasks_as_asked_for(log_dir: Path) -> None:
    assert len(planned(log_dir, subscribe="orders")) == 2
    assert len(planned(log_dir, subscribe="orders", minPartitions="5")) >= 5


@pytest.mark.parametrize("most", [7, 10, 80, 1000])
def test_tasks_have_no_more_records_than_asked_for(log_dir: Path, most: int) -> None:
    found = planned(log_dir, subscribe="orders", maxRecordsPerPartition=str(most))
    wanted: set[int] = set()
    for (split,) in found:
        end = min(split.end_offset, split.base_offset + 40)
        offsets = range(max(split.first_offset, split.base_offset), end)
        assert 0 < len(offsets) <= most
        assert not wanted & set(offsets)
        wanted |= set(offsets)
    assert wanted == set(range(80))


def test_a_stream_waits_for_as_many_offsets_as_asked_for(log_dir: Path) -> None:
    now = 0.0
    options = read_options(
        {"path": str(log_dir), "subscribe": "orders", "minOffsetsPerTrigger": "100", "maxTriggerDelay": "1m"}
    )
    stream = SegmentsStreamReader(options, SCHEMA, now_s=lambda: now)
    start, done = {"orders": {"0": 0}}, {"orders": {"0": 80}}
    assert stream.latestOffset(start, ReadAllAvailable()) == done, "the first is not waited for, as in the connector"
    now = 59.0
    assert stream.latestOffset(start, ReadAllAvailable()) == start
    now = 60.0
    assert stream.latestOffset(start, ReadAllAvailable()) == done
    enough = SegmentsStreamReader(read_options({"path": str(log_dir), "minOffsetsPerTrigger": "80"}), SCHEMA)
    assert enough.latestOffset(start, ReadAllAvailable())["orders"] == {"0": 80}
