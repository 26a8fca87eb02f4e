"""`stepdown transactions`: list, describe and abort transactions of a running broker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.failures import EXIT_BAD_USAGE, CommandFailure, raise_failures
from ..support.outcomes import print_outcomes

if TYPE_CHECKING:
    from ...client.operation import TopicPartition
    from ...client.operations.transactions import TransactionDescription

transactions = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List, describe and abort transactions of a broker.",
)

HINTS = {
    "TRANSACTIONAL_ID_NOT_FOUND": "`stepdown transactions list` shows what there is.",
    "NOT_COORDINATOR": "No transaction was ever begun on this broker, or another broker keeps this one.",
    "UNKNOWN_TOPIC_OR_PARTITION": "`stepdown topics list` shows what there is.",
    "COORDINATOR_LOAD_IN_PROGRESS": "The broker has just started; try again in a moment.",
    "CONCURRENT_TRANSACTIONS": "Try again in a moment.",
}
"""The next step for the user, by the error code in the response."""


@transactions.command(name="list")
def list_command(
    state: Annotated[
        list[str] | None, typer.Option("--state", "-s", help="Only in this state, e.g. Ongoing; may be repeated.")
    ] = None,
    producer_id: Annotated[
        list[int] | None, typer.Option("--producer-id", help="Only of this producer; may be repeated.")
    ] = None,
    longer_than_ms: Annotated[
        int,
        typer.Option("--longer-than-ms", help="Only transactions that have been open for longer than this; -1: all."),
    ] = -1,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """List transactional ids and the states of their transactions."""
    from ...client.operations.transactions import list_transactions

    with connect_client(bootstrap, command_config) as client:
        found = client.run(list_transactions(state or [], producer_id or [], longer_than_ms))
    columns = ("transactional id", "state", "producer id")
    rows = [(each.name, each.state, each.producer_id) for each in found]
    if as_json:
        keys = ("id", "state", "producer_id")
        typer.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return
    from ..support.terminal_tables import print_table

    print_table(columns, rows, numeric=("producer id",))


@transactions.command()
def describe(
    names: Annotated[list[str], typer.Argument(metavar="TRANSACTIONAL_ID...", show_default=False)],
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Show producer, state, age and partitions of transactions."""
    from ...client.operations.transactions import describe_transactions

    with connect_client(bootstrap, command_config) as client:
        found = client.run(describe_transactions(names))
    shown = [each for each in found if not each.error]
    if as_json:
        typer.echo(json.dumps([_as_json(each) for each in shown], indent=2))
    elif shown:
        _print_transactions(shown)
    raise_failures([(each.name, each.error, "") for each in found if each.error], HINTS)


@transactions.command()
def abort(
    names: Annotated[list[str] | None, typer.Argument(metavar="[TRANSACTIONAL_ID]...", show_default=False)] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC:N", help="Abort in this partition only: for a transaction that no coordinator knows."
        ),
    ] = None,
    producer_id: Annotated[
        int | None, typer.Option("--producer-id", help="With --partition: the producer of that transaction.")
    ] = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Abort open transactions. Their producers are fenced: what they send from then on is refused."""
    from ...client.operations.transactions import abort_transaction, abort_transaction_in_partition

    if bool(names) == (partition is not None) or (partition is None) != (producer_id is None):
        raise CommandFailure(
            "nothing to abort", "Name transactional ids, or pass --partition and --producer-id.", EXIT_BAD_USAGE
        )
    with connect_client(bootstrap, command_config) as client:
        if partition is not None and producer_id is not None:
            outcomes = [client.run(abort_transaction_in_partition(parse_topic_partition(partition), producer_id))]
        else:
            outcomes = [client.run(abort_transaction(name)) for name in names or []]
    print_outcomes(outcomes, "aborted", HINTS, as_json=as_json)


def parse_topic_partition(text: str) -> TopicPartition:
    """Returns topic and partition of `TOPIC:N`. Raises: CommandFailure."""
    topic, _, number = text.rpartition(":")
    if not topic or not number.isascii() or not number.isdigit():
        raise CommandFailure(f"--partition: expected TOPIC:N, found {text!r}", "", EXIT_BAD_USAGE)
    return topic, int(number)


def _as_json(each: TransactionDescription) -> dict[str, Any]:
    return {
        "id": each.name,
        "state": each.state,
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "timeout_ms": each.timeout_ms,
        "start_ms": each.start_ms,
        "partitions": [{"topic": topic, "partition": index} for topic, index in each.partitions],
    }


def _print_transactions(found: Sequence[TransactionDescription]) -> None:
    from ..support.terminal_tables import format_time, print_table

    columns = ("transactional id", "state", "producer id", "epoch", "timeout ms", "since", "partitions")
    rows = [
        (
            each.name,
            each.state,
            each.producer_id,
            each.producer_epoch,
            each.timeout_ms,
            format_time(each.start_ms),
            " ".join(f"{topic}-{index}" for topic, index in each.partitions),
        )
        for each in found
    ]
    if rows:
        print_table(columns, rows, numeric=columns[2:5])
