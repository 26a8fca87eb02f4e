"""`kafka-segments` as a sink: what was written reads back as it was given, or nothing was written."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType
from stepdown.pipeline.failures import BadUsage, PipelineFailure, failure_of
from stepdown.pipeline.sources.kafka_segments import KafkaSegments
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.files.files import Files
from support.arrow_rows import rows, write, writer
from support.clock import ManualClock
from support.log_directories import write_topic
from support.log_variety import write_variety

MAGICS_AND_CODECS = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec is not Codec.ZSTD]
COLUMNS = [StructField("topic", StringType()), StructField("partition", IntegerType())]


def stored(log_dir: Path) -> list[Record]:
    return [
        record
        for path in sorted(log_dir.glob("*/*.log"))
        for found in iter_batches(path.read_bytes())
        for record in found.records()
    ]


def test_offsets_are_kept_or_given_and_rows_without_time_get_that_of_the_write(tmp_path: Path) -> None:
    first = rows(("a", 0, 5, b"five"), ("a", 0, None, b"six"))
    write(writer(tmp_path), [first, rows(("b", 1, None, None), ("a", 0, 9, b"nine"))])
    found = stored(tmp_path)
    assert [(record.offset, record.key, record.value) for record in found] == [
        (5, b"five", None),
        (6, b"six", None),
        (9, b"nine", None),
        (0, None, None),
    ]
    assert (tmp_path / "a-0" / f"{5:020}.log").exists()
    assert len({record.timestamp for record in found}) == 1


def test_topics_with_long_names_do_not_meet_on_the_way(tmp_path: Path) -> None:
    """The names of folders to be deleted are cut to what a file system takes."""
    topics = ["t" * 248 + end for end in "ab"]
    write(writer(tmp_path), [rows(*((topic, 0, 0, topic[-1:].encode()) for topic in topics))])
    assert [record.key for record in stored(tmp_path)] == [b"a", b"b"]


@pytest.mark.parametrize(
    ("names", "row", "reason"),
    [
        ("topic partition", (None, 0), "a row has no topic"),
        ("topic partition", ("../up", 0), "topic name '../up' has other characters"),
        ("topic partition", ("a", None), "topic a has partition None"),
        ("topic partition", ("a", -1), "topic a has partition -1"),
        ("topic partition offset", ("a", 0, -1), "a-0 has offset -1"),
        ("topic partition", ("__cluster_metadata", 0), "no log that is written from outside"),
        ("topic partition timestampType", ("a", 0, 2), "timestampType 2"),
        ("topic partition timestamp", ("a", 0, -5000), "a-0: negative timestamp -5"),
        ("topic partition headers", ("a", 0, [{"key": None, "value": b""}]), "a header has no key"),
    ],
)
def test_a_row_that_no_log_can_hold_is_named(tmp_path: Path, names: str, row: Sequence[object], reason: str) -> None:
    job = writer(tmp_path)
    with pytest.raises(PipelineFailure, match=reason):
        job.write(iter([rows(row, names=names)]))
    job.abort([None])
    assert not list(tmp_path.glob("*/*"))


def test_headers_below_magic_2_and_unsorted_offsets_are_refused(tmp_path: Path) -> None:
    headers = rows(("a", 0, [{"key": "k", "value": None}]), names="topic partition headers")
    with pytest.raises(PipelineFailure, match="a-0: magic 1 has no headers"):
        writer(tmp_path, magic="1").write(iter([headers]))
    with pytest.raises(PipelineFailure, match=r"a-0: offset 4 comes after 4; .* sortWithinPartitions|a-0: offset 4"):
        writer(tmp_path).write(iter([rows(("a", 0, 4, b""), ("a", 0, 4, b""))]))
    with pytest.raises(PipelineFailure, match=r"a-0: a record set of \d+ bytes, segment.bytes is 100"):
        writer(tmp_path, segmentBytes="100").write(iter([rows(("a", 0, 0, b"k" * 200))]))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"magic": "3"}, "the option magic is 0, 1 or 2, not '3'"),
        ({"codec": "brotli"}, "the option codec is one of none, gzip, snappy, lz4, zstd, not 'brotli'"),
        ({"magic": "0", "codec": "zstd"}, "magic 0 has no zstd"),
        ({"segmentBytes": "2g"}, "segmentBytes is 2147483647 at most"),
        ({"batchBytes": "few"}, "batchBytes is a size"),
    ],
)
def test_options_that_cannot_be_are_bad_usage(tmp_path: Path, options: dict[str, str], reason: str) -> None:
    with pytest.raises(BadUsage, match=reason):
        writer(tmp_path, **options)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([*COLUMNS, StructField("colour", StringType())], "no column colour: the columns are key, value, topic,"),
        ([COLUMNS[0], StructField("partition", LongType())], "the column partition is int, not bigint"),
        ([*COLUMNS, StructField("key", LongType())], "the column key is binary or string, not bigint"),
        (COLUMNS[:1], "the column partition is missing"),
    ],
)
def test_columns_that_cannot_be_are_bad_usage(tmp_path: Path, columns: list[StructField], reason: str) -> None:
    source = KafkaSegments(CaseInsensitiveDict({"path": str(tmp_path)}))
    with pytest.raises(BadUsage, match=reason):
        source.writer(StructType(columns), overwrite=False)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    source = KafkaSegments(CaseInsensitiveDict({"path": str(tmp_path)}))
    with pytest.raises(BadUsage, match="nothing is overwritten"):
        source.writer(StructType(COLUMNS), overwrite=True)


def test_a_broker_keeps_others_out_from_the_start(tmp_path: Path) -> None:
    served = LogManager([str(tmp_path)], Files(), ManualClock(0))
    with pytest.raises(PipelineFailure, match="in use by another broker"):
        writer(tmp_path)
    served.shutdown()


def read(log_dir: Path) -> list[pa.RecordBatch]:
    """The rows of a directory as a task hands them to Spark."""
    source = KafkaSegments(CaseInsensitiveDict({"path": str(log_dir), "includeHeaders": "true"}))
    reader = source.reader(source.schema())
    splits_of, where = attrgetter("splits"), attrgetter("topic", "base_offset")
    tasks = sorted(reader.partitions(), key=lambda task: where(splits_of(task)[0]))
    return [batch for task in tasks for batch in reader.read(task)]


def kept(batches: list[pa.RecordBatch], magic: int) -> list[dict[str, object]]:
    """The rows, without what the magic cannot hold. A record of magic 0 that becomes a later one has CreateTime."""
    rows: list[dict[str, object]] = pa.Table.from_batches(batches).to_pylist()
    for row in rows:
        row["timestampType"] = row["timestampType"] if row["timestampType"] == 1 else 0
        row["headers"] = row["headers"] if magic == 2 else None
        if magic == 0:
            del row["timestamp"], row["timestampType"]
    return rows


@pytest.mark.parametrize(("magic", "codec"), MAGICS_AND_CODECS, ids=lambda value: getattr(value, "name", value))
def test_a_copy_has_the_rows_of_the_original(tmp_path: Path, magic: int, codec: Codec) -> None:
    """Every kind of batch that a log may hold, into every magic and codec."""
    write_variety(tmp_path / "from")
    original = read(tmp_path / "from")
    columns = [name for name in original[0].schema.names if magic == 2 or name != "headers"]
    job = writer(tmp_path / "to", magic=str(magic), codec=codec.name.lower(), batchBytes="200", segmentBytes="2k")
    (written,) = write(job, [batch.select(columns) for batch in original])
    assert sum(log.records for log in written.staged) == sum(map(len, original))
    assert kept(read(tmp_path / "to"), magic) == kept(original, magic)
    heads = [next(iter_batches(path.read_bytes())) for path in (tmp_path / "to").glob("*/*.log")]
    assert {(head.magic, head.codec) for head in heads} == {(magic, codec)}


def save(frame: DataFrame, log_dir: Path, **options: object) -> None:
    sink = frame.write.format("kafka-segments").mode("append")
    sink.options(**{name: str(value) for name, value in options.items()}).save(str(log_dir))


def failure(query: Callable[[], object]) -> str:
    with pytest.raises(Exception) as raised:
        query()
    found = failure_of(raised.value)
    assert found is not None
    return f"{found.exit_code}: {found}"


def test_spark_writes_what_it_reads(spark: SparkSession, tmp_path: Path) -> None:
    write_topic(tmp_path / "from", "topic", partitions=2, headers=True)

    def loaded(log_dir: Path) -> DataFrame:
        return spark.read.format("kafka-segments").option("includeHeaders", "true").load(str(log_dir))

    shuffled = loaded(tmp_path / "from").repartition("topic", "partition")
    save(shuffled.sortWithinPartitions("topic", "partition", "offset"), tmp_path / "to", codec="zstd")
    original, copy = (
        {(row.partition, row.offset): row for row in loaded(tmp_path / name).collect()} for name in ("from", "to")
    )
    assert len(copy) == 160
    assert copy == original


def test_a_write_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    log_dir = tmp_path / "log-dir"
    ids = spark.range(100).selectExpr("'topic' AS topic", "0 AS partition", "CAST(id AS string) AS value")
    assert "topic-0 was written by two tasks" in failure(lambda: save(ids.repartition(2), log_dir))
    assert not list(log_dir.glob("topic*"))
    bad = ids.withColumn("partition", F.when(F.col("value") == "90", -1).otherwise(0))
    assert failure(lambda: save(bad.coalesce(1), log_dir)) == "1: a row of topic topic has partition -1"
    assert not list(log_dir.glob("topic*"))
