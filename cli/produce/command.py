"""`stepdown produce`: writes records to a topic, one for each line of stdin, for all of stdin, or for each file."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...protocol.plural import plural
from ..support.bootstrap_server import LOCAL, Bootstrap, connect_client_by_properties
from ..support.client_properties import PREFIXES, CommandConfig, security_properties
from ..support.completion_values import complete_topics
from ..support.escape_sequences import unescape_option
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.name_value_options import parse_name_value_pairs
from ..support.progress import show_progress
from ..support.record_formats import AsFormat, parse_record_format
from ..support.standard_streams import print_error
from ..support.stop_signals import StopSignals

if TYPE_CHECKING:
    from ..support.record_formats import RecordFormat
    from .record_writer import RecordDestination, RecordWriter
    from .stdin_records import Input, RecordParser

produce = typer.Typer(add_completion=False, rich_markup_mode=None)

MOST_TEXT_PER_BYTE = 6
"""JSON may write a byte as \\u0000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceOptions:
    """The options of the command line, parsed."""

    bootstrap: str
    destination: RecordDestination
    reading: RecordParser
    delimiter: bytes | None
    """None: all of stdin is one record."""
    files: list[Path]
    """Files to read instead of stdin, each as one record."""
    settings: dict[str, str]
    form: RecordFormat


@produce.command()
def produce_command(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOPIC]",
            autocompletion=complete_topics,
            help="Topic to write to; not needed if lines of JSON name it.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Lines are JSON, as `stepdown consume --json` prints them.")
    ] = False,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", metavar="SEP", help=r"Lines are key SEP value; \t is a tab.")
    ] = None,
    delimiter: Annotated[
        str, typer.Option("--delimiter", "-D", metavar="SEP", help=r"What ends a record; \0 and \xHH are understood.")
    ] = r"\n",
    whole: Annotated[bool, typer.Option("--whole", help="All of stdin is one record.")] = False,
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", "-F", metavar="FILE", help="A file is one record, instead of stdin; repeatable."),
    ] = None,
    null_value: Annotated[
        str | None, typer.Option("--null-value", metavar="MARK", help="This value is written as null (a tombstone).")
    ] = None,
    null_key: Annotated[
        str | None, typer.Option("--null-key", metavar="MARK", help="This key is written as null.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="The key of every record.")] = None,
    headers: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="Header of every record; repeatable."),
    ] = None,
    partition: Annotated[
        int | None,
        typer.Option(
            "--partition", "-p", min=-1, help="Partition of all records; -1: chosen by key, even if JSON names one."
        ),
    ] = None,
    timestamp: Annotated[
        int | None,
        typer.Option(
            "--timestamp", metavar="MS", min=0, help="Timestamp of every record, in ms since 1970; default: now."
        ),
    ] = None,
    compression: Annotated[
        str | None, typer.Option("--compression", "-z", metavar="none|gzip|snappy|lz4|zstd", help="Codec of batches.")
    ] = None,
    acks: Annotated[
        str | None,
        typer.Option(
            "--acks",
            "-a",
            metavar="0|1|all",
            help="Replicas that must have a record: none, the leader, or all in sync.",
        ),
    ] = None,
    as_format: AsFormat = None,
    properties: Annotated[
        list[str] | None, typer.Option("--property", "-X", metavar="KEY=VALUE", help="A producer setting; repeatable.")
    ] = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
) -> None:
    """Write records to a topic: lines of stdin, all of it, or files."""
    from .record_writer import RecordDestination
    from .stdin_records import JsonRecordParser, TextRecordParser

    form = parse_record_format(as_format)
    given_headers = tuple((name, value.encode()) for name, value in parse_name_value_pairs(headers or [], "--header"))
    if not as_json and not topic:
        raise CommandFailure(
            "no topic is given", "stepdown produce TOPIC, or --json with lines that name it.", EXIT_BAD_USAGE
        )
    if as_json and (key_separator, null_value, null_key, key) != (None, None, None, None):
        raise CommandFailure(
            "lines of JSON hold keys and nulls: leave out --key-separator, --key, --null-…", "", EXIT_BAD_USAGE
        )
    if acks is not None and acks not in ("0", "1", "-1", "all"):
        raise CommandFailure(f"--acks: expected 0, 1 or all, found {acks!r}", "", EXIT_BAD_USAGE)
    if key is not None and key_separator is not None:
        raise CommandFailure("either --key or --key-separator", "", EXIT_BAD_USAGE)
    _check_format_can_hold(
        form, has_headers=bool(given_headers), has_timestamp=timestamp is not None, codec=compression
    )
    if whole and files:
        raise CommandFailure("either --whole or --file", "", EXIT_BAD_USAGE)
    if not delimiter:
        hint = "For all of stdin as one record there is --whole."
        raise CommandFailure("--delimiter: expected at least one byte", hint, EXIT_BAD_USAGE)
    given = parse_name_value_pairs(properties or [], "--property")
    settings = security_properties(command_config) | {name.replace("_", "."): text for name, text in given}
    chosen = {"compression.type": compression, "acks": acks}
    settings |= {name: value for name, value in chosen.items() if value is not None}
    if form.name and not form.has_headers:
        settings.setdefault("enable.idempotence", "false")  # idempotence needs format v2
    reading: RecordParser = (
        JsonRecordParser(headers=given_headers, timestamp=timestamp)
        if as_json
        else TextRecordParser(
            separator=unescape_option(key_separator, "--key-separator") if key_separator else None,
            null_value=None if null_value is None else null_value.encode(),
            null_key=None if null_key is None else null_key.encode(),
            key=None if key is None else key.encode(),
            headers=given_headers,
            timestamp=timestamp,
        )
    )
    options = ProduceOptions(
        bootstrap=bootstrap,
        destination=RecordDestination(topic=topic, partition=partition),
        reading=reading,
        delimiter=None if whole else unescape_option(delimiter, "--delimiter"),
        files=files or [],
        settings={"client.id": "stepdown-cli"} | settings,
        form=form,
    )
    stopped_by = asyncio.run(_produce(options))
    if stopped_by is not None:
        raise typer.Exit(128 + stopped_by)


