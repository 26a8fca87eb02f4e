"""The job `bench-report`: benchmark runs as Parquet tables, one HTML file with pictures in it, and PNGs.

`--follow` streams files into OUT/lines as they appear, each once, and makes the report anew after each batch; the
tables are always computed in batch from all that is there.
"""

import argparse
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from ..console_output import print_rows, say
from ..failures import BadUsage
from ..html_report import Section, write_page
from ..report_picture import Picture
from . import tables
from .pictures import draw_latency, draw_memory, draw_throughput
from .result_lines import JSON_OPTIONS, JSON_SCHEMA, checked, read_lines
from .tables import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REPORT = "report.html"
_LINES, _CHECKPOINT = "lines", "_checkpoint"
_THROUGHPUT = "Medians of all rounds, with the slowest and the fastest; unconverted: sent as stored."
_MEMORY = (
    "The most that was seen, medians over rounds; above idle: as the runs themselves give it. The limit is that of the "
    "budget for conversions, beside it what the fetch asked for."
)
_LATENCY = "Exact percentiles of all requests; ratios to the baseline; the spread of p99 is that of the runs."
_MACHINES = "The load average is that of the minute before the run began."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    parser.add_argument("places", metavar="EVENTS OUT", nargs="+", help="files or folders of runs, and where to")
    parser.add_argument("--baseline", metavar="CONFIG", help="what latencies are compared with; default: the first")
    parser.add_argument("--follow", type=float, metavar="SECONDS", help="look each SECONDS for new files in a folder")


def run(arguments: argparse.Namespace) -> None:
    """Make the report, and with --follow make it anew until SIGINT or SIGTERM."""
    from ..session import build_session

    *places, out = arguments.places
    if not places:
        raise BadUsage("name the files of runs and then where the report goes")
    if arguments.follow is not None and (len(places) > 1 or not Path(places[0]).is_dir()):
        raise BadUsage("--follow watches one folder of .jsonl files")
    spark = build_session("bench-report", master=arguments.master)
    if arguments.follow is None:
        _tell(make_report(read_lines(spark, places), Path(out), arguments.baseline), as_json=arguments.json)
        return
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    while not over.is_set():
        if take_new_files(spark, places[0], Path(out)):
            sections = make_report(followed_lines(spark, Path(out)), Path(out), arguments.baseline)
            _tell(sections, as_json=arguments.json)
        over.wait(arguments.follow)


def make_report(lines: "DataFrame", out: Path, baseline: str | None = None) -> list[Section]:
    """Write the tables as Parquet, the page and the pictures to `out`; return what the page shows.

    Raises: BadUsage when no run has the baseline.
    """
    out.mkdir(parents=True, exist_ok=True)
    latencies = tables.with_ratios(_rows(tables.latency(lines)), baseline)
    if baseline is not None and baseline not in {row["config"] for row in latencies}:
        raise BadUsage(f"no run has the config {baseline!r}")
    sections = [
        _section("throughput by chunk size", _rows(tables.throughput(lines)), _THROUGHPUT, draw_throughput),
        Section(
            title="peak memory",
            about=_MEMORY,
            rows=_rows(tables.memory(lines)),
            picture=_picture(_rows(tables.memory_over_time(lines)), draw_memory),
        ),
        _section("latency", latencies, _LATENCY, draw_latency),
        Section(title="machines", about=_MACHINES, rows=_rows(tables.machines(lines))),
    ]
    shown = [section for section in sections if section.rows]
    for section in shown:
        _write_parquet(section.rows, out / f"{section.title.replace(' ', '-')}.parquet")
        if section.picture is not None:
            section.picture.save_png(out)
    write_page(out / REPORT, "stepdown benchmarks", shown)
    return shown


def take_new_files(spark: "SparkSession", folder: str, out: Path) -> int:
    """Append the lines of files that were not there before to OUT/lines; return how many lines they have."""
    stream = spark.readStream.schema(JSON_SCHEMA).options(pathGlobFilter="*.json*", **JSON_OPTIONS).json(folder)
    writer = stream.selectExpr("*", "_metadata.file_path AS file").writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(out / _CHECKPOINT)).trigger(availableNow=True)
    query = writer.start(str(out / _LINES))
    query.awaitTermination()
    return sum(step["numInputRows"] for step in query.recentProgress)


def followed_lines(spark: "SparkSession", out: Path) -> "DataFrame":
    """All lines that were taken so far. Raises: PipelineFailure for one that is none."""
    return checked(spark.read.parquet(str(out / _LINES)))


def _section(title: str, rows: Sequence[Row], about: str, draw: Callable[[Sequence[Row]], Picture]) -> Section:
    return Section(title=title, about=about, rows=rows, picture=_picture(rows, draw))


def _picture(rows: Sequence[Row], draw: Callable[[Sequence[Row]], Picture]) -> Picture | None:
    return draw(rows) if rows else None


def _rows(frame: "DataFrame") -> list[Row]:
    return [row.asDict() for row in frame.collect()]


def _write_parquet(rows: Sequence[Mapping[str, object]], path: Path) -> None:
    """Columns of nothing but nulls are doubles: no other kind of column here may be empty."""
    table = pa.Table.from_pylist(list(rows))
    fields = [field.with_type(pa.float64()) if pa.types.is_null(field.type) else field for field in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), path)


def _tell(sections: Sequence[Section], *, as_json: bool) -> None:
    for section in sections:
        print_rows(section.title, section.rows, as_json=as_json)
    say(f"{len(sections)} tables")
