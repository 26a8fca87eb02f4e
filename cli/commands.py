"""The commands by name. The package of a command is imported when the command is called."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from .. import __version__

COMMANDS = {
    "serve": (".commands", "serve", "Serve log directories until SIGTERM or SIGINT."),
    "gateway": (".commands", "gateway", "Translate requests that Kafka 4 removed."),
    "topics": (".topics.commands", "topics", "Create, list, describe, delete, alter topics."),
    "groups": (".groups.commands", "groups", "List, describe, delete groups, move their offsets."),
    "transactions": (".transactions.commands", "transactions", "List, describe and abort transactions."),
    "acls": (".acls.commands", "acls", "List, add and remove access rules."),
    "users": (".users.commands", "users", "List users, set and remove passwords."),
    "clients": (".clients.commands", "clients", "Say who is there, and whom Kafka 4 would answer."),
    "cluster": (".cluster.cluster", "cluster", "Show the cluster's id and its brokers."),
    "log-dirs": (".cluster.log_dirs", "log_dirs", "Show log directories and what is in them."),
    "offsets": (".cluster.offsets", "offsets", "Show first and next offsets of partitions."),
    "delete-records": (".cluster.delete_records", "delete_records", "Delete records before an offset."),
    "configs": (".configs.commands", "configs", "Show and change settings of topics and brokers, and quotas."),
    "reassign": (".reassign.commands", "reassign", "Move partitions to other brokers."),
    "produce": (".produce.command", "produce", "Write records from stdin to a topic."),
    "consume": (".consume.command", "consume", "Print the records of topics."),
    "metadata": (".metadata.commands", "metadata", "Prepare the metadata of log directories for Kafka."),
    "migrate": (".migrate.commands", "migrate", "Take disks of a cluster with ZooKeeper to Kafka 4."),
    "log": (".log.command", "log", "Show and check the files of a log."),
    "config": (".config.command", "config", "Print every setting, or explain a file of them."),
    "bench": (".bench.commands", "bench", "Measure speed and memory, beside Apache Kafka."),
    "pipeline": (".pipeline", "pipeline", "Read, count, convert, archive segments with Spark."),
    "producer-perf": (".producer_perf.command", "producer_perf", "Write to a topic, report speed and latency."),
    "faults": (".faults.commands", "faults", "Inject faults into a broker, for tests."),
    "clock": (".faults.commands", "clock", "Stop and move the clock of a broker, for tests."),
    "scenario": (".scenario.commands", "scenario", "Run a scenario of faults in a cluster."),
    "completion": (".completion", "completion", "Print what makes a shell complete commands."),
}
"""Each command's module, the name of its Typer application there, and its line in the help, in that order."""

COMPLETION_VARIABLE = "_STEPDOWN_COMPLETE"
"""The shell sets it when it asks for completions (`completion.py`)."""


TEXTS = ("group", "key", "mechanism", "password", "state", "token", "topic")
"""Options with a text value: the help shows their name in capitals for it, and N for numbers."""

TAKES_ALL = {"ignore_unknown_options": True, "allow_extra_args": True}
"""For a command that parses its own command line."""


@dataclass(frozen=True, slots=True)
class CompletionCandidate:
    """One completion for a shell, with the attributes that Typer reads."""

    value: str
    help: str
    type: str = "plain"


class SelfParsingCommand(TyperCommand):
    """A command that parses its own arguments, and has its own function for completions."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        found = COMPLETERS[str(self.name)](ctx.args, incomplete)
        try:
            return [CompletionCandidate(value, text) for value, text in found]
        except ImportError:
            return []  # the command itself says what is missing


def _complete_serve(words: Sequence[str], begin: str) -> Iterator[tuple[str, str]]:
    from .serve.command_line import make_parser

    yield from make_parser().list_next(words, begin)


def _complete_gateway(words: Sequence[str], begin: str) -> Iterator[tuple[str, str]]:
    from .gateway.command_line import make_parser

    yield from make_parser().list_next(words, begin)


def _complete_pipeline(words: Sequence[str], begin: str) -> Iterator[tuple[str, str]]:
    from ..pipeline.command import list_next

    yield from list_next("stepdown pipeline", words, begin)


COMPLETERS = {"serve": _complete_serve, "gateway": _complete_gateway, "pipeline": _complete_pipeline}


def _set_metavar_completion(command: Any) -> None:
    """Have a command and those below it offer the values of each parameter whose metavar lists them."""
    from ..config.sources.command_parser import list_metavar_values

    for parameter in command.params:
        if values := list_metavar_values(parameter.metavar or ""):
            parameter.shell_complete = partial(_filter_by_prefix, values)
    for each in getattr(command, "commands", {}).values():
        _set_metavar_completion(each)


def _show_plain_metavars(command: Any) -> None:
    """Makes Typer's help look like that of `stepdown serve`: no braces around arguments, no Python types."""
    for parameter in command.params:
        if isinstance(parameter, TyperArgument):
            parameter.display_type_rich = _show_no_type  # type: ignore[method-assign]
            parameter.get_usage_pieces = partial(_list_metavar, parameter.metavar)  # type: ignore[method-assign]
        elif parameter.metavar is None and not parameter.is_flag:
            parameter.metavar = parameter.name.upper() if parameter.name in TEXTS else "N"
    for each in getattr(command, "commands", {}).values():
        _show_plain_metavars(each)


def _show_no_type(ctx: Any) -> None:
    return None


def _list_metavar(metavar: Any, ctx: Any) -> list[str]:
    return [metavar]


def _filter_by_prefix(values: Sequence[str], ctx: Any, incomplete: str) -> list[CompletionCandidate]:
    return [CompletionCandidate(value, "") for value in values if value.startswith(incomplete)]


class _LazyCommands(TyperGroup):
    """Imports a command's module when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, application, _ = COMMANDS[cmd_name]
        command = get_command(getattr(import_module(module, __package__), application))
        command.name = cmd_name
        _show_plain_metavars(command)
        if COMPLETION_VARIABLE in os.environ:
            _set_metavar_completion(command)
        from .support.user_config import find_command_config_default

        if defaults := find_command_config_default():
            ctx.default_map = {cmd_name: defaults | dict.fromkeys(getattr(command, "commands", ()), defaults)}
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


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


@serve.command(name="serve", cls=SelfParsingCommand, add_help_option=False, context_settings=TAKES_ALL)
def serve_command(context: typer.Context) -> None:
    """Serve log directories until SIGTERM or SIGINT."""
    from .serve.command_line import main as run

    raise typer.Exit(run(context.args))


gateway = typer.Typer(add_completion=False, rich_markup_mode=None)


@gateway.command(name="gateway", cls=SelfParsingCommand, add_help_option=False, context_settings=TAKES_ALL)
def gateway_command(context: typer.Context) -> None:
    """Translate requests that Kafka 4 removed, in front of a cluster."""
    from .gateway.command_line import main as run

    raise typer.Exit(run(context.args))
