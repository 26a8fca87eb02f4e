"""`stepdown groups`: list, describe and delete consumer groups of a running broker, and move their offsets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...protocol.plural import plural
from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.completion_values import complete_groups
from ..support.escape_sequences import escape_control_characters
from ..support.failures import EXIT_BAD_USAGE, CommandFailure, raise_failures
from ..support.outcomes import print_outcomes, raise_failed_outcomes

if TYPE_CHECKING:
    from ...client.operation import TopicPartition
    from ...client.operations.groups import Group, MemberDescription
    from ..support.command_client import CommandClient

groups = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List, describe and delete groups of a broker, and move their offsets.",
)

Names = Annotated[list[str], typer.Argument(metavar="GROUP...", autocompletion=complete_groups, show_default=False)]

DEAD = "Dead"
HINTS = {
    "GROUP_ID_NOT_FOUND": "`stepdown groups list` shows what there is.",
    "NON_EMPTY_GROUP": "Stop its members first.",
    "UNKNOWN_MEMBER_ID": "Offsets can be moved only while the group has no members: stop them first.",
    "UNKNOWN_TOPIC_OR_PARTITION": "`stepdown topics list` shows what there is.",
}
"""The next step for the user, by the error code in the response."""
TABLES = (
    ("members", ("member", "instance", "client", "host", "partitions"), ("partitions",)),
    ("offsets", ("topic", "partition", "committed", "end", "lag", "member"), ("partition", "committed", "end", "lag")),
)
"""The tables of a group: key, columns, and which columns are numbers."""


@groups.command(name="list")
def list_command(
    state: Annotated[
        list[str] | None, typer.Option("--state", "-s", help="Only groups in this state; may be repeated.")
    ] = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """List the groups."""
    from ...client.operations.groups import list_groups

    with connect_client(bootstrap, command_config) as client:
        found = client.run(list_groups(state or []))
    columns = ("group", "state", "type", "protocol")
    rows = [(each.name, each.state, each.type, each.protocol) for each in found]
    if as_json:
        keys = ("id", "state", "type", "protocol_type")
        typer.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return
    from ..support.terminal_tables import print_table

    print_table(columns, rows)


@groups.command()
def describe(
    names: Annotated[list[str] | None, typer.Argument(metavar="[GROUP]...", autocompletion=complete_groups)] = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Show members, committed offsets and lag of groups. Of all without a name."""
    from ...client.operations.groups import describe_groups, list_groups

    with connect_client(bootstrap, command_config) as client:
        asked = names or [group.name for group in client.run(list_groups())]
        found = client.run(describe_groups(asked))
        missing = [
            (each.name, each.error or "GROUP_ID_NOT_FOUND", "") for each in found if each.error or each.state == DEAD
        ]
        absent = {name for name, _, _ in missing}
        shown = [_describe_group(client, group) for group in found if group.name not in absent]
    if as_json:
        typer.echo(json.dumps(shown, indent=2))
    else:
        for each in shown:
            _print_group(each)
    raise_failures(missing, HINTS)


@groups.command()
def delete(
    names: Names, bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None, as_json: AsJson = False
) -> None:
    """Delete groups that have no members, with their offsets."""
    from ...client.operations.groups import delete_groups

    with connect_client(bootstrap, command_config) as client:
        print_outcomes(client.run(delete_groups(names)), "deleted", HINTS, as_json=as_json, kind="group")


@groups.command(name="reset-offsets")
def reset_offsets(
    name: Annotated[str, typer.Argument(metavar="GROUP", autocompletion=complete_groups, show_default=False)],
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="TOPIC[:N,N...]", help="All or some partitions; may be repeated."),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the log start offset.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the log end offset.")] = False,
    to_offset: Annotated[
        int | None, typer.Option("--to-offset", help="To this offset, or the nearest that exists.")
    ] = None,
    by: Annotated[int | None, typer.Option("--by", help="Forward by this many records; backward if negative.")] = None,
    to_time: Annotated[
        str | None,
        typer.Option(
            "--to-time", metavar="TIME", help="To the first record not older than this, e.g. 2026-05-01T12:00."
        ),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Commit the new offsets; without it they are only shown.")
    ] = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Change committed offsets of a group without members."""
    from ...client.operations.groups import describe_groups
    from ...client.operations.offsets import commit_offsets, committed_offsets

    target = _parse_reset_target(to_earliest, to_latest, to_offset, by, to_time)
    with connect_client(bootstrap, command_config) as client:
        (group,) = client.run(describe_groups([name]))
        if group.members:
            raise CommandFailure(f"group {name} has {plural(len(group.members), 'member')}", HINTS["UNKNOWN_MEMBER_ID"])
        before = client.run(committed_offsets(name))
        topic_partitions = _choose_partitions(client, topic, before)
        if not topic_partitions:
            hint = "Name the topics with --topic."
            raise CommandFailure(f"group {name} has committed no offsets", hint)
        moved = _find_new_offsets(client, topic_partitions, before, target)
        outcomes = client.run(commit_offsets(name, moved)) if execute else []
    raise_failed_outcomes(outcomes, HINTS)
    _print_reset_offsets(name, before, moved, executed=execute, as_json=as_json)


# New offsets


def _parse_reset_target(
    to_earliest: bool, to_latest: bool, to_offset: int | None, by: int | None, to_time: str | None
) -> tuple[str, int]:
    chosen = [
        ("earliest", 0) if to_earliest else None,
        ("latest", 0) if to_latest else None,
        None if to_offset is None else ("offset", to_offset),
        None if by is None else ("by", by),
        None if to_time is None else ("time", _parse_time_ms(to_time)),
    ]
    given = [each for each in chosen if each is not None]
    if len(given) != 1:
        options = "--to-earliest, --to-latest, --to-offset, --by and --to-time"
        raise CommandFailure(
            f"one of {options} is needed, {'none' if not given else 'several'} of them given", "", EXIT_BAD_USAGE
        )
    return given[0]


def _parse_time_ms(text: str) -> int:
    """Returns the milliseconds since 1970 of an ISO time, in UTC if it has no zone. Raises: CommandFailure."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as fault:
        hint = "Write it as 2026-05-01T12:00, with +02:00 behind it if it is not UTC."
        raise CommandFailure(f"--to-time: expected a time, found {text!r}", hint, EXIT_BAD_USAGE) from fault
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def _choose_partitions(
    client: CommandClient, wanted: Sequence[str] | None, known: Mapping[TopicPartition, int]
) -> list[TopicPartition]:
    from ...client.operations.topics import list_topic_partitions

    if not wanted:
        return sorted(known)
    topic_partitions: list[TopicPartition] = []
    for text in wanted:
        topic, colon, listed = text.partition(":")
        if not colon:
            topic_partitions += client.run(list_topic_partitions(topic))
            continue
        try:
            topic_partitions += [(topic, int(each)) for each in listed.split(",")]
        except ValueError as fault:
            raise CommandFailure(f"--topic: expected TOPIC:N,N..., found {text!r}", "", EXIT_BAD_USAGE) from fault
    return topic_partitions


