"""How fast does Spark read a log directory by `kafka-segments`, beside its own Kafka connector and the same broker?
And how does `convert` grow with cores?

    python bench/questions/pipeline_sources.py --megabytes 500 --rounds 5
    python bench/questions/pipeline_sources.py rows --broker kafka --codecs none lz4 snappy

Both read the same directory in one session of two cores, in turn; the connector's side includes the broker, stepdown
or Kafka 3.9.1, which serves that directory from the page cache. The first round is dropped, each later pair is printed,
the ratio is that of the medians. `rows`: all columns into a sink that drops them, checksums on. `metadata`: partition,
offset and timestamp. A pair waits until the machine's load is below --most-load. CPU seconds are those of this process
and all below it: Spark, its Python workers and the broker. `decoding`: the compiled kernel against plain Python over
the same segment, by CPU seconds. `convert`: gzip segments to magic 1 on one core and on two.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from stepdown.bench.load.filled_topics import create_topic
from stepdown.bench.servers.kafka import KafkaServer
from stepdown.bench.servers.maven import user_store
from stepdown.bench.servers.stepdown import Stepdown
from stepdown.pipeline.convert.job import plan_tasks
from stepdown.pipeline.convert.segment_conversion import convert_segment
from stepdown.pipeline.job_source import Source
from stepdown.pipeline.kafka_connector import read_options
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.session import build_session
from stepdown.pipeline.spark_packages import jar_settings
from stepdown.pipeline.workload.log_directory import write_log_directory
from stepdown.pipeline.workload.records import Workload
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.columns import ColumnFiller, WantedRows
from stepdown.protocol.records.layout import Codec
from stepdown.storage.files.partition_metadata import FILE_NAME as PARTITION_METADATA

SIZES = {1000: 1.5, 100: 2.0}
"""Bytes of a record to the bar for reading all columns."""
DECODING = {1000: 1.8, 100: 5.0}
METADATA_BAR = 2.5
METADATA = ("partition int", "offset bigint", "timestamp timestamp")
CODECS = (Codec.NONE, Codec.LZ4, Codec.ZSTD)
QUESTIONS = ("decoding", "rows", "metadata", "convert")
PARTITIONS = 4
DECODED_BYTES = 8 << 20
CONVERTED = "convert-gzip"
CONVERT_WALL_BAR, CONVERT_CPU_MOST = 1.3, 1.15
WAIT_S = 5.0

Read = Callable[[], None]


class Cost(NamedTuple):
    """What a piece of work took."""

    wall_s: float
    cpu_s: float

    def __str__(self) -> str:
        return f"{self.wall_s:.2f} s ({self.cpu_s:.2f} of CPU)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500, help="of values a topic; of less, Spark's jobs are most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most-load", type=float, default=3.0)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="bytes of a record")
    names = [codec.name.lower() for codec in CODECS]
    parser.add_argument("--codecs", nargs="*", default=names, help="by default none, lz4, zstd")
    parser.add_argument("--broker", choices=list(BROKERS), default=Stepdown.name, help="what serves the connector")
    parser.add_argument("questions", nargs="*", choices=QUESTIONS, default=QUESTIONS)
    given = parser.parse_args()
    codecs = [Codec[name.upper()] for name in given.codecs]
    workloads = [workload(size, codec, given.megabytes) for size, codec in product(given.sizes, codecs)]
    with tempfile.TemporaryDirectory(prefix="stepdown-bench-") as folder, contextlib.ExitStack() as ends:
        broker = BROKERS[given.broker](Path(folder), workloads)
        if "decoding" in given.questions and Codec.NONE in codecs:
            for size in given.sizes:
                compare_decoding(broker.log_dir, size, given.rounds)
        if {"rows", "metadata"} & set(given.questions):
            broker.start()
            ends.callback(broker.kill)
            compare_reads(broker, workloads, given)
        if "convert" in given.questions:
            compare_convert(Path(folder), given.megabytes, given.rounds, given.most_load)


def workload(size: int, codec: Codec, megabytes: int) -> Workload:
    records = megabytes * 1_000_000 // size
    topic = name_of(size, codec)
    return Workload(records=records, size=size, topic=topic, partitions=PARTITIONS, codec=codec, keys="uniform")


def write(workloads: Sequence[Workload], log_dir: Path) -> None:
    for work in workloads:
        print(f"{work.topic}: {write_log_directory(work, str(log_dir)) / 1e6:,.0f} MB", flush=True)


def stepdown_with(folder: Path, workloads: Sequence[Workload]) -> Stepdown:
    """stepdown, not started, with these topics."""
    broker = Stepdown(folder, properties={"log.retention.ms": "-1"})
    write(workloads, broker.log_dir)
    return broker


def kafka_with(folder: Path, workloads: Sequence[Workload]) -> KafkaServer:
    """Kafka 3.9.1, stopped, with these topics: it makes them, and is given their files, which keep its ids."""
    kafka = KafkaServer(folder, user_store())
    kafka.start()
    for work in workloads:
        create_topic(kafka.address, work.topic, work.partitions)
    kafka.stop()
    write(workloads, folder / "written")
    for work in workloads:
        for partition in range(work.partitions):
            name = f"{work.topic}-{partition}"
            shutil.move(kafka.log_dir / name / PARTITION_METADATA, folder / "written" / name / PARTITION_METADATA)
            shutil.rmtree(kafka.log_dir / name)
            shutil.move(folder / "written" / name, kafka.log_dir / name)
    return kafka


BROKERS: Mapping[str, Callable[[Path, Sequence[Workload]], Stepdown | KafkaServer]] = {
    Stepdown.name: stepdown_with,
    KafkaServer.name: kafka_with,
}


def compare_reads(broker: Stepdown | KafkaServer, workloads: Sequence[Workload], given: argparse.Namespace) -> None:
    spark = build_session("benchmark", master="local[2]", settings=jar_settings(["connector"]))
    for work in workloads:
        if "rows" in given.questions:
            ours, theirs = frames(spark, broker, work.topic)
            bar = SIZES[work.size]
            compare(f"{work.topic} rows", reading(ours), reading(theirs), bar, given.rounds, given.most_load)
        if "metadata" in given.questions:
            ours, theirs = frames(spark, broker, work.topic, ", ".join(METADATA))
            theirs = theirs.select([column.partition(" ")[0] for column in METADATA])
            title = f"{work.topic} metadata"
            compare(title, reading(ours), reading(theirs), METADATA_BAR, given.rounds, given.most_load)
    spark.stop()


def name_of(size: int, codec: Codec) -> str:
    return f"{size}-{codec.name.lower()}"


def frames(
    spark: SparkSession, broker: Stepdown | KafkaServer, topic: str, schema: str = ""
) -> tuple[DataFrame, DataFrame]:
    reader = spark.read.format("kafka-segments").options(path=str(broker.log_dir), subscribe=topic)
    ours = (reader.schema(schema) if schema else reader).load()
    theirs = spark.read.format("kafka").options(**read_options(broker.address, topic, headers=False)).load()
    return ours, theirs


def reading(frame: DataFrame) -> Read:
    return lambda: frame.write.format("noop").mode("overwrite").save()


def compare(title: str, ours: Read, theirs: Read, bar: float, rounds: int, most_load: float) -> None:
    """Prints each pair after a dropped first, and the ratio of the medians."""
    pairs = []
    for number in range(rounds + 1):
        load = wait_for_load(most_load)
        pair = cost(ours), cost(theirs)
        if number:
            pairs.append(pair)
            print(f"  {title} {number}: {pair[0]}, connector {pair[1]}, load {load:.1f}", flush=True)
    cpu = ratio([(a.cpu_s, b.cpu_s) for a, b in pairs])
    report(title, [(a.wall_s, b.wall_s) for a, b in pairs], bar, f"; CPU {cpu:.2f} x")


def compare_convert(folder: Path, megabytes: int, rounds: int, most_load: float) -> None:
    """One core and two in turn, each in a session of its own whose start is not counted."""
    source = folder / CONVERTED
    work = Workload(records=megabytes * 1000, topic=CONVERTED, partitions=PARTITIONS, codec=Codec.GZIP)
    write_log_directory(work, str(source), segment_bytes=max(1 << 20, megabytes * 1_000_000 // 3 // 16))
    walls, cpus = [], []
    for number in range(rounds + 1):
        load = wait_for_load(most_load)
        one = convert(source, folder / "converted", "local[1]")
        load = max(load, wait_for_load(most_load))
        two = convert(source, folder / "converted", "local[2]")
        if number:
            walls.append((two.wall_s, one.wall_s))
            cpus.append((two.cpu_s, one.cpu_s))
            print(f"  convert {number}: local[1] {one}, local[2] {two}, load {load:.1f}", flush=True)
    report("convert, local[1] to local[2]", walls, CONVERT_WALL_BAR)
    more = 1 / ratio(cpus)
    met = verdict(more <= CONVERT_CPU_MOST)
    print(f"convert, task CPU local[2] / local[1]: {more:.2f}, at most {CONVERT_CPU_MOST}: {met}")


def convert(source: Path, out: Path, master: str) -> Cost:
    """Wall time of all tasks, and the CPU seconds that they count themselves."""
    spark = build_session("benchmark", master=master)
    tasks = plan_tasks(PlaceFiles(), Source(path=str(source)), str(out), 1, None)
    context = spark.sparkContext
    context.parallelize(range(8), 8).map(float).collect()  # the workers are there
    before = time.perf_counter()
    outcomes = context.parallelize(tasks, len(tasks)).map(convert_segment).collect()
    wall_s = time.perf_counter() - before
    spark.stop()
    shutil.rmtree(out)
    return Cost(wall_s, sum(outcome.cpu_s for outcome in outcomes))


def wait_for_load(most: float) -> float:
    """Return the machine's load once it is low enough."""
    while (load := os.getloadavg()[0]) > most:
        print(f"  load {load:.1f} is above {most}: waiting", file=sys.stderr, flush=True)
        time.sleep(WAIT_S)
    return load


