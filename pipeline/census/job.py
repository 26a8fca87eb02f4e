"""The job `census`: counts from batch headers alone, and with --exact from what the batches become."""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..job_output import print_rows, say
from ..job_source import Source, add_source, source_of
from ..places.place_files import PlaceFiles
from ..progress import progress
from ..session import build_session
from .answers import Counted
from .downconversion_costs import ExactTask
from .exact_census import batch_costs, by_segment, summary
from .report import write_report

COUNTED = (
    "topic string, partition int, size int, magic int, codec string, records int, control boolean,"
    " maxTimestamp timestamp"
)
"""The columns of `kafka-batches` that are counted; the others are not made."""
DEFAULT_BATCH_SIZE = 16_384
DEFAULT_FETCH_BYTES = 1_048_576
DEFAULT_MAX_MESSAGE_BYTES = 1_048_588


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    add_source(parser)
    parser.add_argument(
        "--magic", type=int, choices=(0, 1), default=1, help="message format that the old clients read (default 1)"
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=DEFAULT_BATCH_SIZE,
        help="batch.size of the producers, 16384: what a full batch is",
    )
    parser.add_argument("--exact", action="store_true", help="convert every batch and tell what fetches would cost")
    parser.add_argument(
        "--fetch-max-bytes", type=int, default=DEFAULT_FETCH_BYTES, help="with --exact: size of a fetch, 1 MiB"
    )
    parser.add_argument(
        "--max-message-bytes",
        type=int,
        default=DEFAULT_MAX_MESSAGE_BYTES,
        help="with --exact: max.message.bytes of the topics",
    )
    parser.add_argument("--skip-corrupt", action="store_true", help="pass damaged batches by, and tell of them")
    parser.add_argument("--out", help="folder for the tables as Parquet and report.html, replaced")


def run(arguments: argparse.Namespace) -> None:
    """Count, print and keep. Raises: PipelineFailure."""
    source = source_of(arguments)
    tasks = exact_tasks(arguments, source)  # bad usage is told before Spark starts
    say(f"{len(tasks)} segments, {sum(task.segment.counted_bytes for task in tasks):,} bytes")
    session = build_session("census", master=arguments.master)
    size_bytes = sum(task.segment.counted_bytes for task in tasks)
    with progress(session, "census", segments=len(tasks), size_bytes=size_bytes):
        tables = _count(session, arguments, source)
    if arguments.exact:
        with progress(session, "conversion", segments=len(tasks), size_bytes=size_bytes):
            tables["conversion"] = _count_exactly(session, arguments, tasks)
    if arguments.out:
        if "://" not in arguments.out:  # else a store of objects, which only Spark can write
            about = Counted(
                place=source.path,
                segments=len(tasks),
                bytes=size_bytes,
                magic=arguments.magic,
            )
            write_report(arguments.out, tables, about)
        say(f"tables are in {arguments.out}")


def _count(session: SparkSession, arguments: argparse.Namespace, source: Source) -> dict[str, list[dict[str, object]]]:
    """Print and keep what the headers tell, and return it by table."""
    reader = session.read.format("kafka-batches").schema(COUNTED).options(**source.spark_options())
    batches = reader.option("skipCorrupt", str(arguments.skip_corrupt)).load()
    counts = count_batches(batches, arguments.magic, arguments.batch_size).persist()
    tables = {}
    frames = {
        "formats": formats(counts),
        "topics": by_topic(counts),
        "partitions": skew(counts),
        "days": by_day(counts),
    }
    for name, frame in frames.items():
        tables[name] = [row.asDict() for row in frame.collect()]
        print_rows(name, tables[name], as_json=arguments.json)
        if arguments.out:
            frame.write.mode("overwrite").parquet(f"{arguments.out}/{name}")
    counts.unpersist()
    return tables


def _count_exactly(
    session: SparkSession, arguments: argparse.Namespace, tasks: Sequence[ExactTask]
) -> list[dict[str, object]]:
    """Print and keep what conversion costs, by batch, segment and topic, and return it by topic."""
    costs = batch_costs(session, tasks)
    if arguments.out:  # every batch is converted once, to be kept; the rest is counted from what was kept
        batches = f"{arguments.out}/batches"
        costs.write.mode("overwrite").parquet(batches)
        costs = session.read.schema(costs.schema).parquet(batches)
    segments = by_segment(costs)
    if arguments.out:
        segments.write.mode("overwrite").parquet(f"{arguments.out}/conversion")
    table = summary(segments.collect())
    print_rows("conversion", table, as_json=arguments.json)
    return table