def _find_new_offsets(
    client: CommandClient,
    topic_partitions: Sequence[TopicPartition],
    before: Mapping[TopicPartition, int],
    target: tuple[str, int],
) -> dict[TopicPartition, int]:
    """Returns the new offset of each partition, moved into the partition's range if necessary."""
    from ...client.operations.offsets import EARLIEST, LATEST, look_up_offsets

    kind, number = target
    first = client.run(look_up_offsets(topic_partitions, EARLIEST))
    last = client.run(look_up_offsets(topic_partitions, LATEST))
    unknown = [
        topic_partition
        for topic_partition in topic_partitions
        if topic_partition not in first or topic_partition not in last
    ]
    if unknown:
        raise_failures(
            [(f"{topic}-{partition}", "UNKNOWN_TOPIC_OR_PARTITION", "") for topic, partition in unknown], HINTS
        )
    since = client.run(look_up_offsets(topic_partitions, number)) if kind == "time" else {}
    moved = {}
    for topic_partition in topic_partitions:
        wanted = {
            "earliest": first[topic_partition],
            "latest": last[topic_partition],
            "offset": number,
            "by": before.get(topic_partition, first[topic_partition]) + number,
            "time": last[topic_partition] if since.get(topic_partition, -1) < 0 else since[topic_partition],
        }[kind]
        moved[topic_partition] = min(max(wanted, first[topic_partition]), last[topic_partition])
    return moved


# Output


def _describe_group(client: CommandClient, group: Group) -> dict[str, Any]:
    from ...client.operations.offsets import LATEST, committed_offsets, look_up_offsets

    offsets = client.run(committed_offsets(group.name))
    owners = {topic_partition: member for member in group.members for topic_partition in member.partitions}
    topic_partitions = sorted({*offsets, *owners})
    ends = client.run(look_up_offsets(topic_partitions, LATEST))
    return {
        "id": group.name,
        "state": group.state,
        "type": group.type,
        "protocol": group.protocol,
        "members": [_member_row(member) for member in group.members],
        "offsets": [
            _offset_row(
                topic_partition, offsets.get(topic_partition), ends.get(topic_partition), owners.get(topic_partition)
            )
            for topic_partition in topic_partitions
        ],
    }


def _member_row(member: MemberDescription) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.host,
        "assigned_count": len(member.partitions),
        "assigned": [f"{topic}-{partition}" for topic, partition in sorted(member.partitions)],
    }


def _offset_row(
    topic_partition: TopicPartition, offset: int | None, end: int | None, owner: MemberDescription | None
) -> dict[str, Any]:
    topic, partition = topic_partition
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "end_offset": end,
        "lag": None if offset is None or end is None else end - offset,
        "member_id": None if owner is None else owner.member_id,
    }


def _print_group(group: Mapping[str, Any]) -> None:
    from ..support.terminal_tables import print_table

    heading = f"{group['id']}  {group['state']}, {group['type']} {group['protocol']}".rstrip()
    typer.echo(escape_control_characters(heading))
    for name, columns, numeric in TABLES:
        if rows := group[name]:
            cells = [["-" if cell is None else cell for cell in [*row.values()][: len(columns)]] for row in rows]
            print_table(columns, cells, numeric=numeric)


def _print_reset_offsets(
    name: str,
    before: Mapping[TopicPartition, int],
    moved: Mapping[TopicPartition, int],
    *,
    executed: bool,
    as_json: bool,
) -> None:
    rows = [
        {"topic": topic, "partition": partition, "from": before.get((topic, partition)), "to": offset}
        for (topic, partition), offset in moved.items()
    ]
    if as_json:
        typer.echo(json.dumps({"id": name, "executed": executed, "offsets": rows}, indent=2))
        return
    from ..support.terminal_tables import print_table

    typer.echo(f"{name}: moved" if executed else f"{name}: this would be moved, --execute does it")
    cells = [["-" if cell is None else cell for cell in row.values()] for row in rows]
    print_table(("topic", "partition", "from", "to"), cells, numeric=("partition", "from", "to"))
