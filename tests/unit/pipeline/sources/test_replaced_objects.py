"""An object that is replaced after its tasks were planned: rows of the version that was planned, or an error."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.convert.job import plan_tasks
from stepdown.pipeline.convert.segment_conversion import convert_segment
from stepdown.pipeline.failures import PipelineFailure
from stepdown.pipeline.job_source import Source
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.sources.kafka_batches import KafkaBatches
from stepdown.pipeline.sources.kafka_segments import KafkaSegments
from stepdown.protocol.errors import DiskFault
from support.log_directories import keyed_records, write_batches
from support.object_stores import Store, azure_store, google_store, webdav_store
from support.s3 import BUCKET, S3Server, s3_server

BATCHES, RECORDS = 20, 10
KEY = f"topic-0/{0:020}.log"
SCHEMAS = {
    KafkaSegments: StructType([StructField("offset", LongType())]),
    KafkaBatches: StructType([StructField("lastOffset", LongType())]),
}
REPLACED = "was replaced while it was read; read it again"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


def segment(folder: Path, value_bytes: int) -> bytes:
    """A log of the same offsets, whose batches are of another size for each `value_bytes`."""
    batches = [keyed_records(at * RECORDS, RECORDS, value_bytes=value_bytes) for at in range(BATCHES)]
    return write_batches(folder / str(value_bytes), "topic", 0, batches).log.read_bytes()


def other_bytes(data: bytes) -> bytes:
    """As long, and other."""
    return data[:-1] + bytes([data[-1] ^ 1])


def planned(kind: type[DataSource], root: str, options: dict[str, str]) -> tuple[DataSourceReader, list[Any]]:
    """A reader and its tasks, two or more of the one segment."""
    given = {"path": root, "maxPartitionBytes": "2000", "skipCorrupt": "true", "failOnDataLoss": "false"} | options
    reader = kind(given).reader(SCHEMAS[kind])
    tasks = list(reader.partitions())
    assert len(tasks) > 1
    return reader, tasks


def rows(reader: DataSourceReader, tasks: list[Any]) -> list[int]:
    return sorted(
        value
        for task in tasks
        for batch in reader.read(task)
        for row in batch.to_pylist()
        for value in row.values()  # type: ignore[union-attr]
    )


@pytest.mark.parametrize("read_before", [0, 1], ids=["before the first task", "between two tasks"])
@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("change", [other_bytes, None], ids=["as long", "longer"])
def test_no_row_is_of_another_version_than_was_planned(
    change: Callable[[bytes], bytes] | None,
    kind: type[DataSource],
    read_before: int,
    server: S3Server,
    tmp_path: Path,
) -> None:
    """The first task read the old object, the second one the new one: a mix of both, in which rows were missing."""
    data = segment(tmp_path, 100)
    changed = segment(tmp_path, 150) if change is None else change(data)
    server.put_many({f"logs/{KEY}": data})
    reader, tasks = planned(kind, f"s3://{BUCKET}/logs", server.spark_options)
    rows(reader, tasks[:read_before])
    server.put_many({f"logs/{KEY}": changed})
    for task in tasks[read_before:]:
        with pytest.raises(DiskFault, match=REPLACED):
            list(reader.read(task))


@pytest.mark.parametrize("kind", SCHEMAS)
def test_an_object_that_was_written_again_with_the_same_bytes_is_the_same(
    kind: type[DataSource], server: S3Server, tmp_path: Path
) -> None:
    data = segment(tmp_path, 100)
    server.put_many({f"again/{KEY}": data})
    reader, tasks = planned(kind, f"s3://{BUCKET}/again", server.spark_options)
    before = rows(reader, tasks)
    server.put_many({f"again/{KEY}": data})
    assert rows(reader, tasks) == before
    assert len(before) == (BATCHES * RECORDS if kind is KafkaSegments else BATCHES)


def test_a_conversion_takes_the_version_that_was_planned(server: S3Server, tmp_path: Path) -> None:
    data = segment(tmp_path, 100)
    server.put_many({f"converted/{KEY}": data})
    source = Source(path=f"s3://{BUCKET}/converted", store=server.options)
    tasks = plan_tasks(PlaceFiles(server.options), source, str(tmp_path / "out"), 1, None)
    server.put_many({f"converted/{KEY}": other_bytes(data)})
    with pytest.raises(PipelineFailure, match=REPLACED):
        convert_segment(tasks[0])


@pytest.mark.parametrize("opened", [azure_store, google_store, webdav_store])
def test_lists_and_answers_of_a_store_tell_the_same_version(opened: Callable[[], Any], tmp_path: Path) -> None:
    """Azure's ETags have quotes in answers and none in lists."""
    data = segment(tmp_path, 100)
    store: Store
    with opened() as store:
        store.put(f"logs/{KEY}", data)
        files = PlaceFiles(store.options)
        stored = find_partition_logs(files, f"{store.root}/logs")[0].segments[0]
        assert stored.version is not None
        assert stored.open(files).read(len(data), 0) == data
        store.put(f"logs/{KEY}", data + b"more")
        with pytest.raises(DiskFault, match=REPLACED):
            stored.open(files).read(len(data), 0)
