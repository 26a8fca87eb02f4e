"""Spark's own Kafka source and sink against the broker, at its versions of today and capped to magic 1 both ways."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError
from stepdown.pipeline.kafka_connector import read_options, write_options
from stepdown.pipeline.workload.broker_writer import write_to_broker
from stepdown.pipeline.workload.records import Workload
from stepdown.protocol.records.layout import Codec
from support.broker import BrokerProcess, broker_under_test
from support.capping_proxy import MAGIC_1_CAPS, CappingProxy
from support.deadline import DEADLINE_S
from support.proxy import RecordingProxy
from support.spark import wait_for_clients_to_leave
from support.spark_jars import require_jars

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.java

PRODUCE, FETCH = 0, 1
CODECS = ("none", "gzip", "snappy", "lz4")
ROWS = 500


class Served(NamedTuple):
    """A broker behind a proxy that writes down what it is asked."""

    broker: BrokerProcess
    proxy: RecordingProxy
    idempotent: bool

    def highest(self, api_key: int) -> int:
        return max(request.api_version for request in self.proxy.requests if request.api_key == api_key)


PROXIES: dict[str, tuple[Callable[[], RecordingProxy], bool]] = {
    "modern": (RecordingProxy, True),
    "capped": (CappingProxy, False),
}


@pytest.fixture(scope="module", params=PROXIES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    require_jars()
    make_proxy, idempotent = PROXIES[request.param]
    with contextlib.closing(make_proxy()) as proxy:
        broker = broker_under_test(tmp_path_factory.mktemp(request.param), advertised=proxy.address)
        broker.start()
        proxy.forward_to(broker.address)
        yield Served(broker, proxy, idempotent)
        wait_for_clients_to_leave(proxy.address)
        broker.stop()


def rows(spark: "SparkSession") -> "DataFrame":
    """Rows with null keys, null values and empty ones, for two partitions."""
    return spark.range(ROWS).selectExpr(
        "CASE WHEN id % 5 = 0 THEN NULL ELSE CAST(concat('key-', id) AS binary) END AS key",
        "CASE WHEN id % 7 = 0 THEN NULL ELSE CAST(repeat('v', id % 90) AS binary) END AS value",
        "CAST(id % 2 AS int) AS partition",
    )


def read(spark: "SparkSession", served: Served, topic: str) -> "DataFrame":
    return spark.read.format("kafka").options(**read_options(served.proxy.address, topic)).load()


def counted(frame: "DataFrame", *columns: str) -> Counter[tuple[object, ...]]:
    """How often each row of these columns is there; binaries as bytes."""
    chosen = frame.select(*columns).collect()
    return Counter(tuple(bytes(cell) if isinstance(cell, bytearray) else cell for cell in row) for row in chosen)


def test_what_spark_writes_spark_reads(spark: "SparkSession", served: Served) -> None:
    topics = {f"batch-{codec}": codec for codec in CODECS}
    for topic, codec in topics.items():
        served.broker.create_topic(topic, partitions=2)
        options = write_options(served.proxy.address, codec=codec, idempotent=served.idempotent)
        rows(spark).selectExpr(f"'{topic}' AS topic", "*").write.format("kafka").options(**options).save()
    found = read(spark, served, ",".join(topics)).cache()
    written = counted(rows(spark), "key", "value", "partition")
    expected = {(topic, *row): count for topic in topics for row, count in written.items()}
    assert counted(found, "topic", "key", "value", "partition") == expected
    assert set(counted(found, "topic", "partition", "offset").values()) == {1}


def test_versions_stay_under_the_cap(spark: "SparkSession", served: Served) -> None:
    if isinstance(served.proxy, CappingProxy):
        assert served.highest(PRODUCE) == MAGIC_1_CAPS[PRODUCE]
        assert served.highest(FETCH) == MAGIC_1_CAPS[FETCH]
    else:
        assert served.highest(PRODUCE) > 8
        assert served.highest(FETCH) > 11


def test_headers_come_back_where_the_versions_have_them(spark: "SparkSession", served: Served) -> None:
    served.broker.create_topic("headers")
    headers = "array(struct('a' AS key, X'01' AS value), struct('a' AS key, CAST(NULL AS binary) AS value)) AS headers"
    written = spark.range(3).selectExpr("'headers' AS topic", "CAST(id AS string) AS value", headers)
    options = write_options(served.proxy.address, idempotent=served.idempotent) | {"includeHeaders": "true"}
    writer = written.write.format("kafka").options(**options)
    if not served.idempotent:
        with pytest.raises(Py4JJavaError, match="Magic v1 does not support record headers"):
            writer.save()
        return
    writer.save()
    found = read(spark, served, "headers").select("headers").collect()
    expected = [("a", bytearray(b"\x01")), ("a", None)]
    assert [[tuple(header) for header in row.headers] for row in found] == [expected] * 3


def test_a_stream_reads_in_steps_and_goes_on_where_it_was(
    spark: "SparkSession", served: Served, tmp_path: Path
) -> None:
    served.broker.create_topic("stream", partitions=2)
    served.broker.create_topic("copy", partitions=2)
    sink = write_options(served.proxy.address, idempotent=served.idempotent)

    def produce() -> None:
        written = rows(spark).selectExpr("'stream' AS topic", "*")
        written.write.format("kafka").options(**sink).save()

    def copy() -> int:
        source = read_options(served.proxy.address, "stream", headers=False) | {"maxOffsetsPerTrigger": "400"}
        stream = spark.readStream.format("kafka").options(**source).load()
        writer = stream.selectExpr("'copy' AS topic", "key", "value", "partition").writeStream
        query = writer.format("kafka").options(**sink).option("checkpointLocation", str(tmp_path / "checkpoint"))
        running = query.trigger(availableNow=True).start()
        assert running.awaitTermination(DEADLINE_S)
        return len([step for step in running.recentProgress if step["numInputRows"]])

    produce()
    assert copy() == 2
    produce()
    copy()
    produced = counted(rows(spark), "key", "value", "partition")
    assert counted(read(spark, served, "copy"), "key", "value", "partition") == produced + produced


def test_offsets_can_be_asked_for_by_time(spark: "SparkSession", served: Served) -> None:
    served.broker.create_topic("timed")
    for _ in range(2):  # one after the other, so that their times differ
        workload = Workload(records=100, size=10, topic="timed")
        write_to_broker(spark, workload, served.proxy.address, idempotent=served.idempotent)
    stored = read(spark, served, "timed").selectExpr("offset", "unix_millis(timestamp) AS ms")
    times = {row.offset: row.ms for row in stored.collect()}
    start, end = times[100], times[199]
    options = read_options(served.proxy.address, "timed")
    options |= {"startingTimestamp": str(start), "endingTimestamp": str(end)}
    found = spark.read.format("kafka").options(**options).load()
    first_at_end = min(offset for offset, time in times.items() if time >= end)
    first_at_start = min(offset for offset, time in times.items() if time >= start)
    assert sorted(r.offset for r in found.select("offset").collect()) == list(range(first_at_start, first_at_end))


def test_a_workload_comes_out_as_it_was_planned(spark: "SparkSession", served: Served) -> None:
    served.broker.create_topic("workload", partitions=3)
    workload = Workload(records=5000, size=100, partitions=3, keys="zipf", codec=Codec.GZIP)
    write_to_broker(spark, workload, served.proxy.address, idempotent=served.idempotent)
    made = chain.from_iterable(map(workload.make_chunk, workload.chunk_numbers))
    planned = Counter((record.partition, record.key, record.value) for record in made)
    assert counted(read(spark, served, "workload"), "partition", "key", "value") == planned


def test_clients_that_nobody_uses_leave(spark: "SparkSession", served: Served) -> None:
    """They outlived their broker by five minutes, and made topics at one of another test that had got its port."""
    served.broker.create_topic("left", partitions=2)
    options = write_options(served.proxy.address, idempotent=served.idempotent) | {"topic": "left"}
    rows(spark).write.format("kafka").options(**options).save()
    assert read(spark, served, "left").count() == ROWS
    wait_for_clients_to_leave(served.proxy.address)
