"""What eleven offsets of one partition cost in a large log: time beside a full count, and the bytes that are fetched.

    cd tests && ../.venv/bin/python -m support.pipeline_range [--gigabytes 10] [--log-dir FOLDER] [--s3]

The bars: under 1 % of the time of a full count, at most 2 MB fetched; of all rows at most 1.05 times the bytes of the
log. Beside them stands what Spark takes for a query of nothing, and for eleven rows of a Python source that has them in
memory: neither grows with the log. `--s3` puts the same log on moto's S3 server, for the bytes: as much disk again.
The log lies in a temporary folder and is removed at the end, but one in `--log-dir` is kept, and used if it is there.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from stepdown.pipeline.session import build_session
from stepdown.pipeline.workload.log_directory import write_log_directory
from stepdown.pipeline.workload.records import Workload

from .s3 import s3_server

TOPIC = "large"
SHARE_BAR = 0.01
FETCHED_BAR = 2_000_000
RATIO_BAR = 1.05
ROUNDS = 5


class ElevenRows(DataSource):
    """What any Python source costs that does nothing."""

    @classmethod
    def name(cls) -> str:
        return "eleven-rows"

    def schema(self) -> str:
        return "offset bigint"

    def reader(self, schema: object) -> DataSourceReader:
        return ElevenRowsReader()


class ElevenRowsReader(DataSourceReader):
    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        yield from ((offset,) for offset in range(11))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--segment-bytes", type=int, default=128 << 20)
    parser.add_argument("--log-dir", type=Path)
    parser.add_argument("--s3", action="store_true")
    given = parser.parse_args()
    records = int(given.gigabytes * 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        log_dir = given.log_dir or Path(folder) / "logs"
        if not log_dir.exists():
            work = Workload(records=records, size=1000, topic=TOPIC, partitions=1)
            write_log_directory(work, str(log_dir), segment_bytes=given.segment_bytes)
        spark = build_session("benchmark", master="local[2]")
        if given.s3:
            from_s3(spark, log_dir, records)
        else:
            local(spark, str(log_dir), records)


def eleven(records: int) -> dict[str, str]:
    """The options that read eleven offsets in the middle."""
    first = records // 2
    bounds = {"startingOffsets": first, "endingOffsets": first + 11}
    return {"assign": f'{{"{TOPIC}": [0]}}'} | {
        name: f'{{"{TOPIC}": {{"0": {offset}}}}}' for name, offset in bounds.items()
    }


def local(spark: SparkSession, path: str, records: int) -> None:
    spark.dataSource.register(ElevenRows)

    def count(**options: str) -> int:
        return spark.read.format("kafka-segments").options(**options).load(path).count()

    few = eleven(records)
    assert count(**few) == 11
    times = {
        "a query of nothing": lambda: spark.range(1).count(),
        "eleven rows of a Python source": lambda: spark.read.format("eleven-rows").load().count(),
        "eleven offsets": lambda: count(**few),
    }
    for work in times.values():  # what is loaded and compiled once
        work()
    taken = {name: median(seconds(work) for _ in range(ROUNDS)) for name, work in times.items()}
    full_s = seconds(lambda: count())
    share = taken["eleven offsets"] / full_s
    print(
        ", ".join(f"{name}: {each:.3f} s" for name, each in taken.items())
        + f"; all {records:,} rows: {full_s:.1f} s; {100 * share:.2f} %, bar {100 * SHARE_BAR:.0f} %:"
        f" {verdict(share < SHARE_BAR)}",
        flush=True,
    )


def from_s3(spark: SparkSession, log_dir: Path, records: int) -> None:
    size = sum(file.stat().st_size for file in log_dir.rglob("*.log"))
    with s3_server() as server:
        uri = server.upload(log_dir, "logs")
        for name, options, rows, bar in (
            ("eleven offsets", eleven(records), 11, FETCHED_BAR),
            ("all rows", {}, records, int(RATIO_BAR * size)),
        ):
            before = server.sent_bytes()
            began = time.perf_counter()
            reader = spark.read.format("kafka-segments").options(**server.spark_options, **options)
            assert reader.load(uri).count() == rows
            sent = server.sent_bytes() - before
            print(
                f"{name} from S3: {time.perf_counter() - began:.2f} s, {sent:,} bytes ({sent / size:.4f} of the log),"
                f" bar {bar:,}: {verdict(sent <= bar)}",
                flush=True,
            )


def seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


if __name__ == "__main__":
    main()
