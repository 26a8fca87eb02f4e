"""The job `archive`: each record of a broker or a log directory, once, into Parquet files or a Delta table.

| part | what it remembers | where |
|---|---|---|
| checkpoint | which offsets a batch has, before it is written; that it is done, after | OUT/_checkpoint |
| Parquet sink | which files belong to batches that were committed | OUT/_spark_metadata |
| Delta sink | the stream's id and its last batch (`txn` of the commit): a repeated one is left out | OUT/_delta_log |

A batch that was interrupted is written again from the same offsets. What an unfinished one left in a Parquet
directory stays there as files that `_spark_metadata` does not list: Spark leaves them out, other readers do not know.
`OUT/_archive.json` keeps a job for another source or format from using this checkpoint.
"""

import argparse
import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .failures import BadUsage
from .job_source import Source, add_source_options, source_of
from .places.place_files import PlaceFiles, is_remote
from .printing import print_rows, say
from .spark_packages import DELTA_SETTINGS, JarSet, broker_errors, check_reachable, find_jars, read_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Format = Literal["parquet", "delta"]
CHECKPOINT = "_checkpoint"
IDENTITY = "_archive.json"
LOOK_EVERY_S = 1
_PARQUET_NOTE = (
    "Parquet is exact for readers that heed _spark_metadata, as Spark does; others may see files of batches that were "
    "cut off and written again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The source and the target: one of `logs` and `bootstrap` is given. `topics` None: all but internal ones."""

    out: str
    format: Format
    logs: Source | None = None
    bootstrap: str | None = None
    topics: str | None = None
    max_offsets: int | None = None

    @property
    def jars(self) -> JarSet | None:
        """What the session needs beyond Spark."""
        if self.format == "delta":
            return "delta"
        return None if self.bootstrap is None else "connector"

    @property
    def identity(self) -> dict[str, str | None]:
        """The settings that have to be the same in every run."""
        log_dir = None if self.logs is None else PlaceFiles().absolute(self.logs.path)
        found = {"log_dir": log_dir, "bootstrap": self.bootstrap, "topics": self.topics, "format": self.format}
        tiered = {} if self.logs is None or self.logs.tiered_path is None else {"tiered": self.logs.tiered_path}
        return found | tiered


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    parser.add_argument("places", metavar="[LOG_DIR] OUT", nargs="+", help="no log directory with --bootstrap")
    parser.add_argument("--bootstrap", metavar="ADDR", help="HOST:PORT of a running broker to read from")
    parser.add_argument("--format", choices=("parquet", "delta"), default="parquet")
    add_source_options(parser)
    parser.add_argument(
        "--trigger",
        default="once",
        metavar="once|SECONDS",
        help="what is there now, or go on with a batch each SECONDS",
    )
    parser.add_argument("--max-offsets", type=int, help="most offsets of a batch; default: all there are")


def run(arguments: argparse.Namespace) -> None:
    """Archive what is there, or continue until SIGINT or SIGTERM where --trigger names seconds."""
    archive = _archive(arguments)
    every_s = _every_s(arguments.trigger)
    if archive.bootstrap is not None:
        check_reachable(archive.bootstrap)
    jars = () if archive.jars is None else find_jars(archive.jars)
    check_identity(archive)
    from .session import build_session

    settings = DELTA_SETTINGS if archive.format == "delta" else None
    session = build_session("archive", master=arguments.master, jars=jars, settings=settings)
    if archive.format == "parquet":
        say(_PARQUET_NOTE)
    with _stopped_by_sigterm():
        print_rows("archive", [archive_records(session, archive, every_s)], as_json=arguments.json)


def archive_records(spark: "SparkSession", archive: Archive, every_s: float | None = None) -> dict[str, object]:
    """Archive what is there, or with `every_s` all records that come until an interrupt; return how many there were.

    Raises: PipelineFailure.
    """
    rows = records(spark, archive)
    writer = rows.writeStream.format(archive.format).partitionBy("topic", "date").outputMode("append")
    writer = writer.option("checkpointLocation", f"{archive.out}/{CHECKPOINT}")
    if every_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{every_s} seconds")
    query = writer.start(archive.out)
    with broker_errors():
        done = _follow(query)
    return {"out": archive.out, "format": archive.format, "batches": len(done), "rows": sum(done.values())}


def records(spark: "SparkSession", archive: Archive) -> "DataFrame":
    """The stream of all records with the date (UTC) of their timestamp; magic 0 has none, which is -1: 1969-12-31."""
    if archive.bootstrap is not None:
        source, options = "kafka", read_options(archive.bootstrap, archive.topics)
    else:
        assert archive.logs is not None
        source = "kafka-segments"
        options = archive.logs.spark_options() | {"includeHeaders": "true", "startingOffsets": "earliest"}
    if archive.max_offsets is not None:
        options["maxOffsetsPerTrigger"] = str(archive.max_offsets)
    rows = spark.readStream.format(source).options(**options).load()
    return rows.selectExpr("*", "CAST(timestamp AS date) AS date")


def check_identity(archive: Archive) -> None:
    """Note what this directory archives, or compare it with what was noted.

    Raises: BadUsage when it is the archive of something else.
    """
    if is_remote(archive.out):  # a store of objects, which only Spark can write
        return
    file = Path(archive.out) / IDENTITY
    text = json.dumps(archive.identity)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    elif json.loads(file.read_text()) != json.loads(text):
        raise BadUsage(
            f"{archive.out} is the archive of something else: {file} says {file.read_text().strip()}; if that has only "
            "moved, change what the file says"
        )


def _archive(arguments: argparse.Namespace) -> Archive:
    *sources, out = arguments.places
    if len(sources) != (arguments.bootstrap is None):
        raise BadUsage("name a log directory or --bootstrap ADDR, and then where the archive goes")
    arguments.log_dir = sources[0] if sources else ""
    logs = source_of(arguments) if sources else None
    if logs is not None and not PlaceFiles(logs.store).is_directory(logs.path):
        raise BadUsage(f"no such log directory: {logs.path}")
    return Archive(
        out=out,
        format=arguments.format,
        logs=logs,
        bootstrap=arguments.bootstrap,
        topics=arguments.topics,
        max_offsets=arguments.max_offsets,
    )


def _every_s(trigger: str) -> float | None:
    if trigger == "once":
        return None
    try:
        seconds = float(trigger)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise BadUsage(f"--trigger takes once or a number of seconds, found {trigger!r}")
    return seconds


def _follow(query: "StreamingQuery") -> Mapping[int, int]:
    """Wait for the query's end, telling of each batch; return the rows by batch."""
    done: dict[int, int] = {}
    try:
        while True:
            ended = query.awaitTermination(LOOK_EVERY_S)
            for step in query.recentProgress:
                if step["numInputRows"] and step["batchId"] not in done:
                    done[step["batchId"]] = step["numInputRows"]
                    say(f"batch {step['batchId']}: {step['numInputRows']:,} rows")
            if ended:
                return done
    except KeyboardInterrupt:
        return done
    finally:
        query.stop()


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Within the block SIGTERM raises KeyboardInterrupt, as SIGINT does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
