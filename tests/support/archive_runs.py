"""Archives of log directories without Spark: tasks run in a process that may be killed before any step on the disk."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from stepdown.pipeline.archive.compact_job import compact_archive
from stepdown.pipeline.archive.log_archive import Format, LogArchive, archive_new_batches
from stepdown.pipeline.archive.parquet_files import ArchivedFile
from stepdown.pipeline.sources.options import read_options

STEPS = ("replace", "rename", "remove", "make_directory")
"""What changes the disk, of `Files`."""
BATCH = 50
"""Offsets of a batch."""


def here(work: Callable[[Any], list[Any]], tasks: Sequence[Any], _: int) -> list[Any]:
    """Run tasks as Spark would, one after the other."""
    return [done for task in tasks for done in work(task)]


def archive_of(log_dir: Path | str, out: Path | str, kind: Format = "parquet", **fields: Any) -> LogArchive:
    """An archive with files of up to 128 MiB of the logs."""
    given = {"path": str(log_dir), **fields.pop("options", {})}
    file_bytes = fields.pop("file_bytes", 1 << 27)
    return LogArchive(options=read_options(given), out=str(out), format=kind, file_bytes=file_bytes, **fields)


def run(archive: LogArchive) -> list[ArchivedFile]:
    """Archive what is new."""
    return [file for written in archive_new_batches(here, archive) for file in written]


def archive_in_batches_and_compact(log_dir: Path, out: Path, kind: Format) -> None:
    """Archive a directory in batches, then join the files."""
    run(archive_of(log_dir, out, kind, max_offsets=BATCH))
    compact_archive(here, str(out), {}, 1 << 20)


def read_table(out: Path | str, kind: Format, store: dict[str, str] | None = None) -> pa.Table:
    """What a reader sees that knows nothing of the archive."""
    if kind == "delta":
        from deltalake import DeltaTable

        return DeltaTable(str(out), storage_options=store).to_pyarrow_table()
    return ds.dataset(str(out), format="parquet", partitioning="hive").to_table()


def run_and_die(step: int, log_dir: Path, out: Path, kind: Format) -> tuple[int | None, int]:
    """The exit code of a process that does the same and is killed before the step of this number, and its steps."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "deltalake"])
    steps = context.Value("i", 0)
    process = context.Process(target=_die_at, args=(step, steps, log_dir, out, kind))
    process.start()
    process.join()
    return process.exitcode, steps.value


def _die_at(step: int, steps: Any, log_dir: Path, out: Path, kind: Format) -> None:
    from deltalake import DeltaTable
    from stepdown.storage.files.files import Files

    def dying(act: Callable[..., Any]) -> Callable[..., Any]:
        def act_or_die(*args: Any, **fields: Any) -> Any:
            if steps.value == step:
                os.kill(os.getpid(), signal.SIGKILL)
            steps.value += 1
            return act(*args, **fields)

        return act_or_die

    for name in STEPS:
        setattr(Files, name, dying(getattr(Files, name)))
    for name in ("create", "create_write_transaction"):
        setattr(DeltaTable, name, dying(getattr(DeltaTable, name)))
    archive_in_batches_and_compact(log_dir, out, kind)
