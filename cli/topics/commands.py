"""`stepdown topics`: create, list, describe, delete and alter topics of a running broker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ...protocol.plural import plural
from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, Internal, connect_client
from ..support.client_properties import CommandConfig
from ..support.completion_values import complete_topic_settings, complete_topics
from ..support.failures import EXIT_BAD_USAGE, CommandFailure, raise_failures
from ..support.outcomes import print_outcomes
from .adopt import adopt
from .hints import HINTS
from .setting_pairs import parse_setting_pairs

topics = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Create, list, describe, delete and alter topics of a broker, adopt those of a directory.",
)

Names = Annotated[list[str], typer.Argument(metavar="TOPIC...", autocompletion=complete_topics, show_default=False)]
Configs = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        "-c",
        metavar="KEY=VALUE",
        autocompletion=complete_topic_settings,
        help="A setting; may be repeated.",
    ),
]

topics.command()(adopt)


@topics.command()
def create(
    names: Names,
    partitions: Annotated[int, typer.Option("--partitions", "-p", help="-1: the broker's num.partitions.")] = -1,
    replication_factor: Annotated[int, typer.Option(help="-1: the broker's default.replication.factor.")] = -1,
    config: Configs = None,
    if_not_exists: Annotated[bool, typer.Option(help="Do not fail if the topic exists.")] = False,
    validate_only: Annotated[bool, typer.Option(help="Check the request without creating anything.")] = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Create topics."""
    from ...client.operations.topics import NewTopic, create_topics

    configs = parse_setting_pairs(config or [])
    for option, count in (("--partitions", partitions), ("--replication-factor", replication_factor)):
        if count < 1 and count != -1:
            raise CommandFailure(f"{option}: expected -1, or at least 1, found {count}", "", EXIT_BAD_USAGE)
    wanted = [
        NewTopic(name=name, partitions=partitions, replication_factor=replication_factor, configs=configs)
        for name in names
    ]
    with connect_client(bootstrap, command_config) as client:
        outcomes = client.run(create_topics(wanted, validate_only=validate_only))
    accepted = ("TOPIC_ALREADY_EXISTS",) if if_not_exists else ()
    print_outcomes(
        outcomes,
        "could be created" if validate_only else "created",
        HINTS,
        as_json=as_json,
        kind="topic",
        accepted=accepted,
    )


@topics.command(name="list")
def list_command(
    internal: Internal = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """List the topics."""
    from ...client.operations.topics import describe_topics

    with connect_client(bootstrap, command_config) as client:
        found = [topic for topic in client.run(describe_topics()) if internal or not topic["is_internal"]]
    if as_json:
        shown = [{**topic, "partitions": len(topic["partitions"])} for topic in found]
        typer.echo(json.dumps(shown, indent=2))
        return
    from ..support.terminal_tables import print_table

    print_table(
        ("topic", "partitions", "replicas"),
        [(topic["name"], len(topic["partitions"]), replica_count(topic)) for topic in found],
        numeric=("partitions", "replicas"),
    )


@topics.command()
def describe(
    names: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]...", autocompletion=complete_topics)] = None,
    internal: Internal = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Show partitions, leaders and the topic's own settings."""
    from ...client.operations.topics import TOPIC_SOURCE, describe_topics, topic_configs

    with connect_client(bootstrap, command_config) as client:
        found = [
            topic
            for topic in client.run(describe_topics(names or None))
            if names or internal or not topic["is_internal"]
        ]
        whole = [topic["name"] for topic in found if not topic["error"]]
        configs = client.run(topic_configs(whole)) if whole else {}
    for topic in found:
        topic["configs"] = {
            row["name"]: row["value"] for row in configs.get(topic["name"], []) if row["source"] == TOPIC_SOURCE
        }
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        print_topics([topic for topic in found if not topic["error"]])
    raise_failures([(topic["name"], topic["error"], "") for topic in found if topic["error"]], HINTS)


@topics.command()
def delete(
    names: Names,
    internal: Annotated[
        bool, typer.Option("--internal", help="Also an internal topic: all groups' offsets, or all transactions.")
    ] = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Delete topics and their records."""
    from ...client.operations.topics import delete_topics, describe_topics

    with connect_client(bootstrap, command_config) as client:
        own = [] if internal else [each["name"] for each in client.run(describe_topics(names)) if each["is_internal"]]
        if own:
            hint = "It holds the offsets of all groups, or all transactions; --internal deletes it."
            raise CommandFailure(f"{own[0]} is an internal topic", hint, EXIT_BAD_USAGE)
        outcomes = client.run(delete_topics(names))
    print_outcomes(outcomes, "deleted", HINTS, as_json=as_json, kind="topic")


@topics.command()
def alter(
    name: Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=complete_topics, show_default=False)],
    partitions: Annotated[int | None, typer.Option("--partitions", "-p", help="The new, larger number.")] = None,
    config: Configs = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option(
            "--delete-config",
            "-d",
            metavar="KEY",
            help="Remove this setting of the topic: the broker's default holds again.",
        ),
    ] = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Add partitions to a topic, or change its settings."""
    from ...client.operations.configs import ConfigResource, ResourceKind
    from ...client.operations.topics import add_partitions, alter_topic_configs
    from ..configs.removed_settings import check_removed_settings

    changed = parse_setting_pairs(config or [])
    if partitions is None and not changed and not delete_config:
        raise CommandFailure(
            "nothing to alter", "Pass --partitions, --config KEY=VALUE or --delete-config KEY.", EXIT_BAD_USAGE
        )
    outcomes = []
    with connect_client(bootstrap, command_config) as client:
        if changed or delete_config:
            check_removed_settings(client, ConfigResource(ResourceKind.TOPIC, name), delete_config or [])
            outcomes.append(client.run(alter_topic_configs(name, changed, delete_config or [])))
        if partitions is not None and not any(outcome.failed for outcome in outcomes):
            outcomes.append(client.run(add_partitions(name, partitions)))
    print_outcomes(outcomes[-1:], "altered", HINTS, as_json=as_json, kind="topic")


def replica_count(topic: dict[str, Any]) -> int:
    """How many replicas a topic's partitions have."""
    return max((len(partition["replicas"]) for partition in topic["partitions"]), default=0)


def print_topics(found: Sequence[dict[str, Any]]) -> None:
    """Print each topic: a line on it, its own settings, and a table of its partitions."""
    from ..support.terminal_tables import print_table

    for topic in found:
        counts = plural(len(topic["partitions"]), "partition"), plural(replica_count(topic), "replica")
        heading = f"{topic['name']}  {', '.join(counts)}"
        typer.echo(f"{heading}, id {topic['id']}" if topic["id"] else heading)
        for key, value in topic["configs"].items():
            typer.echo(f"  {key}={value}")
        if topic["configs"].get("stepdown.settings.unknown") == "true":
            typer.echo("  its settings are not known: `stepdown topics adopt` says what they are")
        columns = ["partition", "leader", "epoch", "replicas", "isr", "error"]
        if not any(partition["error"] for partition in topic["partitions"]):
            columns.pop()
        rows = [_partition_row(partition)[: len(columns)] for partition in topic["partitions"]]
        print_table(columns, rows, numeric=columns[:3])


def _partition_row(partition: dict[str, Any]) -> tuple[Any, ...]:
    return (
        partition["partition"],
        partition["leader"],
        partition["leader_epoch"],
        ",".join(map(str, partition["replicas"])),
        ",".join(map(str, partition["isr"])),
        partition["error"],
    )
