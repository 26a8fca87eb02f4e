"""The job `archive`: each record of a log directory or a broker, once, in a Parquet or Delta table."""

import argparse
import time

from ...protocol.plural import plural
from ..console_output import print_rows, print_to_stderr
from ..failures import BadUsage
from ..job_source import add_source_options, source_of
from ..kafka_connector import check_one_address_listens
from ..places.place_files import PlaceFiles, normalize
from ..session import build_session
from ..sources.options import read_options, size_option
from ..spark_packages import DELTA_SETTINGS, jar_settings
from .broker_archive import BrokerArchive, archive_records, note_or_check_identity
from .log_archive import LogArchive, archive_new_batches
from .partitioning import KINDS
from .work import run_on_workers

DEFAULT_FILE_BYTES = "128m"
ISOLATION_LEVELS = ("read_uncommitted", "read_committed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    parser.usage = "%(prog)s [options] LOG_DIR OUT\n       %(prog)s [options] --bootstrap HOST:PORT OUT"
    parser.add_argument("places", metavar="LOG_DIR OUT", nargs="+", help="a log directory, and where the table is kept")
    parser.add_argument("--bootstrap", metavar="ADDR", help="HOST:PORT of a running broker to read from")
    parser.add_argument("--format", choices=("parquet", "delta"), default="parquet", help="of the table (parquet)")
    parser.add_argument(
        "--partition-by", choices=KINDS, default="date", help="by topic and day (date), month, or by topic alone"
    )
    add_source_options(parser)
    parser.add_argument(
        "--isolation-level", choices=ISOLATION_LEVELS, default=ISOLATION_LEVELS[0], help="as a consumer's"
    )
    parser.add_argument(
        "--trigger", default="once", metavar="once|SECONDS", help="what is there now, or go on every SECONDS"
    )
    parser.add_argument("--max-offsets", type=int, help="most offsets of a batch; default: all there are")
    parser.add_argument("--jars", metavar="FOLDER", help="for --bootstrap: jars, where Spark cannot fetch them")
    logs = parser.add_argument_group("from a log directory")
    logs.add_argument("--lineage", action="store_true", help="columns segment, batch and epoch: where a record lay")
    logs.add_argument(
        "--timestamp-ms", action="store_true", help="column timestampMs: the stored number, whatever Spark can hold"
    )
    logs.add_argument("--file-bytes", default=DEFAULT_FILE_BYTES, help="how much of the logs a file is made of, 128m")
    logs.add_argument("--skip-lost", action="store_true", help="go on where offsets are gone before they were archived")


def run(arguments: argparse.Namespace) -> None:
    """Archive what is there, or continue until SIGINT or SIGTERM where --trigger names seconds."""
    *sources, out = arguments.places
    if len(sources) != (arguments.bootstrap is None):
        raise BadUsage("name a log directory or --bootstrap ADDR, and then where the archive goes")
    every_s = _parse_trigger(arguments.trigger)
    row = (
        _archive_from_broker(arguments, out, every_s)
        if arguments.bootstrap
        else _archive_from_logs(arguments, sources[0], normalize(out), every_s)
    )
    print_rows("archive", [row], as_json=arguments.json)


def _archive_from_broker(arguments: argparse.Namespace, out: str, every_s: float | None) -> dict[str, object]:
    if arguments.lineage:
        raise BadUsage("--lineage is told by segments: a broker does not tell it")
    if arguments.timestamp_ms:
        raise BadUsage("--timestamp-ms is of log directories: Spark's connector does not tell it")
    archive = BrokerArchive(
        out=out,
        format=arguments.format,
        bootstrap=arguments.bootstrap,
        topics=arguments.topics,
        max_offsets=arguments.max_offsets,
        isolation_level=arguments.isolation_level,
        partition_by=arguments.partition_by,
    )
    check_one_address_listens(archive.bootstrap)
    is_delta = archive.format == "delta"
    jars = jar_settings(["connector", "delta"] if is_delta else ["connector"], arguments.jars)
    note_or_check_identity(archive)
    settings = jars | (dict(DELTA_SETTINGS) if is_delta else {})
    session = build_session("archive", master=arguments.master, settings=settings)
    return archive_records(session, archive, every_s)


def _archive_from_logs(
    arguments: argparse.Namespace, log_dir: str, out: str, every_s: float | None
) -> dict[str, object]:
    archive = _make_log_archive(arguments, log_dir, out)
    run = run_on_workers("archive", arguments.master)
    batches = rows = size_bytes = files = 0
    try:
        while True:
            for written in archive_new_batches(run, archive):
                print_to_stderr(
                    f"batch {batches}: {sum(file.rows for file in written):,} rows in {plural(len(written), 'file')}"
                )
                batches += 1
                files += len(written)
                rows += sum(file.rows for file in written)
                size_bytes += sum(file.size_bytes for file in written)
            if every_s is None:
                break
            time.sleep(every_s)
    except KeyboardInterrupt:
        if every_s is None:
            raise
    return {"out": out, "format": archive.format, "batches": batches, "rows": rows, "files": files, "bytes": size_bytes}


def _make_log_archive(arguments: argparse.Namespace, log_dir: str, out: str) -> LogArchive:
    """Raises: BadUsage."""
    arguments.log_dir = log_dir
    source = source_of(arguments, out)
    for path in (source.path, *source.beside):
        if not PlaceFiles(source.store).is_directory(path):
            raise BadUsage(f"no such log directory: {path}")
    given = source.spark_options() | {"isolation.level": arguments.isolation_level}
    if arguments.max_offsets is not None and arguments.max_offsets < 1:
        raise BadUsage(f"--max-offsets is a number above 0, not {arguments.max_offsets}")
    return LogArchive(
        options=read_options(given),
        out=out,
        format=arguments.format,
        file_bytes=size_option({"--file-bytes": arguments.file_bytes}, "--file-bytes", 0),
        lineage=arguments.lineage,
        timestamp_ms=arguments.timestamp_ms,
        partition_by=arguments.partition_by,
        max_offsets=arguments.max_offsets,
        lost_is_failure=not arguments.skip_lost,
    )


def _parse_trigger(trigger: str) -> float | None:
    if trigger == "once":
        return None
    try:
        seconds = float(trigger)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise BadUsage(f"--trigger takes once or a number of seconds, found {trigger!r}")
    return seconds
