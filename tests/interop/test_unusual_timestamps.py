"""Census and archive over what a broker stored of producers without a clock, or with one that counts nanoseconds.

`timestamp` is null where Spark cannot hold it; no record, key or value is lost for it, and its number can be kept.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stepdown.bench.servers.admin_connection import Connection
from stepdown.pipeline.archive.log_archive import Format
from stepdown.pipeline.command import main
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.archive_runs import archive_of, read_table, run
from support.broker import broker_under_test
from support.record_sets import patched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC = "times"
USUAL = 1_700_000_000_000
MICROSECONDS, NANOSECONDS = USUAL * 1000, USUAL * 1_000_000
SPARKS_LAST = ((1 << 63) - 1) // 1000
BATCHES: Sequence[Sequence[int]] = (
    (USUAL, USUAL + 1),
    (MICROSECONDS,),
    (NANOSECONDS,),
    ((1 << 63) - 1,),
    (SPARKS_LAST, SPARKS_LAST + 1),
    (-1, -1),
    (-5,),
    (-SPARKS_LAST - 1,),
    (USUAL, NANOSECONDS, -5, -1, 0),
)
TIMES = [time for batch in BATCHES for time in batch]
HELD = [time if abs(time) <= SPARKS_LAST else None for time in TIMES]
KEYS = [b"%d" % offset for offset in range(len(TIMES))]


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    broker = broker_under_test(tmp_path_factory.mktemp("broker"))
    broker.start()
    broker.create_topic(TOPIC)
    offset = 0
    with Connection(broker.address) as connection:
        for times in BATCHES:
            produce(connection, batch_of(times, offset))
            offset += len(times)
    broker.stop()
    yield broker.log_dir


def batch_of(times: Sequence[int], offset: int) -> bytes:
    """A batch whose keys are offsets from that one on; ours are not made of negative times, so they are moved."""
    records = [
        Record(offset=at, timestamp=time - min(times), key=b"%d" % (offset + at), value=b"%d" % time)
        for at, time in enumerate(times)
    ]
    return patched(build_batch(records), base_timestamp=times[0], max_timestamp=max(times))


def produce(connection: Connection, batch: bytes) -> None:
    data = PartitionProduceData(index=0, records=memoryview(batch))
    request = ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=(TopicProduceData(name=TOPIC, partition_data=(data,)),)
    )
    (answer,) = connection.call(request, 7).responses
    assert answer.partition_responses[0].error_code == 0, answer


def test_a_census_counts_all_records(
    spark: "SparkSession", log_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["census", str(log_dir), "--topics", TOPIC, "--json", "--exact", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (format_,) = [row for row in rows if row["table"] == "formats"]
    assert (format_["records"], format_["batches"]) == (len(TIMES), len(BATCHES))
    (conversion,) = [row for row in rows if row["table"] == "conversion"]
    assert conversion["stored_bytes"] == format_["bytes"]
    days = {row["day"]: row["records"] for row in rows if row["table"] == "days"}
    assert days == {"2023-11-14": 2, None: len(TIMES) - 2}
    assert "<h2>How old it is</h2>" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_an_archive_has_all_records_and_keeps_the_numbers(
    spark: "SparkSession", log_dir: Path, tmp_path: Path, kind: Format
) -> None:
    out = tmp_path / "out"
    words = ["archive", str(log_dir), str(out), "--topics", TOPIC, "--format", kind, "--timestamp-ms"]
    assert main(words) == 0
    assert main(words) == 0  # there is nothing new
    rows = read_table(out, kind).sort_by("offset")
    check(rows.column("timestampMs").to_pylist(), rows.column("timestamp").cast("int64").to_pylist())
    assert rows.column("key").to_pylist() == KEYS
    assert rows.column("value").to_pylist() == [b"%d" % time for time in TIMES]
    if kind == "parquet":
        columns = spark.read.parquet(str(out)).orderBy("offset").selectExpr("timestampMs", "unix_micros(timestamp)")
        found = [tuple(row) for row in columns.collect()]
        check([number for number, _ in found], [micros for _, micros in found])


def check(numbers: Sequence[int], micros: Sequence[int | None]) -> None:
    assert numbers == TIMES
    assert micros == [None if time is None else time * 1000 for time in HELD]


def test_an_archive_without_the_numbers_tells_how_many_are_lost(
    log_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(archive_of(log_dir, tmp_path / "out", options={"subscribe": TOPIC}))
    lost = len([time for time in HELD if time is None])
    said = f"{TOPIC}-0: {lost} records have a time that Spark cannot hold: null; --timestamp-ms keeps it"
    assert said in capsys.readouterr().err
    assert read_table(tmp_path / "out", "parquet").num_rows == len(TIMES)