def compare_decoding(log_dir: Path, size: int, rounds: int) -> None:
    data = (log_dir / f"{name_of(size, Codec.NONE)}-0" / f"{0:020d}.log").read_bytes()[:DECODED_BYTES]

    def native() -> None:
        filler = ColumnFiller(WantedRows())
        for _ in filler.fill(data):
            filler.columns.clear()

    def plain() -> None:
        for batch in iter_batches(memoryview(data)):
            batch.ensure_valid()
            for _ in batch.records():
                pass

    pairs = [(cost(native).cpu_s, cost(plain).cpu_s) for _ in range(rounds + 1)][1:]
    for number, (ours, theirs) in enumerate(pairs, 1):
        print(f"  {size} decoding {number}: native {ours:.3f} s, Python {theirs:.3f} s of CPU")
    report(f"{size} decoding", pairs, DECODING[size])


def report(title: str, pairs: list[tuple[float, float]], bar: float, beside: str = "") -> None:
    found = ratio(pairs)
    worst, best = min(b / a for a, b in pairs), max(b / a for a, b in pairs)
    print(
        f"{title}: {found:.2f} x (pairs {worst:.2f} to {best:.2f}){beside}, bar {bar} x: {verdict(found >= bar)}",
        flush=True,
    )


def ratio(pairs: list[tuple[float, float]]) -> float:
    return median(theirs for _, theirs in pairs) / median(ours for ours, _ in pairs)


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def cost(work: Read) -> Cost:
    wall, cpu = time.perf_counter(), tree_cpu_s()
    work()
    return Cost(time.perf_counter() - wall, tree_cpu_s() - cpu)


def tree_cpu_s() -> float:
    """CPU seconds of this process and its descendants, those that have ended and been waited for among them."""
    own = time.process_time()
    parents, spent = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            pid = int(stat.parent.name)
            parents[pid], spent[pid] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    below, generation = 0.0, {os.getpid()}
    while generation := {pid for pid, parent in parents.items() if parent in generation}:
        below += sum(spent[pid] for pid in generation)
    return own + below


if __name__ == "__main__":
    main()
