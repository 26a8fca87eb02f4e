"""How fast does Spark read a log directory by `kafka-segments`, beside its own Kafka connector and the same broker?

    python benchmarks/pipeline_sources.py --megabytes 200 --rounds 5

Both read the same directory in one session of two cores, in turn; the connector's side includes the broker, which
serves that directory from the page cache. The first round is dropped, each later pair is printed, the ratio is that of
the medians. `rows`: all columns into a sink that drops them, checksums on. `metadata`: partition, offset and timestamp.
A pair waits until the machine's load is below --most-load. `decoding`: the compiled kernel against plain Python over
the same segment, by CPU seconds.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from stepdown.bench.servers import Stepdown
from stepdown.pipeline.connector import find_jars, read_options
from stepdown.pipeline.session import build_session
from stepdown.pipeline.workload.log_directory import write_log_directory
from stepdown.pipeline.workload.plan import Workload
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.columns import ColumnFiller, Wanted
from stepdown.protocol.records.layout import Codec

SIZES = {1000: 1.5, 100: 2.0}
"""Bytes of a record to the bar for reading all columns."""
DECODING = {1000: 1.8, 100: 5.0}
METADATA_BAR = 2.5
METADATA = ("partition int", "offset bigint", "timestamp timestamp")
CODECS = (Codec.NONE, Codec.LZ4, Codec.ZSTD)
PARTITIONS = 4
DECODED_BYTES = 8 << 20
WAIT_S = 5.0

Read = Callable[[], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200, help="of values a topic")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most-load", type=float, default=3.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stepdown-bench-") as folder, contextlib.ExitStack() as ends:
        broker = Stepdown(Path(folder), properties={"log.retention.ms": "-1"})
        topics = {name_of(size, codec): (size, codec) for size, codec in product(SIZES, CODECS)}
        for name, (size, codec) in topics.items():
            records = given.megabytes * 1_000_000 // size
            work = Workload(records=records, size=size, topic=name, partitions=PARTITIONS, codec=codec, keys="uniform")
            print(f"{name}: {write_log_directory(work, str(broker.log_dir)) / 1e6:,.0f} MB", flush=True)
        for size in SIZES:
            compare_decoding(broker.log_dir, size, given.rounds)
        broker.start()
        ends.callback(broker.kill)
        spark = build_session("benchmark", master="local[2]", jars=find_jars("connector"))
        ends.callback(spark.stop)
        for name, (size, _) in topics.items():
            ours, theirs = frames(spark, broker, name)
            compare(f"{name} rows", reading(ours), reading(theirs), SIZES[size], given.rounds, given.most_load)
            ours, theirs = frames(spark, broker, name, ", ".join(METADATA))
            names = [column.partition(" ")[0] for column in METADATA]
            theirs = theirs.select(names)
            compare(f"{name} metadata", reading(ours), reading(theirs), METADATA_BAR, given.rounds, given.most_load)


def name_of(size: int, codec: Codec) -> str:
    return f"{size}-{codec.name.lower()}"


def frames(spark: SparkSession, broker: Stepdown, topic: str, schema: str = "") -> tuple[DataFrame, DataFrame]:
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
        while (load := os.getloadavg()[0]) > most_load:
            print(f"  load {load:.1f} is above {most_load}: waiting", file=sys.stderr, flush=True)
            time.sleep(WAIT_S)
        pair = seconds(ours), seconds(theirs)
        if number:
            pairs.append(pair)
            print(f"  {title} {number}: {pair[0]:.2f} s, connector {pair[1]:.2f} s, load {load:.1f}", flush=True)
    report(title, pairs, bar)


def compare_decoding(log_dir: Path, size: int, rounds: int) -> None:
    data = (log_dir / f"{name_of(size, Codec.NONE)}-0" / f"{0:020d}.log").read_bytes()[:DECODED_BYTES]

    def native() -> None:
        filler = ColumnFiller(Wanted())
        for _ in filler.fill(data):
            filler.columns.clear()

    def plain() -> None:
        for batch in iter_batches(memoryview(data)):
            batch.ensure_valid()
            for _ in batch.records():
                pass

    pairs = [(seconds(native, time.process_time), seconds(plain, time.process_time)) for _ in range(rounds + 1)][1:]
    for number, (ours, theirs) in enumerate(pairs, 1):
        print(f"  {size} decoding {number}: native {ours:.3f} s, Python {theirs:.3f} s of CPU")
    report(f"{size} decoding", pairs, DECODING[size])


def report(title: str, pairs: list[tuple[float, float]], bar: float) -> None:
    ratio = median(theirs for _, theirs in pairs) / median(ours for ours, _ in pairs)
    worst, best = min(b / a for a, b in pairs), max(b / a for a, b in pairs)
    verdict = "met" if ratio >= bar else "MISSED"
    print(f"{title}: {ratio:.2f} x (pairs {worst:.2f} to {best:.2f}), bar {bar} x: {verdict}", flush=True)


def seconds(work: Read, clock: Callable[[], float] = time.perf_counter) -> float:
    before = clock()
    work()
    return clock() - before


if __name__ == "__main__":
    main()