def _check_format_can_hold(form: RecordFormat, *, has_headers: bool, has_timestamp: bool, codec: str | None) -> None:
    """Raises: CommandFailure when the format cannot hold what the options ask for."""
    lacks = []
    if has_headers and not form.has_headers:
        lacks.append("headers")
    if has_timestamp and not form.has_timestamps:
        lacks.append("timestamps")
    if codec == "zstd" and not form.has_headers:
        lacks.append("zstd")
    if lacks:
        raise CommandFailure(f"the format {form.name} has no {' and no '.join(lacks)}", "", EXIT_BAD_USAGE)


async def _produce(options: ProduceOptions) -> int | None:
    """Writes all records, and returns the signal that ended it before the end of stdin, or None.

    Records that were read before the signal are written. Raises: CommandFailure.
    """
    from .record_writer import RecordWriter
    from .stdin_records import JsonRecordParser
    from .topic_lookup import TopicLookup

    loop = asyncio.get_running_loop()
    stop: asyncio.Future[int] = loop.create_future()

    def stop_by(number: int) -> None:
        loop.call_soon_threadsafe(stop.set_result, number)

    security = {name: text for name, text in options.settings.items() if name.startswith(PREFIXES)}
    with connect_client_by_properties(options.bootstrap, security) as client, StopSignals(stop_by):
        writer = RecordWriter(
            options.bootstrap,
            options.settings,
            options.form,
            options.destination,
            TopicLookup(client),
            is_untimed=isinstance(options.reading, JsonRecordParser),
        )
        async with writer:
            writing = asyncio.ensure_future(_write_all(writer, options))
            awaited: set[asyncio.Future[Any]] = {writing, stop}
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if not writing.done():
                writing.cancel()
                client.interrupt()
                writer.shorten_timeouts()
                return stop.result()
            writing.result()
    if options.files and sys.stderr.isatty():
        print_error(f"{plural(writer.written, 'record')} written: each file is one, whatever lines it has")
    return None


async def _write_all(writer: RecordWriter, options: ProduceOptions) -> None:
    """Writes the records of stdin until its end, or of the files. Raises: CommandFailure."""
    from .stdin_records import DelimitedInput, WholeInput

    most_bytes = MOST_TEXT_PER_BYTE * writer.most_record_bytes
    if options.files:
        for file in options.files:
            with file.open("rb") as opened:
                await _produce_input(writer, options.reading, WholeInput(most_bytes), opened.fileno(), str(file))
    else:
        pieces = WholeInput(most_bytes) if options.delimiter is None else DelimitedInput(options.delimiter, most_bytes)
        await _produce_input(writer, options.reading, pieces, sys.stdin.fileno(), "stdin")


async def _produce_input(
    writer: RecordWriter, reading: RecordParser, pieces: Input, descriptor: int, name: str
) -> None:
    from .stdin_records import read_some

    number, done, data = 0, 0, b" "
    with show_progress(name, _size_if_file(descriptor), command_prints=False) as show_done:
        while data:
            data = await read_some(descriptor, name)
            try:
                found = pieces.feed(data) if data else pieces.rest()
            except ValueError as fault:
                raise CommandFailure(f"record {number + 1} of {name}: {fault}") from fault
            number += await _write_pieces(writer, reading, found, number, name)
            show_done(done := done + len(data))


def _size_if_file(descriptor: int) -> int | None:
    """Returns the size of a file, None for a pipe or a terminal."""
    status = os.fstat(descriptor)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


async def _write_pieces(
    writer: RecordWriter, reading: RecordParser, pieces: Iterable[bytes], before: int, name: str
) -> int:
    """Writes the pieces, and returns their number. `before`: how many pieces of this input came earlier."""
    number = before
    for number, piece in enumerate(pieces, start=before + 1):
        try:
            await writer.write(reading.parse_record(piece))
        except ValueError as fault:
            raise CommandFailure(f"record {number} of {name}: {fault}") from fault
    return number - before
