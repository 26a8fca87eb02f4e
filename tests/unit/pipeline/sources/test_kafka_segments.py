"""`kafka-segments` read by Spark: the same rows whatever is pushed, projected or cut."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType
from stepdown.pipeline.failures import BadUsage, failure_of
from stepdown.pipeline.reading.splits import Split
from stepdown.pipeline.sources.kafka_segments import KafkaSegments, check_columns
from stepdown.pipeline.sources.options import read_options
from stepdown.pipeline.sources.segments_stream import SegmentsStreamReader
from stepdown.pipeline.sources.split_task import MOST_ALONE, make_tasks
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from support.log_directories import keyed_records, write_batches, write_topic
from support.log_variety import write_variety
from support.s3 import s3_server
from support.schema_registry import schema_registry
from support.segments import START_MS
from support.tiered import to_aiven


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log-dir")
    write_topic(folder, "plain", partitions=2, headers=True)
    write_topic(folder, "packed", codec=Codec.ZSTD)
    write_topic(folder, "__internal")
    return folder


def load(spark: SparkSession, log_dir: Path, schema: str | None = None, **options: object) -> DataFrame:
    reader = spark.read.format("kafka-segments").option("path", str(log_dir))
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load() if schema is None else reader.schema(schema).load()


def stored(log_dir: Path, topic: str, partition: int = 0) -> list[Any]:
    return [
        record
        for path in sorted((log_dir / f"{topic}-{partition}").glob("*.log"))
        for batch in iter_batches(path.read_bytes())
        for record in batch.records()
    ]


def failure(query: Callable[[], object]) -> str:
    with pytest.raises(Exception) as raised:
        query()
    found = failure_of(raised.value)
    assert found is not None
    return f"{found.exit_code}: {found}"


def test_rows_are_the_records_with_headers(spark: SparkSession, log_dir: Path) -> None:
    rows = load(spark, log_dir, includeHeaders="true", subscribe="plain").orderBy("partition", "offset").collect()
    found = [(row.topic, row.partition, row.offset, row.key, row.value, row.timestampType, row.headers) for row in rows]
    assert found == [
        (
            "plain",
            partition,
            record.offset,
            record.key,
            record.value,
            0,
            [(name, value) for name, value in record.headers] or None,
        )
        for partition in (0, 1)
        for record in stored(log_dir, "plain", partition)
    ]
    assert rows[3].timestamp.timestamp() == (START_MS + 3) / 1000


def test_splits_and_pushdown_change_nothing_of_the_rows(spark: SparkSession, log_dir: Path) -> None:
    everything = load(spark, log_dir).cache()
    assert everything.count() == 240
    assert {row.topic for row in everything.select("topic").distinct().collect()} == {"plain", "packed"}
    at = F.timestamp_millis(F.lit(START_MS + 37))
    conditions = [
        (F.col("topic") == "plain") & (F.col("partition") == 1) & (F.col("offset") <= 17),
        F.col("topic").isin("packed", "absent") & (F.col("offset") > 41) & (F.col("offset") < 77),
        F.col("partition").isin(0, 7) & F.col("offset").isin(3, 50) & (F.col("timestamp") >= at),
        F.col("key").isNull() & (F.col("offset") >= 20) & (F.col("topic") != "packed") & (F.col("timestamp") < at),
        ((F.col("offset") > 60) | (F.col("partition") == 1)) & (F.col("timestamp") == at),
    ]
    lines = ("topic", "partition", "offset")
    wanted, found = None, None
    for number, condition in enumerate(conditions):
        kept = everything.where(condition).select(F.lit(number).alias("case"), *lines)
        read = (
            load(spark, log_dir, maxPartitionBytes="3000", pushdown="true")
            .where(condition)
            .select(F.lit(number).alias("case"), *lines)
        )
        wanted = kept if wanted is None else wanted.unionAll(kept)
        found = read if found is None else found.unionAll(read)
    assert wanted is not None
    assert found is not None
    assert sorted(map(tuple, found.collect())) == sorted(map(tuple, wanted.collect()))


def test_filters_that_are_taken_over_leave_the_plan(spark: SparkSession, log_dir: Path) -> None:
    frame = load(spark, log_dir, pushdown="true").where(
        "topic = 'plain' AND offset >= 41 AND timestamp > timestamp_millis(0)"
    )
    plan = frame._jdf.queryExecution().executedPlan().toString()
    filters = [line for line in plan.splitlines() if "Filter " in line]
    assert len(filters) == 1
    assert "timestamp" in filters[0]
    assert ">= 41" not in filters[0]
    assert "= plain" not in filters[0]


def test_a_frame_may_be_asked_twice(spark: SparkSession, log_dir: Path) -> None:
    """Spark keeps the filters that a first query pushed: the second had only the rows of the first."""
    frame = load(spark, log_dir, subscribe="plain")
    few, others = frame.where("offset < 3"), frame.where("offset >= 70 AND partition = 1")
    assert few.count() == 6
    assert few.union(others).count() == 16
    assert frame.count() == 160


def test_a_smaller_schema_is_the_projection(spark: SparkSession, log_dir: Path) -> None:
    frame = load(spark, log_dir, "offset bigint, topic string").where("offset = 5 AND topic = 'packed'")
    assert [tuple(row) for row in frame.collect()] == [(5, "packed")]


def test_starting_offsets_leave_out_what_lies_before(spark: SparkSession, log_dir: Path) -> None:
    offsets = '{"plain": {"0": 75, "1": -1}}'
    rows = load(spark, log_dir, subscribe="plain", startingOffsets=offsets).collect()
    assert sorted((row.partition, row.offset) for row in rows) == [(0, offset) for offset in range(75, 80)]


def test_a_range_of_one_partition_is_read_by_one_task(spark: SparkSession, log_dir: Path) -> None:
    ends = {"startingOffsets": '{"plain": {"1": 35}}', "endingOffsets": '{"plain": {"1": 46}}'}
    rows = load(spark, log_dir, assign='{"plain": [1]}', **ends)
    assert sorted((row.partition, row.offset) for row in rows.collect()) == [(1, offset) for offset in range(35, 46)]


def test_tiered_storage_in_a_bucket_is_read_with_a_log_directory(spark: SparkSession, tmp_path: Path) -> None:
    write_topic(tmp_path / "all", "topic", segments=3)
    logs = sorted((tmp_path / "all").rglob("*.log"))
    for number, log in enumerate(logs[:2]):
        to_aiven(log, tmp_path / "tiered", "topic", number, {0: 0}, end_offset=number * 40 + 39)
    write_batches(tmp_path / "local", "topic", 0, [keyed_records(80 + at * 10, 10) for at in range(4)], base=80)
    with s3_server() as server:
        tiered = server.upload(tmp_path / "tiered", "tiered")
        both = load(spark, tmp_path / "local", tieredPath=tiered, **server.spark_options)
        everything = load(spark, tmp_path / "all")
        assert both.count() == 120
        assert both.exceptAll(everything).count() == 0
        batches = spark.read.format("kafka-batches").options(**server.spark_options).load(tiered)
        assert batches.count() == 8


def test_bad_input_is_named_in_one_line(spark: SparkSession, log_dir: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert failure(lambda: load(spark, absent).count()) == f"2: {absent}: no such log directory"
    assert "no such topic: nope" in failure(lambda: load(spark, log_dir, subscribe="nope,plain").count())
    columns = failure(lambda: load(spark, log_dir, "offset bigint, colour string").count())
    assert columns.startswith("2: no column colour: the columns are key, value, topic, partition, offset,")
    write_topic(tmp_path, "broken", segments=1)
    path = tmp_path / "broken-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    text = failure(lambda: load(spark, tmp_path).count())
    assert text.startswith(f"1: {path}: position ")
    assert "base offset 30" in text
    assert "checksum" in text
    assert load(spark, tmp_path, skipCorrupt="true").count() == 30
    assert load(spark, tmp_path, checkCrc="false").count() == 40


def test_batches_are_rows_of_their_headers(spark: SparkSession, log_dir: Path) -> None:
    frame = (
        spark.read.format("kafka-batches")
        .option("path", str(log_dir))
        .load()
        .orderBy("topic", "partition", "baseOffset")
    )
    rows = frame.collect()
    assert len(rows) == 24
    path = log_dir / "packed-0" / f"{40:020}.log"
    batch = list(iter_batches(path.read_bytes()))[1]
    found = [row for row in rows if row.topic == "packed" and row.baseOffset == batch.base_offset]
    assert [row.asDict() for row in found] == [
        {
            "topic": "packed",
            "partition": 0,
            "segment": 40,
            "position": found[0].position,
            "size": batch.size_bytes,
            "magic": 2,
            "codec": "zstd",
            "baseOffset": 50,
            "lastOffset": 59,
            "records": 10,
            "timestampType": 0,
            "maxTimestamp": found[0].maxTimestamp,
            "producerId": -1,
            "transactional": False,
            "control": False,
        }
    ]
    assert found[0].maxTimestamp.timestamp() == batch.max_timestamp / 1000


def test_read_committed_leaves_out_what_was_aborted_and_what_is_open(spark: SparkSession, tmp_path: Path) -> None:
    """A third of the records is of a transaction that was aborted, and one is open when the log ends."""
    write_variety(tmp_path)
    options = {"subscribe": "transactions", "isolation.level": "read_committed"}
    assert [row.offset for row in load(spark, tmp_path, **options).orderBy("offset").collect()] == [0, 1, 2]
    latest = load(spark, tmp_path, startingOffsets='{"transactions": {"0": -1}}', **options)
    assert latest.count() == 0
    stream = SegmentsStreamReader(read_options({"path": str(tmp_path), **options}), StructType([]))
    start = stream.initialOffset()
    assert stream.latestOffset(start, ReadAllAvailable()) == {"transactions": {"0": 8}}
    batches = spark.read.format("kafka-batches").options(path=str(tmp_path), **options).load()
    assert [(row.baseOffset, row.control) for row in batches.orderBy("baseOffset").collect()] == [
        (0, False),
        (6, True),
        (7, True),
    ]
    said = failure(lambda: load(spark, tmp_path, **{"isolation.level": "serializable"}).count())
    assert said == "2: the option isolation.level is read_uncommitted or read_committed, not 'serializable'"


def test_values_are_decoded_by_the_schemas_of_a_registry(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with schema_registry() as registry:
        schema_id = registry.register(
            "orders-value", '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'
        )
        options = {"subscribe": "orders", "valueFormat": "avro", "valueRegistryUrl": registry.url}
        head = b"\0" + schema_id.to_bytes(4, "big")
        values = [head + b"\x06", None, b"broken", head + b"\x01"]
        records = [replace(each, value=value) for each, value in zip(keyed_records(0, 4), values, strict=True)]
        write_batches(tmp_path, "orders", 0, [records], codec=Codec.ZSTD)
        frame = load(spark, tmp_path, **options)
        assert frame.columns[-2:] == ["value_decoded", "value_error"]
        reason = "ValueError: the value does not begin with magic byte 0 and a schema id"
        wanted = [(0, '{"n": 3}', None), (1, None, None), (2, None, reason), (3, '{"n": -1}', None)]
        found = frame.select("offset", "value_decoded", "value_error").orderBy("offset").collect()
        assert [tuple(row) for row in found] == wanted
        asked = len(registry.asked)
        some = load(spark, tmp_path, "value_error string, offset bigint", **options).where("value_error IS NOT NULL")
        assert [tuple(row) for row in some.collect()] == [(reason, 2)]
        assert len(registry.asked) > asked
        asked = len(registry.asked)
        assert load(spark, tmp_path, "offset bigint", **options).count() == 4
        assert len(registry.asked) == asked, "no column asked for them"
        stream = KafkaSegments({"path": str(tmp_path), **options}).streamReader(frame.select("value_decoded").schema)
        (split,) = stream.partitions({}, {"orders": {"0": 4}})
        assert [text for batch in stream.read(split) for text in batch.column(0).to_pylist()] == [
            text for _, text, _ in wanted
        ]
        assert f"1 of 3 values not decoded, the first: {reason}" in capsys.readouterr().err
    with pytest.raises(BadUsage, match="no column value_decoded"):
        check_columns(frame.schema, read_options({"path": str(tmp_path)}))


def test_nothing_to_read_is_no_rows_and_no_logs_is_bad_usage(spark: SparkSession, tmp_path: Path) -> None:
    """Both were an AssertionError without a word, since Spark makes a task of nothing where there is none."""
    said = failure(lambda: load(spark, tmp_path).count())
    assert said == f"2: {tmp_path}: no logs here: a log directory has a folder a partition, such as orders-0"
    (tmp_path / "empty-0").mkdir()
    assert failure(lambda: load(spark, tmp_path).count()).startswith("1: empty-0: the partition has no segment files")
    (tmp_path / "empty-0" / f"{0:020}.log").touch()
    assert load(spark, tmp_path).count() == 0
    assert spark.read.format("kafka-batches").load(str(tmp_path)).count() == 0


def test_many_small_segments_share_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """A hundred thousand of them were as many tasks."""
    segments = MOST_ALONE + 200
    for number in range(segments):
        write_batches(tmp_path, "topic", 0, [keyed_records(number * 2, 2)], base=number * 2)
    rows = load(spark, tmp_path).select("offset")
    assert rows.rdd.getNumPartitions() < 10
    assert sorted(row.offset for row in rows.collect()) == list(range(segments * 2))
    batches = spark.read.format("kafka-batches").load(str(tmp_path)).select("baseOffset")
    assert sorted(row.baseOffset for row in batches.collect()) == list(range(0, segments * 2, 2))


def test_tasks_are_as_large_as_they_may_be() -> None:
    split = Split(topic="t", partition=0, path="", base_offset=0, start=0, end=10_000, first_offset=0, end_offset=1)
    large = replace(split, end=5_000_000)
    few = [split] * MOST_ALONE
    assert [task.splits for task in make_tasks(few, 1_000_000)] == [(split,)] * MOST_ALONE
    many = [large] * 3 + few
    shared = make_tasks(many, 1_000_000)
    assert [each for task in shared for each in task.splits] == many
    assert [len(task.splits) for task in shared[:5]] == [1, 1, 1, 13, 13]
