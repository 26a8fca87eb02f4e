"""`stepdown configs`: settings of topics, brokers, loggers and groups, and quotas of users, clients and addresses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.failures import EXIT_BAD_USAGE, CommandFailure, raise_failures
from ..support.name_value_options import parse_name_value_pairs
from .entity_completion import complete_entities, complete_settings_to_alter
from .removed_settings import check_removed_settings

if TYPE_CHECKING:
    from ...client.operations.configs import ConfigResource
    from ..support.command_client import CommandClient
    from .entity import QuotaEntity

configs = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Show and change settings of topics, brokers, loggers, groups, and quotas of users, clients, addresses.",
)

Entity = Annotated[
    list[str],
    typer.Argument(
        metavar="KIND[=NAME]...",
        autocompletion=complete_entities,
        show_default=False,
        help="topic=orders, broker=1, broker (all), logger=1, group=g, metrics=m, user=alice, client=app, ip=10.0.0.7.",
    ),
]
HIDDEN, UNSET = "(not shown)", "(none)"
OWN_SOURCES = {
    "TOPIC": ("DYNAMIC_TOPIC_CONFIG",),
    "BROKER": ("DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    "BROKER_LOGGER": ("DYNAMIC_BROKER_LOGGER_CONFIG",),
    "CLIENT_METRICS": ("DYNAMIC_CLIENT_METRICS_CONFIG",),
    "GROUP": ("DYNAMIC_GROUP_CONFIG",),
}
"""The config sources of values that were set at run time, by resource type."""
HINTS = {
    "UNKNOWN_TOPIC_OR_PARTITION": "`stepdown topics list` shows what there is.",
    "INVALID_CONFIG": "`stepdown config KEY` shows the values that a setting takes.",
    "CLUSTER_AUTHORIZATION_FAILED": "It takes DESCRIBE_CONFIGS or ALTER_CONFIGS on the cluster; super.users may.",
    "TOPIC_AUTHORIZATION_FAILED": "It takes DESCRIBE_CONFIGS or ALTER_CONFIGS on the topic.",
}
"""The next step for the user, by the error code in the response."""


@configs.command()
def describe(
    entity: Entity,
    with_defaults: Annotated[bool, typer.Option("--all", "-a", help="Also what was not set at run time.")] = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Show settings or quotas. `user`, `client` and `ip` without a name: those of all."""
    from ...client.operations.configs import ConfigResource
    from .entity import parse_entity

    wanted = parse_entity(entity)
    with connect_client(bootstrap, command_config, HINTS) as client:
        if isinstance(wanted, ConfigResource):
            rows = _describe_resource(client, wanted, with_defaults=with_defaults)
            columns = ("name", "value", "source")
        else:
            rows = _describe_quotas(client, wanted)
            columns = ("entity", "name", "value")
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from ..support.terminal_tables import print_table

    if not rows:
        typer.echo(_describe_none_set(entity[0]) if isinstance(wanted, ConfigResource) else "no quotas")
        return
    print_table(columns, [[_format_cell(row, column) for column in columns] for row in rows])


def _describe_none_set(entity: str) -> str:
    kind, equals, name = entity.partition("=")
    if not equals:
        return "no default for all brokers is set; `stepdown configs describe broker=1 --all` shows what broker 1 has"
    return f"{kind} {name} has no settings of its own; --all shows those in force"


def _describe_resource(client: CommandClient, resource: ConfigResource, *, with_defaults: bool) -> list[dict[str, Any]]:
    from ...client.operations.configs import describe_configs

    own = OWN_SOURCES[resource.kind.name]
    rows = client.run(describe_configs(resource))
    return [row for row in rows if with_defaults or row["source"] in own]


def _describe_quotas(client: CommandClient, entity: QuotaEntity) -> list[dict[str, Any]]:
    from ...client.operations.quotas import describe_quotas

    exact = {kind: name for kind, name in entity.names.items() if name is not None}
    found = client.run(describe_quotas(exact, [kind for kind in entity.names if kind not in exact]))
    rows = [
        {"entity": each["entity"], "name": name, "value": value}
        for each in found
        for name, value in each["quotas"].items()
    ]
    return sorted(rows, key=lambda row: (str(row["entity"]), row["name"]))


def _format_cell(row: dict[str, Any], column: str) -> str:
    cell = row[column]
    if isinstance(cell, dict):
        return " ".join(kind if name is None else f"{kind}={name}" for kind, name in sorted(cell.items()))
    if isinstance(cell, float):
        return f"{cell:g}" if cell != int(cell) else str(int(cell))
    if cell is None:
        return HIDDEN if row["is_sensitive"] else UNSET
    return str(cell)


@configs.command()
def alter(
    entity: Entity,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            "-c",
            metavar="KEY=VALUE",
            autocompletion=complete_settings_to_alter,
            help="A setting; may be repeated.",
        ),
    ] = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option("--delete-config", "-d", metavar="KEY", help="Remove this one: the default holds again."),
    ] = None,
    validate_only: Annotated[bool, typer.Option(help="Check the change without making it.")] = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Set settings or quotas, or delete them. `user`, `client` and `ip` without a name are the default of all."""
    from ...client.operations.configs import ConfigResource, alter_configs
    from ...client.operations.quotas import alter_quotas
    from .entity import parse_entity

    wanted = parse_entity(entity)
    changed, removed = dict(parse_name_value_pairs(config or [], "--config")), delete_config or []
    if not changed and not removed:
        raise CommandFailure("nothing to alter", "Pass --config KEY=VALUE or --delete-config KEY.", EXIT_BAD_USAGE)
    if isinstance(wanted, ConfigResource):
        operation = alter_configs(wanted, changed, removed, validate_only=validate_only)
    else:
        operation = alter_quotas(wanted.names, _parse_quotas(changed), removed, validate_only=validate_only)
    with connect_client(bootstrap, command_config, HINTS) as client:
        if isinstance(wanted, ConfigResource):
            check_removed_settings(client, wanted, removed)
        outcome = client.run(operation)
    name = " ".join(entity)
    if as_json:
        typer.echo(json.dumps({"entity": name, "error": outcome.error, "message": outcome.message}, indent=2))
    elif not outcome.failed:
        typer.echo(f"{name}: {'could be altered' if validate_only else 'altered'}")
    raise_failures([(name, outcome.error, outcome.message)] if outcome.failed else [], HINTS)


def _parse_quotas(texts: dict[str, str]) -> dict[str, float]:
    try:
        return {key: float(text) for key, text in texts.items()}
    except ValueError as fault:
        raise CommandFailure(f"--config: a quota is a number: {fault}", "", EXIT_BAD_USAGE) from fault
