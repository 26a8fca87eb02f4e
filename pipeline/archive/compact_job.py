"""The job `compact`: small files of an archive are joined, at once for readers of its table or manifest."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..console_output import print_rows
from ..failures import BadUsage
from ..job_source import add_store_options, parse_store_options
from ..places.place_files import PlaceFiles, complete_store_options, normalize
from ..sources.options import size_option
from .delta_table import DeltaArchive
from .job import DEFAULT_FILE_BYTES
from .parquet_archive import ParquetArchive
from .state import FILE_NAME, MAX_BYTES, read_state
from .work import run_on_workers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    parser.add_argument("out", metavar="OUT", help="an archive that `archive` made; no run of it may be under way")
    parser.add_argument("--file-bytes", default=DEFAULT_FILE_BYTES, help="how large files become at most, 128m")
    add_store_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Join files, and print how many became how many. Raises: PipelineFailure, DiskFault."""
    out = normalize(arguments.out)
    store = complete_store_options([out], parse_store_options(arguments.store_option))
    file_bytes = size_option({"--file-bytes": arguments.file_bytes}, "--file-bytes", 0)
    before, after = compact_archive(run_on_workers("compact", arguments.master), out, store, file_bytes)
    print_rows("compact", [{"out": out, "files": before, "became": after}], as_json=arguments.json)


def compact_archive(
    run_tasks: Callable[[Callable[[Any], list[Any]], Sequence[Any], int], list[Any]],
    out: str,
    store: Mapping[str, str],
    file_bytes: int,
) -> tuple[int, int]:
    """Join the small files of the archive at `out`; how many became how many. Raises: BadUsage, DiskFault."""
    files = PlaceFiles(store, writable=True)
    known = _read_settings(files, out)
    if "bootstrap" in known:
        if known["format"] == "parquet":
            raise BadUsage(f"{out} is an archive of a broker in Parquet: Spark's _spark_metadata names its files")
        return DeltaArchive(out, store, archive_id="", lineage=False).compact(file_bytes)
    state = read_state(files, out, known)
    if state.writing is not None:
        raise BadUsage(f"{out} has a batch that a run which died has begun: run archive again first")
    if known["format"] == "delta":
        return DeltaArchive(out, store, archive_id=state.id, lineage=bool(known["lineage"])).compact(file_bytes)
    return ParquetArchive(files, out, state.batches).compact(run_tasks, file_bytes, store)


def _read_settings(files: PlaceFiles, out: str) -> dict[str, object]:
    """The settings that the archive was made with. Raises: BadUsage where there is none."""
    path = f"{out}/{FILE_NAME}"
    data = files.read_whole(path, MAX_BYTES)
    if data is None:
        raise BadUsage(f"{out} is no archive: there is no {FILE_NAME}")
    try:
        known = json.loads(data)
        found = known if "bootstrap" in known else known["source"]
        return {**found, "format": found["format"]}
    except (ValueError, KeyError, TypeError) as fault:
        raise BadUsage(f"{path} is not what this version writes ({fault!r})") from fault
