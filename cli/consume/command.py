"""`stepdown consume`: prints the records of topics, endlessly or up to an end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..support.bootstrap_server import LOCAL, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.completion_values import complete_groups, complete_topics
from ..support.escape_sequences import unescape_option
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.record_formats import NEWEST, AsFormat, RecordFormat, parse_record_format

if TYPE_CHECKING:
    from .record_output import RecordRenderer

consume = typer.Typer(add_completion=False, rich_markup_mode=None)

ISOLATION = {"read_uncommitted": 0, "read_committed": 1}
FETCH_ABORTED_FROM = 4


@consume.command()
def consume_command(
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC...", autocompletion=complete_topics, show_default=False)
    ],
    from_beginning: Annotated[
        bool,
        typer.Option(
            "--from-beginning", help="Start at the first record; with --group only where nothing is committed."
        ),
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option("--offset", "-o", metavar="earliest|latest|N|-N|@MS", help="Start there: -N is the last N."),
    ] = None,
    until_end: Annotated[
        bool,
        typer.Option(
            "--until-end",
            "-e",
            help="Stop where each partition ends now; without an offset begin at the first record.",
        ),
    ] = False,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after this many records.")] = None,
    partitions: Annotated[
        list[int] | None, typer.Option("--partition", "-p", min=0, help="Only this one; repeatable.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", "-g", autocompletion=complete_groups, help="Join this group and commit what was read."),
    ] = None,
    isolation: Annotated[
        str,
        typer.Option(
            "--isolation",
            metavar="read_uncommitted|read_committed",
            help="What is read of transactions.",
        ),
    ] = "read_uncommitted",
    as_json: Annotated[bool, typer.Option("--json", help="Print lines of JSON that `produce --json` takes.")] = False,
    form: Annotated[
        str | None, typer.Option("--format", "-f", metavar="FMT", help=r"E.g. '%p %o %k=%v\n'; also %t %T %h %K %V.")
    ] = None,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", metavar="SEP", help=r"Print keys too; \t is a tab.")
    ] = None,
    delimiter: Annotated[
        str, typer.Option("--delimiter", "-D", metavar="SEP", help=r"Ends a record; \0 and \xHH are understood.")
    ] = r"\n",
    null_value: Annotated[str, typer.Option("--null-value", metavar="MARK", help="Printed for a null value.")] = "null",
    null_key: Annotated[str, typer.Option("--null-key", metavar="MARK", help="Printed for a null key.")] = "null",
    as_format: AsFormat = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
) -> None:
    """Print the records of topics."""
    from .options import ConsumeOptions
    from .read_loop import run_consume
    from .start_positions import FROM_EARLIEST, FROM_LATEST, parse_start

    if isolation not in ISOLATION:
        raise _usage_failure(f"--isolation: expected read_uncommitted or read_committed, found {isolation!r}")
    if from_beginning and offset is not None:
        raise _usage_failure("either --from-beginning or --offset")
    if group is not None and (offset is not None or partitions):
        raise _usage_failure(
            "a group has its own partitions and offsets: no --partition or --offset with --group",
            "`stepdown groups reset-offsets` moves the offsets of a group.",
        )
    chosen = parse_record_format(as_format)
    if ISOLATION[isolation]:
        chosen = _restrict_to_transactional_fetches(chosen)
    try:
        start = parse_start(offset) if offset is not None else None
        render = _choose_renderer(as_json, form, key_separator, delimiter, null_value, null_key)
    except ValueError as fault:
        raise _usage_failure(str(fault)) from fault
    otherwise = FROM_EARLIEST if from_beginning or until_end else FROM_LATEST
    options = ConsumeOptions(
        topics=topics,
        partitions=partitions or None,
        start=start,
        otherwise=otherwise,
        until_end=until_end,
        count=count,
        group=group,
        isolation=ISOLATION[isolation],
        form=chosen,
        render=render,
    )
    with connect_client(bootstrap, command_config) as client:
        stopped_by = run_consume(client, options, sys.stdout.buffer)
    if stopped_by is not None:
        raise typer.Exit(128 + stopped_by)


def _restrict_to_transactional_fetches(form: RecordFormat) -> RecordFormat:
    if form.fetch[1] < FETCH_ABORTED_FROM:
        raise _usage_failure(
            f"clients of the format {form.name} know no transactions: no --isolation with --as {form.name}"
        )
    return RecordFormat(
        name=form.name, produce=form.produce, fetch=(FETCH_ABORTED_FROM, NEWEST.fetch[1]), has_headers=form.has_headers
    )


def _choose_renderer(
    as_json: bool, form: str | None, separator: str | None, delimiter: str, null_value: str, null_key: str
) -> RecordRenderer:
    """Returns the renderer that the options ask for. Raises: ValueError."""
    from .record_output import NullOutput, format_renderer, render_as_json, terminal_renderer, text_renderer

    if as_json and (form is not None or separator is not None):
        raise ValueError("--json prints all there is: no --format or --key-separator with it")
    if as_json:
        return render_as_json
    marks = NullOutput(key=null_key.encode(), value=null_value.encode())
    if form is not None:
        try:
            render = format_renderer(form, marks)
        except ValueError as fault:
            raise _usage_failure(f"--format: {fault}") from fault
    else:
        between = None if separator is None else unescape_option(separator, "--key-separator")
        render = text_renderer(between, unescape_option(delimiter, "--delimiter"), marks)
    return terminal_renderer(render) if sys.stdout.isatty() else render


def _usage_failure(message: str, hint: str = "") -> CommandFailure:
    return CommandFailure(message, hint, EXIT_BAD_USAGE)
