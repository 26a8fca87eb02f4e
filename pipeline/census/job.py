"""The job `census`: counts from batch headers alone, and with --exact from what the batches become."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from ..console_output import print_rows, print_to_stderr
from ..failures import BadUsage
from ..job_source import Source, add_source_arguments, source_of
from ..places.place_files import PlaceFiles, is_remote
from ..progress import show_progress
from ..session import build_session
from .downconversion_costs import SegmentCostTask
from .downconversion_costs_by_segment import costs_by_topic, make_batch_costs_frame, sum_by_segment
from .report import write_report, write_report_page
from .report_summary import SummaryScope
from .tables import (
    COUNTED,
    by_day,
    by_magic,
    by_topic,
    bytes_by_magic_and_codec,
    count_batches,
    damage_table,
    skew_by_topic,
)

DEFAULT_BATCH_SIZE = 16_384
DEFAULT_FETCH_BYTES = 1_048_576
DEFAULT_MAX_MESSAGE_BYTES = 1_048_588


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    add_source_arguments(parser)
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
    parser.add_argument("--html", metavar="FILE", help="the page report.html alone, under this path")


def run(arguments: argparse.Namespace) -> None:
    """Count, print and keep. Raises: PipelineFailure."""
    source = source_of(arguments)
    tasks = segment_cost_tasks(arguments, source)  # bad usage fails before Spark starts
    _check_page_path(arguments.html)
    print_to_stderr(f"{len(tasks)} segments, {sum(task.segment.bytes_to_read for task in tasks):,} bytes")
    session = build_session("census", master=arguments.master)
    size_bytes = sum(task.segment.bytes_to_read for task in tasks)
    with show_progress(session, "census", segments=len(tasks), size_bytes=size_bytes):
        tables = _report_batch_counts(session, arguments, source)
    if arguments.exact:
        with show_progress(session, "conversion", segments=len(tasks), size_bytes=size_bytes):
            tables["conversion"] = _count_conversion_costs(session, arguments, tasks)
    about = SummaryScope(place=source.joined_directories, segments=len(tasks), bytes=size_bytes, magic=arguments.magic)
    if arguments.out:
        if not is_remote(arguments.out):  # which only Spark can write
            write_report(arguments.out, tables, about)
        print_to_stderr(f"tables are in {arguments.out}")
    if arguments.html:
        write_report_page(Path(arguments.html), tables, about)
        print_to_stderr(f"the page is {arguments.html}")


def _check_page_path(path: str | None) -> None:
    """Raises: BadUsage for a page that cannot be written; after all was counted is too late to tell."""
    if path is not None and (is_remote(path) or not Path(path).absolute().parent.is_dir() or Path(path).is_dir()):
        raise BadUsage(f"--html takes the path of a file in a folder that is there, not {path}")


def _report_batch_counts(
    session: SparkSession, arguments: argparse.Namespace, source: Source
) -> dict[str, list[dict[str, object]]]:
    """Print and keep what the headers tell, and return it by table."""
    reader = session.read.format("kafka-batches").schema(COUNTED).options(**source.spark_options())
    batches = reader.options(skipCorrupt=str(arguments.skip_corrupt), failOnDataLoss="false").load()
    counts = count_batches(batches, arguments.magic, arguments.batch_size).persist()
    tables = {}
    frames = {
        "formats": bytes_by_magic_and_codec(counts),
        "topics": by_topic(counts),
        "partitions": skew_by_topic(counts),
        "days": by_day(counts),
        "kafka_4": by_magic(counts),
        "damage": damage_table(batches),
    }
    for name, frame in frames.items():
        tables[name] = [row.asDict() for row in frame.collect()]
        if tables[name] or name != "damage":
            print_rows(name, tables[name], as_json=arguments.json)
        if arguments.out:
            frame.write.mode("overwrite").parquet(f"{arguments.out}/{name}")
    counts.unpersist()
    return tables


def _count_conversion_costs(
    session: SparkSession, arguments: argparse.Namespace, tasks: Sequence[SegmentCostTask]
) -> list[dict[str, object]]:
    """Print and keep what conversion costs, by batch, segment and topic, and return it by topic."""
    costs = make_batch_costs_frame(session, tasks)
    if arguments.out:  # every batch is converted once, to be kept; the rest is counted from what was kept
        batches = f"{arguments.out}/batches"
        costs.write.mode("overwrite").parquet(batches)
        costs = session.read.schema(costs.schema).parquet(batches)
    segments = sum_by_segment(costs)
    if arguments.out:
        segments.write.mode("overwrite").parquet(f"{arguments.out}/conversion")
    table = costs_by_topic(segments.collect())
    print_rows("conversion", table, as_json=arguments.json)
    return table


def segment_cost_tasks(arguments: argparse.Namespace, source: Source) -> list[SegmentCostTask]:
    """A task a segment, the largest first."""
    tasks = [
        SegmentCostTask(
            topic=log.topic,
            partition=log.partition,
            segment=segment,
            magic=arguments.magic,
            fetch_bytes=arguments.fetch_max_bytes,
            max_message_bytes=arguments.max_message_bytes,
            store=source.store,
        )
        for log in source.find_logs(PlaceFiles(source.store))
        for segment in log.segments
    ]
    return sorted(tasks, key=lambda task: -task.segment.bytes_to_read)
