"""`kafka-segments` gives the rows that Spark's Kafka connector gets from a broker over the same directory."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from stepdown.pipeline.kafka_connector import read_options
from support.broker import Stepdown
from support.log_variety import write_variety
from support.spark import wait_for_clients_to_leave
from support.spark_jars import require_jars

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.java


class Both(NamedTuple):
    """The same log directory, read both ways, and how many records were written to it."""

    connector: "DataFrame"
    segments: "DataFrame"
    count: int


@pytest.fixture(scope="module")
def both(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    require_jars()
    folder: Path = tmp_path_factory.mktemp("both")
    count = write_variety(folder / "data")
    with Stepdown(folder, properties={"log.retention.ms": "-1", "log.cleaner.enable": "false"}) as broker:
        connector = spark.read.format("kafka").options(**read_options(broker.address)).load().cache()
        options = {"path": str(broker.log_dir), "includeHeaders": "true"}
        yield Both(connector, spark.read.format("kafka-segments").options(**options).load().cache(), count)
        wait_for_clients_to_leave(broker.address)


def test_the_schema_is_that_of_the_connector(both: Both) -> None:
    shapes = [[(f.name, f.dataType.simpleString()) for f in frame.schema] for frame in both[:2]]
    assert shapes[0] == shapes[1]


def test_every_record_is_there_once(both: Both) -> None:
    assert both.connector.count() == both.segments.count() == both.count


def test_all_rows_are_equal_both_ways(both: Both) -> None:
    extra, missing = both.segments.exceptAll(both.connector), both.connector.exceptAll(both.segments)
    differences = {name: [row.asDict() for row in frame.limit(3).collect()] for name, frame in
                   (("extra", extra), ("missing", missing))}  # fmt: skip
    assert differences == {"extra": [], "missing": []}


def test_magic_0_has_no_time_which_the_connector_shows_as_minus_one(both: Both) -> None:
    for frame in both[:2]:
        rows = frame.where("topic = 'm0-gzip'").selectExpr("unix_millis(timestamp)", "timestampType").distinct()
        assert [tuple(row) for row in rows.collect()] == [(-1, -1)]
