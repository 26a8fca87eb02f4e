"""`stepdown users`: lists SCRAM users, sets and removes their passwords."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.outcomes import raise_failed_outcomes

users = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List users with SCRAM passwords, set and remove passwords.",
)

Name = Annotated[str, typer.Argument(metavar="USER", show_default=False)]
Mechanism = Annotated[str, typer.Option("--mechanism", "-m", help="SCRAM-SHA-256 or SCRAM-SHA-512.")]
STRONGER = "SCRAM-SHA-512"
HINTS = {
    "UNACCEPTABLE_CREDENTIAL": "Names are not empty; iterations are 4096 to 16384.",
    "RESOURCE_NOT_FOUND": "`stepdown users list` shows who has a password.",
    "CLUSTER_AUTHORIZATION_FAILED": "Seeing users takes DESCRIBE on the cluster, changing them ALTER; super.users may.",
}
"""The next step for the user, by the error code in the response."""


@users.command(name="list")
def list_command(bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None, as_json: AsJson = False) -> None:
    """List the users that have passwords, and for which mechanisms."""
    from ...client.operations.users import describe_users

    with connect_client(bootstrap, command_config, HINTS) as client:
        rows = client.run(describe_users())
    columns = ("user", "mechanism", "iterations")
    if as_json:
        typer.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2))
        return
    from ..support.terminal_tables import print_table

    print_table(columns, rows, numeric=("iterations",))


@users.command(name="set")
def set_command(
    name: Name,
    mechanism: Mechanism = STRONGER,
    iterations: Annotated[
        int, typer.Option(help="SCRAM iterations: more make a stolen credential harder to guess.")
    ] = 4096,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
) -> None:
    """Set a user's password. Prompts for it, or reads one line if stdin is not a terminal."""
    from ...client.operations.users import set_password

    _check_mechanism(mechanism)
    password = _read_password(name)
    with connect_client(bootstrap, command_config) as client:
        raise_failed_outcomes(client.run(set_password(name, password, mechanism.upper(), iterations)), HINTS)
    typer.echo(f"{name}: has a password for {mechanism.upper()}")


@users.command()
def remove(
    name: Name, mechanism: Mechanism = STRONGER, bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None
) -> None:
    """Remove a user's password for a mechanism."""
    from ...client.operations.users import remove_password

    _check_mechanism(mechanism)
    with connect_client(bootstrap, command_config) as client:
        raise_failed_outcomes(client.run(remove_password(name, mechanism.upper())), HINTS)
    typer.echo(f"{name}: has no password for {mechanism.upper()} any more")


def _check_mechanism(mechanism: str) -> None:
    from ...client.operations.users import MECHANISMS

    if mechanism.upper() not in MECHANISMS:
        raise CommandFailure(f"--mechanism: {' or '.join(MECHANISMS)} expected", "", EXIT_BAD_USAGE)


def _read_password(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True))
    with open(sys.stdin.fileno(), "rb", closefd=False) as given:
        password = given.readline().decode().rstrip("\r\n")
    if not password:
        raise CommandFailure("there is no password on stdin", "echo secret | stepdown users set alice", EXIT_BAD_USAGE)
    return password
