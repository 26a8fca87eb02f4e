"""An archive of a log directory: what is new, once, over runs, crashes and stores; tables that others can read."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession
from stepdown.pipeline.archive import log_archive
from stepdown.pipeline.archive.log_archive import Format, LogArchive, RunTasks, archive_new_batches
from stepdown.pipeline.archive.parquet_files import ArchivedFile
from stepdown.pipeline.command import main
from stepdown.pipeline.failures import BadUsage, DataLoss
from stepdown.protocol.records.layout import Codec
from support.archive_runs import archive_of, read_table
from support.log_directories import keyed_records, write_batches, write_topic
from support.log_variety import write_variety
from support.s3 import S3Server, s3_server

FORMATS: tuple[Format, ...] = ("parquet", "delta")
DAY_MS = 86_400_000


def run(spark: SparkSession, archive: LogArchive) -> list[ArchivedFile]:
    return [file for written in archive_new_batches(on(spark), archive) for file in written]


def on(spark: SparkSession) -> RunTasks:
    return lambda work, tasks, _: spark.sparkContext.parallelize(tasks, len(tasks)).flatMap(work).collect()


def offsets(out: Path | str, kind: Format = "parquet", **fields: Any) -> list[tuple[str, int, int]]:
    rows = read_table(out, kind, **fields).select(["topic", "partition", "offset"]).to_pylist()
    return sorted((row["topic"], row["partition"], row["offset"]) for row in rows)


def contents(out: Path) -> dict[str, str]:
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in out.rglob("*.parquet")
    }


def expected(*partitions: tuple[str, int, int]) -> list[tuple[str, int, int]]:
    return sorted((topic, partition, offset) for topic, partition, end in partitions for offset in range(end))


@pytest.mark.parametrize("kind", FORMATS)
def test_each_run_adds_what_is_new(spark: SparkSession, tmp_path: Path, kind: Format) -> None:
    log_dir, out = tmp_path / "logs", tmp_path / "out"
    write_topic(log_dir, "plain", partitions=2, headers=True)
    write_topic(log_dir, "packed", codec=Codec.ZSTD)
    archive = archive_of(log_dir, out, kind)
    assert sum(file.rows for file in run(spark, archive)) == 240
    assert run(spark, archive) == []
    write_batches(log_dir, "plain", 0, [keyed_records(80, 10)], base=80)
    write_topic(log_dir, "later", segments=1)
    assert {(file.topic, file.rows) for file in run(spark, archive)} == {("plain", 10), ("later", 40)}
    everything = expected(("plain", 0, 90), ("plain", 1, 80), ("packed", 0, 80), ("later", 0, 40))
    assert offsets(out, kind) == everything
    rows = spark.read.format("kafka-segments").options(path=str(log_dir), includeHeaders="true").load()
    names = ["topic", "partition", "offset", "key", "value", "timestampType", "headers"]
    here = {tuple(map(str, row)) for row in rows.select(names).toArrow().to_pandas().values}
    there = {tuple(map(str, row)) for row in read_table(out, kind).select(names).to_pandas().values}
    assert here == there


def test_all_magics_codecs_and_days_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    log_dir, out = tmp_path / "logs", tmp_path / "out"
    count = write_variety(log_dir)
    write_batches(log_dir, "days", 0, [[*keyed_records(0, 2), *later(2, 2, DAY_MS)], later(4, 1, -3 * DAY_MS)])
    run(spark, archive_of(log_dir, out, file_bytes=500))
    found = read_table(out, "parquet")
    assert found.num_rows == count + 5
    assert sorted(path.name for path in (out / "topic=days").iterdir()) == [
        "date=2023-11-11",
        "date=2023-11-14",
        "date=2023-11-15",
    ]
    assert (out / "topic=m0-gzip" / "date=1969-12-31").is_dir()
    assert spark.read.parquet(str(out)).count() == count + 5


def later(first: int, count: int, ms: int) -> list[Any]:
    from dataclasses import replace

    return [replace(record, timestamp=record.timestamp + ms) for record in keyed_records(first, count)]


def crash_before_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are there, nothing says that they are done; one of them is of a plan that is made otherwise later."""
    write = log_archive._write_files

    def killed(session: RunTasks, files: Any, archive: LogArchive, *others: Any) -> list[ArchivedFile]:
        written = write(session, files, archive, *others)
        stray = Path(archive.out) / written[0].path
        shutil.copy(stray, stray.with_name(stray.name.replace("0.parquet", "7.parquet")))
        raise KeyboardInterrupt

    monkeypatch.setattr(log_archive, "_write_files", killed)


