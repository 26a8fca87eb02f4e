"""The commands by name. The package of a command is imported when the command is called or its help is shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from .. import __version__

COMMANDS = {
    "serve": (".commands", "serve"),
    "gateway": (".commands", "gateway"),
    "topics": (".topics.commands", "topics"),
    "groups": (".groups.commands", "groups"),
    "transactions": (".transactions.commands", "transactions"),
    "acls": (".acls.commands", "acls"),
    "users": (".users.commands", "users"),
    "clients": (".clients.commands", "clients"),
    "produce": (".produce.command", "produce"),
    "consume": (".consume.command", "consume"),
    "metadata": (".metadata.commands", "metadata"),
    "migrate": (".migrate.commands", "migrate"),
    "log": (".log.command", "log"),
    "config": (".config.command", "config"),
    "bench": (".bench.commands", "bench"),
    "pipeline": (".pipeline", "pipeline"),
    "producer-perf": (".producer_perf.command", "producer_perf"),
    "faults": (".faults.commands", "faults"),
    "clock": (".faults.commands", "clock"),
    "scenario": (".scenario.commands", "scenario"),
}
"""Name of a command to its module and the Typer application there, in the order of the help."""


class _LazyCommands(TyperGroup):
    """Imports a command's module when it is called or shown."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, application = COMMANDS[cmd_name]
        command = get_command(getattr(import_module(module, __package__), application))
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=_LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stepdown {__version__}")
        raise typer.Exit


@app.callback()
def stepdown(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    """A Kafka broker that serves log directories to clients of any age, converting records down in bounded memory."""


serve = typer.Typer(add_completion=False, rich_markup_mode=None)


@serve.command(
    name="serve", add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def serve_command(context: typer.Context) -> None:
    """Serve log directories until SIGTERM or SIGINT."""
    from .serve.command_line import main as run

    raise typer.Exit(run(context.args))


gateway = typer.Typer(add_completion=False, rich_markup_mode=None)


@gateway.command(
    name="gateway", add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def gateway_command(context: typer.Context) -> None:
    """Translate requests that Kafka 4 removed, in front of a cluster."""
    from .gateway.command_line import main as run

    raise typer.Exit(run(context.args))