def count_batches(batches: DataFrame, magic: int, batch_size: int) -> DataFrame:
    """One row a partition, magic, codec and day; everything else is summed up from these."""
    data = batches.where(~F.col("control")).withColumn("day", _day())
    is_zstd = F.col("codec") == "zstd"  # refused, not converted
    down = F.when((F.col("magic") > magic) & ~is_zstd, F.col("size")).otherwise(0)
    zstd = F.when(is_zstd, F.col("size")).otherwise(0)
    return data.groupBy("topic", "partition", "magic", "codec", "day").agg(
        F.count("*").alias("batches"),
        F.sum("records").alias("records"),
        F.sum("size").alias("bytes"),
        F.sum(down).alias("converted_bytes"),
        F.sum(zstd).alias("zstd_bytes"),
        F.sum(F.col("size") / batch_size).alias("fill"),
        F.sum(F.when(F.col("records").isNull(), 1).otherwise(0)).alias("unopened"),
    )


def formats(counts: DataFrame) -> DataFrame:
    """By topic, magic and codec. `records` of compressed v0 and v1 batches are not known from their headers."""
    return (
        counts.groupBy("topic", "magic", "codec")
        .agg(
            F.sum("batches").alias("batches"),
            F.sum("records").alias("records"),
            F.sum("bytes").alias("bytes"),
            F.sum("unopened").alias("unopened_batches"),
        )
        .orderBy("topic", "magic", "codec")
    )


def by_topic(counts: DataFrame) -> DataFrame:
    """By topic: what is converted down, how full batches are, what old clients cannot have."""
    return (
        counts.groupBy("topic")
        .agg(
            F.sum("bytes").alias("bytes"),
            (F.sum("converted_bytes") / F.sum("bytes")).alias("converted_share"),
            (F.sum("fill") / F.sum("batches")).alias("batch_fill"),
            (F.sum("records") / (F.sum("batches") - F.sum("unopened"))).alias("records_a_batch"),
            F.sum("zstd_bytes").alias("zstd_bytes"),
        )
        .orderBy("topic")
    )


def by_day(counts: DataFrame) -> DataFrame:
    """By day (UTC) of the batches' largest timestamps and topic; magic 0 has none."""
    return (
        counts.groupBy("day", "topic")
        .agg(F.sum("batches").alias("batches"), F.sum("records").alias("records"), F.sum("bytes").alias("bytes"))
        .orderBy("day", "topic")
    )


def _day() -> Column:
    """The day of a batch, null where it has no timestamp."""
    time = F.col("maxTimestamp")
    return F.when(time >= F.lit(0).cast("timestamp"), F.to_date(time))


def skew(counts: DataFrame) -> DataFrame:
    """By topic: its partitions, and how far the largest is above the mean (KIP-480 compares partitioners so)."""
    partitions = counts.groupBy("topic", "partition").agg(
        F.sum("records").alias("records"), F.sum("bytes").alias("bytes")
    )
    return (
        partitions.groupBy("topic")
        .agg(
            F.count("*").alias("partitions"),
            F.max("records").alias("most_records"),
            F.avg("records").alias("mean_records"),
            (F.max("records") / F.avg("records")).alias("skew"),
        )
        .orderBy("topic")
    )


def exact_tasks(arguments: argparse.Namespace, source: Source) -> list[ExactTask]:
    """A task a segment, the largest first."""
    tasks = [
        ExactTask(
            topic=log.topic,
            partition=log.partition,
            segment=segment,
            magic=arguments.magic,
            fetch_bytes=arguments.fetch_max_bytes,
            max_message_bytes=arguments.max_message_bytes,
            store=source.store,
        )
        for log in source.logs(PlaceFiles(source.store))
        for segment in log.segments
    ]
    return sorted(tasks, key=lambda task: -task.segment.counted_bytes)