def crash_after_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    write_state = log_archive.write_state

    def killed(files: Any, out: str, state: log_archive.ArchiveState) -> None:
        if state.writing is None:
            raise KeyboardInterrupt
        write_state(files, out, state)

    monkeypatch.setattr(log_archive, "write_state", killed)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("crash", [crash_before_commit, crash_after_commit])
def test_a_run_that_died_is_made_up_for(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Format,
    crash: Callable[[pytest.MonkeyPatch], None],
) -> None:
    log_dir = tmp_path / "logs"
    write_topic(log_dir, "topic", partitions=2)
    whole, out = tmp_path / "whole", tmp_path / "out"
    run(spark, archive_of(log_dir, whole, kind))
    with monkeypatch.context() as patched:
        crash(patched)
        with pytest.raises(KeyboardInterrupt):
            run(spark, archive_of(log_dir, out, kind))
    assert main(["archive", str(log_dir), str(out), "--format", kind]) == 0
    assert offsets(out, kind) == expected(("topic", 0, 80), ("topic", 1, 80))
    assert contents(out) == contents(whole)
    assert run(spark, archive_of(log_dir, out, kind)) == []


def test_lineage_says_where_a_record_lay(spark: SparkSession, tmp_path: Path) -> None:
    log_dir, out = tmp_path / "logs", tmp_path / "out"
    for base, epoch in ((0, 4), (40, 7)):
        batches = [keyed_records(base + at * 10, 10) for at in range(4)]
        write_batches(log_dir, "topic", 0, batches, base=base, codec=Codec.LZ4, partition_leader_epoch=epoch)
    write_batches(log_dir, "old", 0, [keyed_records(0, 3), keyed_records(3, 3)], magic=1, codec=Codec.GZIP)
    run(spark, archive_of(log_dir, out, lineage=True))
    rows = read_table(out, "parquet").select(["topic", "offset", "segment", "batch", "epoch"]).to_pylist()
    found = {(row["topic"], row["offset"]): (row["segment"], row["batch"], row["epoch"]) for row in rows}
    assert found["topic", 0] == found["topic", 9] == (0, 0, 4)
    assert found["topic", 57] == (40, 50, 7)
    assert found["old", 1] == (0, 2, -1)
    assert len(found) == 86


def test_batches_are_bounded_and_small_files_are_put_together(spark: SparkSession, tmp_path: Path) -> None:
    log_dir = tmp_path / "logs"
    write_topic(log_dir, "topic", partitions=2, segments=3)
    batches = list(archive_new_batches(on(spark), archive_of(log_dir, tmp_path / "out", max_offsets=100)))
    assert [sum(file.rows for file in batch) for batch in batches] == [100, 100, 40]
    together = list(archive_new_batches(on(spark), archive_of(log_dir, tmp_path / "together")))
    assert [len(batch) for batch in together] == [2]


