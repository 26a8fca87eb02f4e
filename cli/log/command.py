"""`stepdown log`: shows and checks the files of a log, without a broker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..support.failures import EXIT_FAILED, CommandFailure
from ..support.progress import show_progress

log = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Show and check the files of a log."
)


@log.callback()
def log_files() -> None:
    """Show and check the files of a log."""


@log.command()
def dump(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", show_default=False)],
    records: Annotated[bool, typer.Option("--records", help="Show the records with their keys and values.")] = False,
    index_sanity: Annotated[
        bool, typer.Option("--index-sanity", help="Only compare indexes with their segments.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show and check batches, index entries, snapshots and checkpoints.

    PATH is the folder of a partition, or a file of it. Ends with 1 if something is corrupt.
    """
    from ...protocol.errors import DiskFault
    from ...storage.files.files import Files
    from . import row_output
    from .file_dump import FileDump

    shown = FileDump(Files(read_only=True), records=records, index_sanity=index_sanity)
    corrupt = 0
    try:
        found = [file for given in paths for file in shown.files_to_dump(given)]
        sizes = [shown.files.size(str(path)) for path in found]
        done = 0
        with show_progress("dumping", sum(sizes), command_prints=True) as show_done:
            for path, size_bytes in zip(found, sizes, strict=True):
                if not as_json:
                    print(f"Dumping {path}")
                for row in shown.rows(path):
                    corrupt += row["kind"] == "problem"
                    print(row_output.as_json(str(path), row) if as_json else row_output.as_text(row))
                show_done(done := done + size_bytes)
    except DiskFault as fault:
        raise CommandFailure(str(fault)) from fault
    sys.stdout.flush()
    if corrupt:
        hint = "A broker that opens the log cuts a torn end and rebuilds indexes; bad batches before that stay bad."
        raise CommandFailure(f"{corrupt} problem{'' if corrupt == 1 else 's'} found", hint, EXIT_FAILED)
