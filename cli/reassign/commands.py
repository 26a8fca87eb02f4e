"""`stepdown reassign`: moves partitions to other brokers, verifies and cancels that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.failures import EXIT_FAILED, CommandFailure, raise_failures
from ..support.outcomes import print_outcomes

if TYPE_CHECKING:
    from ...client.operation import TopicPartition
    from ..support.command_client import CommandClient

reassign = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Move partitions to other brokers, by the JSON of kafka-reassign-partitions.sh.",
)

File = Annotated[
    Path, typer.Argument(metavar="FILE", show_default=False, help="JSON of partitions and their replicas; - is stdin.")
]
HINTS = {
    "UNKNOWN_TOPIC_OR_PARTITION": "`stepdown topics describe` shows partitions.",
    "INVALID_REPLICA_ASSIGNMENT": "`stepdown cluster` shows the brokers.",
    "NO_REASSIGNMENT_IN_PROGRESS": "`stepdown reassign list` shows what is under way.",
    "CLUSTER_AUTHORIZATION_FAILED": "It takes ALTER on the cluster, and DESCRIBE to look; super.users may.",
}
"""The next step for the user, by the error code in the response."""
COMPLETE, UNDER_WAY, DIFFERENT = "complete", "under way", "different"


@reassign.command(name="list")
def list_command(bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None, as_json: AsJson = False) -> None:
    """List the partitions that are on their way."""
    from ...client.operations.reassignments import list_reassignments

    with connect_client(bootstrap, command_config, HINTS) as client:
        found = client.run(list_reassignments())
    rows: list[dict[str, Any]] = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "replicas": list(each.replicas),
            "adding": list(each.adding),
            "removing": list(each.removing),
        }
        for each in found
    ]
    _print_rows(rows, ("topic", "partition", "replicas", "adding", "removing"), as_json=as_json)


@reassign.command()
def execute(
    file: File, bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None, as_json: AsJson = False
) -> None:
    """Begin to move the partitions of FILE. Prints where they are, as JSON that leads back."""
    from ...client.operations.reassignments import reassign_partitions
    from .plan import format_plan, read_plan

    plan = read_plan(file)
    with connect_client(bootstrap, command_config, HINTS) as client:
        before = _find_replicas(client, plan)
        outcomes = client.run(reassign_partitions(plan))
    if not as_json:
        typer.echo(f"before: {format_plan(before)}")
    print_outcomes(outcomes, "on its way", HINTS, as_json=as_json, kind="partition")


@reassign.command()
def verify(
    file: File, bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None, as_json: AsJson = False
) -> None:
    """Say whether the partitions of FILE are where it says. Ends with 1 while one is not."""
    from ...client.operations.reassignments import list_reassignments
    from .plan import read_plan

    plan = read_plan(file)
    with connect_client(bootstrap, command_config, HINTS) as client:
        under_way = {(each.topic, each.partition) for each in client.run(list_reassignments())}
        present = _find_replicas(client, plan)
    rows: list[dict[str, Any]] = [
        {
            "topic": topic,
            "partition": partition,
            "replicas": list(present[topic, partition]),
            "wanted": list(wanted),
            "state": _reassignment_state((topic, partition) in under_way, present[topic, partition], wanted),
        }
        for (topic, partition), wanted in sorted(plan.items())
    ]
    _print_rows(rows, ("topic", "partition", "replicas", "wanted", "state"), as_json=as_json)
    if any(row["state"] != COMPLETE for row in rows):
        raise typer.Exit(EXIT_FAILED)


@reassign.command()
def cancel(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", show_default=False, help="Only its partitions; - is stdin.")
    ] = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Cancel what is under way: the partitions stay where they were."""
    from ...client.operations.reassignments import list_reassignments, reassign_partitions
    from .plan import read_plan

    wanted = None if file is None else read_plan(file)
    with connect_client(bootstrap, command_config, HINTS) as client:
        under_way = [(each.topic, each.partition) for each in client.run(list_reassignments())]
        cancelled = [each for each in under_way if wanted is None or each in wanted]
        outcomes = client.run(reassign_partitions(dict.fromkeys(cancelled))) if cancelled else []
    if not outcomes and not as_json:
        typer.echo("nothing is under way")
    print_outcomes(outcomes, "stays", HINTS, as_json=as_json, kind="partition")


def _find_replicas(client: CommandClient, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Sequence[int]]:
    """Returns the present replicas of the partitions. Raises: CommandFailure for a missing one."""
    from ...client.operations.topics import describe_topics

    found = client.run(describe_topics(sorted({topic for topic, _ in partitions})))
    raise_failures([(topic["name"], topic["error"], "") for topic in found if topic["error"]], HINTS)
    present = {(topic["name"], each["partition"]): each["replicas"] for topic in found for each in topic["partitions"]}
    for topic, partition in partitions:
        if (topic, partition) not in present:
            raise CommandFailure(f"topic {topic} has no partition {partition}", HINTS["UNKNOWN_TOPIC_OR_PARTITION"])
    return {each: present[each] for each in partitions}


def _reassignment_state(is_under_way: bool, present: Sequence[int], wanted: Sequence[int]) -> str:
    if is_under_way:
        return UNDER_WAY
    return COMPLETE if list(present) == list(wanted) else DIFFERENT


def _print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from ..support.terminal_tables import print_table

    cells = [[_format_cell(row[column]) for column in columns] for row in rows]
    print_table(columns, cells, numeric=("partition",))


def _format_cell(cell: Any) -> str:
    return ",".join(map(str, cell)) if isinstance(cell, list) else str(cell)