@pytest.mark.parametrize("kind", FORMATS)
def test_small_files_are_joined_by_the_job_compact(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: Format
) -> None:
    log_dir, out = tmp_path / "logs", tmp_path / "out"
    write_topic(log_dir, "topic", partitions=2)
    words = ["archive", str(log_dir), str(out), "--format", kind]
    assert main([*words, "--partition-by", "month", "--max-offsets", "50"]) == 0
    capsys.readouterr()
    assert main(["compact", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["table"], told["files"] > 4, told["became"]) == ("compact", True, 1)
    assert offsets(out, kind) == expected(("topic", 0, 80), ("topic", 1, 80))
    if kind == "parquet":
        assert [each.parent.name for each in out.rglob("*.parquet")] == ["month=2023-11-01"]
        rows = spark.read.parquet(str(out))
        assert dict(rows.dtypes)["month"] == "date"
        files = json.loads((out / "_manifest.json").read_text())["files"]
        named = spark.read.option("basePath", str(out)).parquet(*(f"{out}/{each['path']}" for each in files))
        assert (named.columns, named.count()) == (rows.columns, 160)
    assert main(words) == 2
    assert "is the archive of something else" in capsys.readouterr().err
    assert main(["compact", str(log_dir)]) == 2
    assert "is no archive" in capsys.readouterr().err


def test_what_is_wrong_or_not_new_is_told_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A mistyped topic was told after Spark had started, and a run that had nothing to do started it, too."""

    def start(*_: object) -> list[ArchivedFile]:
        raise AssertionError("there was nothing to write")

    log_dir, out = tmp_path / "logs", tmp_path / "out"
    write_topic(log_dir, "topic")
    with pytest.raises(BadUsage, match="no such topic: tpoic"):
        list(archive_new_batches(start, archive_of(log_dir, out, options={"subscribe": "tpoic"})))
    assert run(spark, archive_of(log_dir, out))
    assert list(archive_new_batches(start, archive_of(log_dir, out))) == []


def test_a_topic_that_was_made_anew_is_archived_from_its_start(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log_dir, out = tmp_path / "logs", tmp_path / "out"
    write_topic(log_dir, "topic")
    metadata = log_dir / "topic-0" / "partition.metadata"
    metadata.write_text("version: 0\ntopic_id: MWJ6FHTfRYy67jzw-deqSQ\n")
    archive = archive_of(log_dir, out)
    run(spark, archive)
    shutil.rmtree(log_dir / "topic-0")
    write_topic(log_dir, "topic", segments=1)
    with pytest.raises(DataLoss, match=r"topic-0: archived up to offset 80, the log now has 0 to 40"):
        run(spark, archive)
    metadata.write_text("version: 0\ntopic_id: AAAAFHTfRYy67jzw-deqSQ\n")
    assert sum(file.rows for file in run(spark, archive)) == 40
    assert "topic-0: the topic was made anew; archived from offset 0 on" in capsys.readouterr().err


def test_offsets_that_are_gone_end_the_run_unless_they_may_be_lost(spark: SparkSession, tmp_path: Path) -> None:
    log_dir, out = tmp_path / "logs", tmp_path / "out"
    write_topic(log_dir, "topic", segments=1)
    run(spark, archive_of(log_dir, out))
    shutil.rmtree(log_dir / "topic-0")
    write_batches(log_dir, "topic", 0, [keyed_records(90, 10)], base=90)
    with pytest.raises(DataLoss, match="--skip-lost goes on"):
        run(spark, archive_of(log_dir, out))
    assert sum(file.rows for file in run(spark, archive_of(log_dir, out, lost_is_failure=False))) == 10


def test_read_committed_archives_what_was_committed(spark: SparkSession, tmp_path: Path) -> None:
    write_variety(tmp_path / "logs")
    options = {"subscribe": "transactions", "isolation.level": "read_committed"}
    run(spark, archive_of(tmp_path / "logs", tmp_path / "out", options=options))
    assert [offset for _, _, offset in offsets(tmp_path / "out")] == [0, 1, 2]


def test_an_archive_of_something_else_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    write_topic(tmp_path / "logs", "topic")
    out = tmp_path / "out"
    out.mkdir()
    (out / "letters").touch()
    with pytest.raises(BadUsage, match="is not empty, and no archive"):
        run(spark, archive_of(tmp_path / "logs", out))
    (out / "letters").unlink()
    run(spark, archive_of(tmp_path / "logs", out))
    for other in (archive_of(tmp_path / "logs", out, "delta"), archive_of(tmp_path / "logs", out, lineage=True)):
        with pytest.raises(BadUsage, match="archive of something else"):
            run(spark, other)
    (out / "_archive.json").write_text('{"log_dir": "as an earlier version wrote it"}')
    with pytest.raises(BadUsage, match="archive into another folder"):
        run(spark, archive_of(tmp_path / "logs", out))


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server(failing=0.01) as server:
        yield server


@pytest.mark.parametrize("kind", FORMATS)
def test_source_and_table_may_lie_in_an_object_store(
    spark: SparkSession, tmp_path: Path, server: S3Server, kind: Format
) -> None:
    write_topic(tmp_path / "logs", "topic", partitions=2)
    log_dir, out = server.upload(tmp_path / "logs", f"logs-{kind}"), f"s3://segments/out-{kind}"
    words = ["archive", log_dir, out, "--format", kind, *server.job_options, "--json"]
    assert main(words) == 0
    write_batches(tmp_path / "logs", "topic", 0, [keyed_records(80, 10)], base=80)
    server.upload(tmp_path / "logs", f"logs-{kind}")
    assert main(words) == 0
    if kind == "delta":
        found = offsets(out, kind, store=server.options | {"allow_http": "true"})
    else:
        from pyarrow.fs import S3FileSystem

        store = S3FileSystem(
            access_key="test", secret_key="test", region="us-east-1", endpoint_override=server.endpoint
        )
        rows = ds.dataset(out.removeprefix("s3://"), filesystem=store, partitioning="hive").to_table().to_pylist()
        found = sorted((row["topic"], row["partition"], row["offset"]) for row in rows)
    assert found == expected(("topic", 0, 90), ("topic", 1, 80))
