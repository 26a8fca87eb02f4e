"""What reads of `kafka-segments` cost. Four questions, all of them unless some are named:

    cd tests && ../.venv/bin/python -m support.pipeline_costs [range] [s3] [checkouts] [planning] [--beside PYTHON]

- `range`: eleven offsets of one partition of a large log. Bars: under 1 % of the time of a full count, at most 2 MB
  fetched (from a WebDAV server over the same folder). Beside them stands what Spark takes for a query of nothing, and
  for eleven rows of a Python source that has them in memory: neither grows with the log.
- `s3`: all rows of one log from the path and from S3, in turn. Bars: at least half of the speed, at most 1.05 times the
  bytes. The server is moto's, and then gofakes3 where that is installed (see `object_stores`), with what each sends
  of raw ranges to two readers who do nothing else.
- `checkouts`: the sources on local paths in this checkout and in another, whose Python is `--beside`, in turn. Bar: not
  slower by more than a tenth, by the least of all rounds.
- `planning`: the tasks of a hundred thousand segments in a hundred partitions, as the driver makes them, without Spark.
  Bar: 10 s.

Logs lie in a temporary folder and are removed at the end, but the large one in `--log-dir` is kept, and used if it is
there. Two cores that nobody else wants are taken for granted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.places.object_files import ObjectFiles
from stepdown.pipeline.session import build_session
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import read_options
from stepdown.pipeline.workload.log_directory import write_log_directory
from stepdown.pipeline.workload.records import Workload
from stepdown.protocol.records.layout import Codec

from . import pipeline_times
from .log_directories import keyed_records, write_batches
from .object_stores import gofakes3_server, shown_by_webdav
from .s3 import S3Server, s3_server

TOPIC = "large"
OFFSETS = StructType([StructField("offset", LongType())])
SHARE_BAR = 0.01
FETCHED_BAR = 2_000_000
RATIO_BAR = 1.05
SPEED_BAR = 0.5
SLOWER_BAR = 1.1
ROUNDS = 5
RAW_BYTES = 8 << 20
LARGE_SEGMENT_BYTES = 128 << 20
PLANNING_BAR_S = 10.0
SEGMENTS, PARTITIONS = 100_000, 100
QUESTIONS = ("range", "s3", "checkouts", "planning")


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", choices=QUESTIONS, default=QUESTIONS)
    parser.add_argument("--gigabytes", type=float, default=10.0, help="of the large log")
    parser.add_argument("--log-dir", type=Path, help="where the large log is kept")
    parser.add_argument("--megabytes", type=int, default=240, help="of the logs that are read whole")
    parser.add_argument("--beside", type=Path, help="the Python of another checkout")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "range" in given.questions:
            eleven_offsets(given.log_dir or folder / "large", int(given.gigabytes * 1_000_000))
        if "s3" in given.questions:
            path_and_s3(folder / "s3", given.megabytes * 1000)
        if "checkouts" in given.questions and given.beside is not None:
            checkouts(folder, given.megabytes, (Path(sys.executable), given.beside.absolute()))
        if "planning" in given.questions:
            plan_many_segments(folder / "many")


def plan_many_segments(log_dir: Path) -> None:
    """Segments of one batch with their indexes, as an empty broker with a small segment.bytes would leave them."""
    data = write_batches(log_dir, "first", 0, [keyed_records(0, 10)]).log.read_bytes()
    for partition in range(PARTITIONS):
        folder = log_dir / f"many-{partition}"
        folder.mkdir()
        for number in range(SEGMENTS // PARTITIONS):
            name = f"{number * 10:020}"
            (folder / f"{name}.log").write_bytes(data)
            (folder / f"{name}.index").touch()
            (folder / f"{name}.timeindex").touch()
    options = read_options({"path": str(log_dir), "subscribe": "many"})
    tasks: list[object] = []
    taken_s = seconds(lambda: tasks.extend(SegmentsReader(options, OFFSETS).partitions()))
    print(
        f"planning {SEGMENTS:,} segments as {len(tasks)} tasks: {taken_s:.1f} s, bar {PLANNING_BAR_S:.0f} s:"
        f" {verdict(taken_s <= PLANNING_BAR_S)}",
        flush=True,
    )


def eleven_offsets(log_dir: Path, records: int) -> None:
    if not log_dir.exists():
        work = Workload(records=records, size=1000, topic=TOPIC, partitions=1)
        write_log_directory(work, str(log_dir), segment_bytes=LARGE_SEGMENT_BYTES)
    spark = build_session("benchmark", master="local[2]")
    spark.dataSource.register(ElevenRows)
    first = records // 2
    bounds = {"startingOffsets": first, "endingOffsets": first + 11}
    few = {"assign": f'{{"{TOPIC}": [0]}}'} | {name: f'{{"{TOPIC}": {{"0": {at}}}}}' for name, at in bounds.items()}

    def count(path: str, **options: str) -> int:
        return spark.read.format("kafka-segments").options(**options).load(path).count()

    times = {
        "a query of nothing": lambda: spark.range(1).count(),
        "eleven rows of a Python source": lambda: spark.read.format("eleven-rows").load().count(),
        "eleven offsets": lambda: count(str(log_dir), **few),
    }
    for work_once in times.values():  # what is loaded and compiled once
        work_once()
    taken = {name: median(seconds(each) for _ in range(ROUNDS)) for name, each in times.items()}
    full_s = seconds(lambda: count(str(log_dir)))
    share = taken["eleven offsets"] / full_s
    print(
        ", ".join(f"{name}: {each:.3f} s" for name, each in taken.items())
        + f"; all {records:,} rows: {full_s:.1f} s; {100 * share:.2f} %, bar {100 * SHARE_BAR:.0f} %:"
        f" {verdict(share < SHARE_BAR)}",
        flush=True,
    )
    with shown_by_webdav(log_dir) as (url, sent_bytes):
        assert count(url, **few) == 11
        sent = sent_bytes()
    print(f"eleven offsets by HTTP: {sent:,} bytes, bar {FETCHED_BAR:,}: {verdict(sent <= FETCHED_BAR)}", flush=True)


def path_and_s3(log_dir: Path, records: int) -> None:
    write_log_directory(Workload(records=records, size=1000, topic=TOPIC, partitions=4), str(log_dir))
    size = sum(file.stat().st_size for file in log_dir.rglob("*.log"))
    spark = build_session("benchmark", master="local[2]")
    with s3_server() as server:
        reads = path_and_server(spark, log_dir, server, f"moto, all rows of {size / 1e6:.0f} MB")
        ratio = server.sent_bytes() / reads / size
        print(f"bytes sent by moto / those of the log: {ratio:.4f}, bar {RATIO_BAR}: {verdict(ratio <= RATIO_BAR)}")
    try:
        with gofakes3_server() as server:
            path_and_server(spark, log_dir, server, f"gofakes3, all rows of {size / 1e6:.0f} MB")
    except pytest.skip.Exception as missing:
        print(missing)


def path_and_server(spark: SparkSession, log_dir: Path, server: S3Server, title: str) -> int:
    """Print what both take; how often all was read from the server."""
    uri = server.upload(log_dir, "logs")
    size = sum(file.stat().st_size for file in log_dir.rglob("*.log"))
    raw_s = [seconds(lambda: raw_ranges(server, uri, log_dir)) for _ in range(2)]

    def read(place: str, options: dict[str, str]) -> float:
        frame = spark.read.format("kafka-segments").options(**options).load(place)
        return seconds(lambda: frame.write.format("noop").mode("overwrite").save())

    pairs = [(read(str(log_dir), {}), read(uri, server.spark_options)) for _ in range(ROUNDS + 1)]
    warm = pairs[1:]  # the first loads and compiles
    speed = median(path for path, _ in warm) / median(s3 for _, s3 in warm)
    print(
        f"{title}, path/S3: {', '.join(f'{path:.2f}/{s3:.2f}' for path, s3 in warm)} s;"
        f" speed {speed:.2f}, bar {SPEED_BAR}: {verdict(speed >= SPEED_BAR)};"
        f" raw ranges alone: {size / min(raw_s) / 1e6:.0f} MB/s",
        flush=True,
    )
    return len(raw_s) + len(pairs)


def raw_ranges(server: S3Server, uri: str, log_dir: Path) -> None:
    """Fetch all of the log by ranges, two at a time, and do nothing with them."""
    files = ObjectFiles(uri, server.options)
    ranges = [
        (f"{uri}/{file.relative_to(log_dir)}", start, min(RAW_BYTES, file.stat().st_size - start))
        for file in log_dir.rglob("*.log")
        for start in range(0, file.stat().st_size, RAW_BYTES)
    ]

    def fetch(path: str, start: int, size: int) -> None:
        files.handle(path).read_into(memoryview(bytearray(size)), start)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(fetch, *zip(*ranges, strict=True)))


def checkouts(folder: Path, megabytes: int, pythons: tuple[Path, Path]) -> None:
    for size, codec in ((1000, Codec.NONE), (100, Codec.LZ4)):
        name = f"{size}-{codec.name.lower()}"
        log_dir = folder / name
        records = megabytes * 1_000_000 // size
        work = Workload(records=records, size=size, topic=TOPIC, partitions=4, codec=codec)
        write_log_directory(work, str(log_dir))
        taken: list[dict[str, list[float]]] = [{}, {}]
        for _ in range(2):
            for each, python in zip(taken, pythons, strict=True):
                for kind, times in read_times(python, log_dir).items():
                    each.setdefault(kind, []).extend(times)
        for kind in taken[0]:
            here, there = (min(each[kind]) for each in taken)
            print(
                f"{name} {kind}: least of {len(taken[0][kind])} {here:.2f} s, in the other checkout {there:.2f} s:"
                f" {here / there:.2f} times, bar {SLOWER_BAR}: {verdict(here <= SLOWER_BAR * there)}",
                flush=True,
            )


def read_times(python: Path, log_dir: Path) -> dict[str, list[float]]:
    command = [python, pipeline_times.__file__, log_dir, str(ROUNDS // 2)]
    found: dict[str, list[float]] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


def seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


if __name__ == "__main__":
    main()
