"""`stepdown users`: users that log in with SCRAM, and their passwords."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect
from ..support.client_properties import CommandConfig
from ..support.failures import EXIT_BAD_USAGE, CommandFailed

users = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List users with SCRAM passwords, set and remove passwords.",
)

Name = Annotated[str, typer.Argument(metavar="USER", show_default=False)]
Mechanism = Annotated[str, typer.Option("--mechanism", "-m", help="SCRAM-SHA-256 or SCRAM-SHA-512.")]
STRONGER = "SCRAM-SHA-512"


@users.command(name="list")
def list_command(bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None, as_json: AsJson = False) -> None:
    """List the users that have passwords, and for which mechanisms."""
    from . import requests

    with connect(bootstrap, command_config) as client:
        rows = requests.known(client)
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
    """Set a user's password: prompts for it, or reads one line if stdin is not a terminal."""
    from . import requests

    _check(mechanism)
    password = _password(name)
    with connect(bootstrap, command_config) as client:
        requests.set_password(client, name, password, mechanism.upper(), iterations)
    typer.echo(f"{name}: has a password for {mechanism.upper()}")


@users.command()
def remove(
    name: Name, mechanism: Mechanism = STRONGER, bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None
) -> None:
    """Remove a user's password for a mechanism."""
    from . import requests

    _check(mechanism)
    with connect(bootstrap, command_config) as client:
        requests.remove(client, name, mechanism.upper())
    typer.echo(f"{name}: has no password for {mechanism.upper()} any more")


def _check(mechanism: str) -> None:
    from .requests import MECHANISMS

    if mechanism.upper() not in MECHANISMS:
        raise CommandFailed(f"--mechanism: {' or '.join(MECHANISMS)} expected", "", EXIT_BAD_USAGE)


def _password(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True))
    with open(sys.stdin.fileno(), "rb", closefd=False) as given:
        password = given.readline().decode().rstrip("\r\n")
    if not password:
        raise CommandFailed("there is no password on stdin", "echo secret | stepdown users set alice", EXIT_BAD_USAGE)
    return password
