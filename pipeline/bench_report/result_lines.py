"""The lines of `stepdown bench` (docs/benchmarks.md has their schema), from JSON lines or Parquet, in one frame.

Columns that an input lacks are null, so files with nothing but events (run, config, partitions, rate, client, ts, kind,
latency_us, bytes) or nothing but samples (run, ts, metric, value) do as well. A line that is no JSON, or none of the
three shapes, is an error that names its file: no line is left out silently.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..failures import BadUsage, PipelineFailure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BROKEN = "broken_line"
COLUMNS = {
    "kind": "string",
    "run": "string",
    "ts": "timestamp",
    "bench": "string",
    "config": "string",
    "round": "int",
    "case": "map<string,string>",
    "server": "string",
    "version": "string",
    "values": "map<string,double>",
    "machine": "map<string,string>",
    "t_s": "double",
    "metric": "string",
    "value": "double",
    "partitions": "int",
    "rate": "int",
    "client": "string",
    "latency_us": "bigint",
    "bytes": "bigint",
}
JSON_SCHEMA = ", ".join(f"`{name}` {kind}" for name, kind in (COLUMNS | {BROKEN: "string"}).items())
JSON_OPTIONS = {"columnNameOfCorruptRecord": BROKEN}
_FILE = "_metadata.file_path AS file"
_KNOWN_SHAPES = (
    "(kind IN ('round', 'median', 'ratio') AND `values` IS NOT NULL) OR (metric IS NOT NULL AND value IS NOT NULL) "
    "OR (kind IN ('fetch', 'produce') AND latency_us IS NOT NULL)"
)


def read_lines(spark: "SparkSession", places: Sequence[str]) -> "DataFrame":
    """The lines in files or folders; in folders those that end in .jsonl, .json or .parquet.

    Raises: BadUsage for what is not there, PipelineFailure for a line that is none.
    """
    json_files, parquet_files = _files(places)
    frames = [_read_json(spark, json_files)] if json_files else []
    frames += [_read_parquet(spark, file) for file in parquet_files]
    lines = frames[0]
    for frame in frames[1:]:
        lines = lines.unionByName(frame)
    return checked(lines)


def checked(lines: "DataFrame") -> "DataFrame":
    """The lines without what was needed to check them; a sample's kind filled in where it had none.

    Raises: PipelineFailure for the first line that is none.
    """
    lines = lines.cache()
    wrong = lines.where(f"{BROKEN} IS NOT NULL OR NOT coalesce({_KNOWN_SHAPES}, false)").select("file", BROKEN).first()
    if wrong is not None:
        raise PipelineFailure(
            f"{wrong.file}: a line that is no result, sample or event: {wrong[BROKEN] or 'of no kind'}"
        )
    named = lines.drop("file", BROKEN)
    return named.selectExpr("coalesce(kind, 'sample') AS kind", *(f"`{name}`" for name in COLUMNS if name != "kind"))


def _read_json(spark: "SparkSession", files: Sequence[str]) -> "DataFrame":
    frame = spark.read.schema(JSON_SCHEMA).options(**JSON_OPTIONS).json(list(files))
    return frame.selectExpr("*", _FILE)


def _read_parquet(spark: "SparkSession", file: str) -> "DataFrame":
    frame = spark.read.parquet(file)
    there = set(frame.columns)
    wanted = (COLUMNS | {BROKEN: "string"}).items()
    chosen = [f"CAST({f'`{name}`' if name in there else 'NULL'} AS {kind}) AS `{name}`" for name, kind in wanted]
    return frame.selectExpr(*chosen, _FILE)


def _files(places: Sequence[str]) -> tuple[list[str], list[str]]:
    """JSON files, and Parquet files or folders."""
    found: tuple[list[str], list[str]] = ([], [])
    for place in places:
        path = Path(place)
        if path.is_dir() and not any(path.glob("*.parquet")):
            inside = sorted(each for each in path.iterdir() if each.suffix in (".jsonl", ".json"))
            if not inside:
                raise BadUsage(f"{place} holds no .jsonl, .json or .parquet")
            found[0].extend(map(str, inside))
        elif path.is_dir() or path.suffix == ".parquet":
            found[1].append(place)
        elif path.exists():
            found[0].append(place)
        else:
            raise BadUsage(f"no such file or folder: {place}")
    return found
