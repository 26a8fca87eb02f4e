"""`stepdown clients`: the client report of a running server, or of Kafka's request log, as a table, JSON or CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...protocol.plural import plural
from ..support.bootstrap_server import AsJson
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.standard_streams import print_error

if TYPE_CHECKING:
    from ...network.clients.client_row import ClientRow

clients = typer.Typer(add_completion=False, rich_markup_mode=None)

COLUMNS = ("client id", "address", "principal", "software", "requests", "Kafka 4", "because")
STDIN = Path("-")
MOST_NAMES = 5
PIPE_COLUMNS = 160
"""The table's width where it is not on a terminal: reasons are long. Other programs read `--csv` and `--json`."""


@clients.command()
def clients_command(
    address: Annotated[str | None, typer.Argument(metavar="[HOST:PORT]", help="The same as --http.")] = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            envvar="STEPDOWN_HTTP",
            metavar="HOST:PORT",
            help="Where a stepdown on this machine serves /clients.",
        ),
    ] = None,
    password: Annotated[
        str,
        typer.Option(
            "--password",
            envvar="STEPDOWN_PAGE_PASSWORD",
            help="What stepdown.page.password is there, if it is set.",
            show_default=False,
        ),
    ] = "",
    request_log: Annotated[
        Path | None,
        typer.Option(
            "--from-request-log",
            metavar="FILE",
            help="Read Kafka's request log instead (kafka.request.logger at DEBUG, Kafka 1.0 to 4.x); - is stdin.",
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a line a client, for a spreadsheet.")] = False,
) -> None:
    """Say who is there, what each client asks for, and whether Kafka 4 would answer it."""
    http = http if address is None else address
    if http is None and request_log is None:
        raise CommandFailure(
            "expected --http or --from-request-log: which clients?",
            "--http HOST:PORT, or the variable STEPDOWN_HTTP, asks a running stepdown, "
            "--from-request-log FILE reads the log of an Apache Kafka.",
            EXIT_BAD_USAGE,
        )
    if http is not None and request_log is not None:
        raise CommandFailure("expected --http or --from-request-log, found both", "", EXIT_BAD_USAGE)
    if as_json and as_csv:
        raise CommandFailure("expected --json or --csv, found both", "", EXIT_BAD_USAGE)
    document = _read_page(http, password) if http is not None else _read_log(request_log or STDIN)
    if as_json:
        typer.echo(json.dumps(document, indent=2))
        return
    rows = _rows_of_report(document)
    if as_csv:
        _print_csv(rows)
    else:
        _print_text(rows, document["forgotten"], document["cluster"])


def _rows_of_report(document: dict[str, Any]) -> list[ClientRow]:
    from ...network.clients.client_row import read_row

    try:
        return [read_row(values) for values in document["clients"]]
    except (KeyError, TypeError) as fault:
        raise CommandFailure(f"this is no report of clients that this version reads: {fault} is missing") from fault


def _read_page(address: str, password: str) -> dict[str, Any]:
    from .report_page import fetch_report

    return fetch_report(address, password)


def _read_log(path: Path) -> dict[str, Any]:
    from ...network.clients.software import GATEWAY
    from .request_log import RequestLog

    log = RequestLog()
    try:
        with open(sys.stdin.fileno(), "rb", closefd=False) if path == STDIN else path.open("rb") as file:
            log.read(file)
    except OSError as fault:
        raise CommandFailure(f"--from-request-log: {path}: {fault.strerror or fault}", "", EXIT_BAD_USAGE) from fault
    if log.dropped:
        names = ", ".join(log.dropped)
        print_error(
            f"{plural(log.dropped.total(), 'request')} closed the connection, since this Kafka has dropped the version:"
            f" {names}. The log does not say whose; that of a Kafka before 4, or a gateway, does."
        )
    if not log.requests:
        raise CommandFailure(
            f"{path} has no request of a client in {log.lines} lines"
            + (f"; {log.examples[0]}" if log.examples else ""),
            "It is the log of a Kafka 4: pass that of the Kafka before it, or ask a gateway in front of it with --http."
            if log.dropped
            else "Set the logger kafka.request.logger of the broker to DEBUG and pass the file that it writes.",
        )
    of_brokers = f", {log.requests_of_brokers} of brokers" if log.requests_of_brokers else ""
    print_error(f"{plural(log.requests, 'request')} of clients{of_brokers} in {log.lines} lines")
    if log.unreadable:
        print_error(f"{plural(log.unreadable, 'request')} could not be read: {'; '.join(log.examples)}")
    document = log.report.document()
    if any(row["software"] == GATEWAY for row in document["clients"]):
        print_error(
            "Clients of a stepdown gateway are here with the requests that it made of theirs: `stepdown clients --http "
            "HOST:PORT` of the gateway has their own."
        )
    return document


def _print_text(rows: list[ClientRow], forgotten: int, cluster: str) -> None:
    from ...network.clients.losses import describe_loss
    from ..support.terminal_tables import format_time, print_table

    if rows:
        print_table(COLUMNS, [_cells_of_row(row) for row in rows], numeric=("requests",), most_columns=PIPE_COLUMNS)
        typer.echo()
    for mend in dict.fromkeys(row.mend for row in rows if row.mend):
        names = _join_names(row for row in rows if row.mend == mend)
        typer.echo(f"{names}: mend: {mend}")
    for fields in dict.fromkeys(tuple(row.cannot_carry) for row in rows if row.cannot_carry):
        names = _join_names(row for row in rows if tuple(row.cannot_carry) == fields)
        typer.echo(f"{names}: not in its versions: {', '.join(fields)}")
    for row in rows:
        for what, count in row.lost.items():
            details = row.loss_details[what]
            latest = format_time(details["latest_ms"])
            since_ms = row.latest_ms - details["latest_ms"]
            told = describe_loss(what, count, latest, details["topics"], cluster, since_ms)
            typer.echo(f"{row.client_id or row.address}: lost: {told}")
    typer.echo(_describe_totals(rows))
    if forgotten:
        typer.echo(f"{plural(forgotten, 'client')} forgotten to make room for others")


def _join_names(rows: Iterable[ClientRow]) -> str:
    names = [row.client_id or row.address for row in rows]
    return f"{', '.join(names[:MOST_NAMES])}{' …' if len(names) > MOST_NAMES else ''}"


def _describe_totals(rows: list[ClientRow]) -> str:
    """How many clients work with Kafka 4, in a sentence without what there is none of."""
    from ...network.clients.client_row import OWN_COMMAND

    works = [row.works for row in rows]
    yes, no, unknown, own = map(works.count, ("yes", "no", "unknown", OWN_COMMAND))
    some = len(works) - yes - no - unknown - own
    parts = (
        (yes, f"{yes} work{'s' if yes == 1 else ''} with Kafka 4 by what was seen"),
        (no, f"{no} do{'es' if no == 1 else ''} not work with Kafka 4 without a gateway"),
        (some, f"{some} only with some releases of Kafka 4"),
        (unknown, f"{unknown} {'is' if unknown == 1 else 'are'} not known yet"),
        (own, f"{own} {'is' if own == 1 else 'are'} stepdown itself"),
    )
    said = ", ".join(text for count, text in parts if count)
    return f"{plural(len(rows), 'client')}{': ' if said else ''}{said}"


def _cells_of_row(row: ClientRow) -> tuple[object, ...]:
    return (
        *(row.client_id, row.address, row.principal, row.described_software),
        *(row.request_count, row.works, row.reasons),
    )


def _print_csv(rows: list[ClientRow]) -> None:
    from dataclasses import asdict, fields

    from ...network.clients.client_row import ClientRow

    names = [field.name for field in fields(ClientRow)]
    out = csv.writer(sys.stdout)
    out.writerow(["works_with_kafka_4", *names])
    for row in rows:
        values = asdict(row)
        out.writerow([row.works, *(_csv_cell(values[name]) for name in names)])


def _csv_cell(value: object) -> object:
    """JSON for what has parts, and for yes and no. An id that a spreadsheet would take for a formula is quoted."""
    if isinstance(value, (dict, list, tuple, bool)):
        return json.dumps(value)
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
