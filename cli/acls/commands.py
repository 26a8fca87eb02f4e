"""`stepdown acls`: list, add and remove access rules of a running broker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ...config.similar_names import nearest
from ...protocol.acls import CLUSTER_NAME, Acl, AclFilter, AclOperation, PatternType, PermissionType, ResourceType
from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.failures import EXIT_BAD_USAGE, CommandFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

acls = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List, add and remove access rules of a broker that has an authorizer.",
)

Topics = Annotated[list[str] | None, typer.Option("--topic", metavar="NAME", help="May be repeated; * for all.")]
Groups = Annotated[list[str] | None, typer.Option("--group", metavar="NAME", help="May be repeated; * for all.")]
Transactions = Annotated[
    list[str] | None, typer.Option("--transactional-id", metavar="NAME", help="May be repeated; * for all.")
]
OnCluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
Prefixed = Annotated[bool, typer.Option("--prefixed", help="The names given are prefixes.")]
Principals = Annotated[list[str] | None, typer.Option("--principal", metavar="User:NAME", help="May be repeated.")]
Operations = Annotated[
    list[str] | None,
    typer.Option(
        "--operation",
        metavar="OPERATION",
        autocompletion=lambda incomplete: [name for name in KNOWN_OPERATIONS if name.startswith(incomplete)],
        help="Such as read; may be repeated.",
    ),
]
Hosts = Annotated[list[str] | None, typer.Option("--host", metavar="ADDRESS", help="May be repeated.")]

Resource = tuple[ResourceType, str]
HINTS = {
    "SECURITY_DISABLED": "Start the broker with authorizer.class.name; `stepdown config` tells how.",
    "CLUSTER_AUTHORIZATION_FAILED": "Seeing rules takes DESCRIBE on the cluster, changing them ALTER; super.users may.",
}
"""The next step for the user, by the error code in the response."""
KNOWN_OPERATIONS = {
    operation.name.lower().replace("_", "-"): operation for operation in AclOperation if operation >= AclOperation.ALL
}


@acls.command(name="list")
def list_command(
    topic: Topics = None,
    group: Groups = None,
    transactional_id: Transactions = None,
    cluster: OnCluster = False,
    principal: Principals = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """List all rules, or those for the resources and principals named."""
    from ...client.operations.acls import describe_acls

    resources = _resources_of_options(topic, group, transactional_id, cluster)
    with connect_client(bootstrap, command_config, HINTS) as client:
        shown = {
            acl
            for wanted in _make_filters(resources, PatternType.MATCH, principal)
            for acl in client.run(describe_acls(wanted))
        }
    _print_acls(sorted(shown), as_json=as_json)


@acls.command()
def add(
    principal: Principals = None,
    operation: Operations = None,
    topic: Topics = None,
    group: Groups = None,
    transactional_id: Transactions = None,
    cluster: OnCluster = False,
    prefixed: Prefixed = False,
    deny: Annotated[bool, typer.Option("--deny", help="Deny instead of allow.")] = False,
    host: Hosts = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Add rules. There is one for each combination of principal, operation, resource and host (default: any host)."""
    from ...client.operations.acls import create_acls

    resources = _resources_of_options(topic, group, transactional_id, cluster)
    if not resources or not principal or not operation:
        raise CommandFailure(
            "a rule needs a principal, an operation and a resource",
            "As in: stepdown acls add --principal User:alice --operation read --topic orders",
            EXIT_BAD_USAGE,
        )
    wanted = [
        Acl(
            resource_type=kind,
            resource_name=name,
            pattern_type=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
            principal=who,
            host=where,
            operation=what,
            permission_type=PermissionType.DENY if deny else PermissionType.ALLOW,
        )
        for kind, name in resources
        for who in principal
        for what in _parse_operations(operation)
        for where in host or ["*"]
    ]
    with connect_client(bootstrap, command_config, HINTS) as client:
        client.run(create_acls(wanted))
    _print_acls(wanted, as_json=as_json)


@acls.command()
def remove(
    principal: Principals = None,
    operation: Operations = None,
    topic: Topics = None,
    group: Groups = None,
    transactional_id: Transactions = None,
    cluster: OnCluster = False,
    prefixed: Prefixed = False,
    everything: Annotated[bool, typer.Option("--all", help="Remove all rules.")] = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Remove the rules that match all options given, and show them."""
    from ...client.operations.acls import delete_acls

    resources = _resources_of_options(topic, group, transactional_id, cluster)
    if not (resources or principal or operation or everything):
        raise CommandFailure("nothing says which rules to remove", "Pass --all to remove every rule.", EXIT_BAD_USAGE)
    pattern = PatternType.ANY if not resources else PatternType.PREFIXED if prefixed else PatternType.LITERAL
    filters = [
        AclFilter(
            resource_type=each.resource_type,
            resource_name=each.resource_name,
            pattern_type=pattern,
            principal=each.principal,
            operation=what,
        )
        for each in _make_filters(resources, pattern, principal)
        for what in (_parse_operations(operation) if operation else [AclOperation.ANY])
    ]
    with connect_client(bootstrap, command_config, HINTS) as client:
        removed = client.run(delete_acls(filters))
    _print_acls(removed, as_json=as_json)


def _resources_of_options(
    topics: Sequence[str] | None, groups: Sequence[str] | None, transactions: Sequence[str] | None, cluster: bool
) -> list[Resource]:
    named = (
        (ResourceType.TOPIC, topics),
        (ResourceType.GROUP, groups),
        (ResourceType.TRANSACTIONAL_ID, transactions),
        (ResourceType.CLUSTER, [CLUSTER_NAME] if cluster else None),
    )
    return [(kind, name) for kind, names in named for name in names or ()]


def _make_filters(
    resources: Sequence[Resource], pattern: PatternType, principals: Sequence[str] | None
) -> Iterator[AclFilter]:
    """Yields a filter for each pair of principal and resource; a list that is empty matches anything."""
    anybody: list[str | None] = [None]
    for principal in principals or anybody:
        if not resources:
            yield AclFilter(principal=principal)
        for kind, name in resources:
            yield AclFilter(resource_type=kind, resource_name=name, pattern_type=pattern, principal=principal)


def _parse_operations(names: Sequence[str]) -> list[AclOperation]:
    """Raises: CommandFailure for an unknown operation."""
    found = []
    for name in names:
        operation = KNOWN_OPERATIONS.get(name.lower().replace("_", "-"))
        if operation is None:
            near = nearest(name.lower(), KNOWN_OPERATIONS)
            hint = f"Did you mean {near}?" if near else f"There are: {', '.join(KNOWN_OPERATIONS)}."
            raise CommandFailure(f"--operation: there is no operation {name!r}", hint, EXIT_BAD_USAGE)
        found.append(operation)
    return found


def _print_acls(rules: Sequence[Acl], *, as_json: bool) -> None:
    columns = ("resource", "name", "pattern", "principal", "host", "operation", "permission")
    rows = [
        (
            acl.resource_type.name.lower().replace("_", "-"),
            acl.resource_name,
            acl.pattern_type.name.lower(),
            acl.principal,
            acl.host,
            acl.operation.name.lower().replace("_", "-"),
            acl.permission_type.name.lower(),
        )
        for acl in rules
    ]
    if as_json:
        typer.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2))
        return
    from ..support.terminal_tables import print_table

    print_table(columns, rows)
