"""`stepdown completion SHELL`: prints what makes a shell complete commands and options, by Typer's own scripts."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from ..config.sources.command_parser import list_values
from .commands import COMPLETION_VARIABLE, Candidate
from .support.failures import EXIT_BAD_USAGE, CommandFailure

completion = typer.Typer(add_completion=False, rich_markup_mode=None)

SHELLS = ("bash", "zsh", "fish")


@completion.command()
def completion_command(
    shell: Annotated[str, typer.Argument(metavar="|".join(SHELLS), show_default=False)],
) -> None:
    """Print the completion of a shell: source <(stepdown completion bash)."""
    from typer._completion_shared import get_completion_script

    if shell not in SHELLS:
        raise CommandFailure(f"expected {', '.join(SHELLS)}, found {shell!r}", "", EXIT_BAD_USAGE)
    typer.echo(get_completion_script(prog_name="stepdown", complete_var=COMPLETION_VARIABLE, shell=shell))


def offer_values(command: Any) -> None:
    """Have a command and those below it offer the values of each parameter whose metavar lists them."""
    for parameter in command.params:
        if values := list_values(parameter.metavar or ""):
            parameter.shell_complete = partial(_begin_with, values)
    for each in getattr(command, "commands", {}).values():
        offer_values(each)


def _begin_with(values: list[str], ctx: Any, incomplete: str) -> list[Candidate]:
    return [Candidate(value, "") for value in values if value.startswith(incomplete)]


def answer_shells() -> None:
    """Make Typer answer the scripts; it does so by itself only with its own options, which install them."""
    from typer._completion_classes import completion_init

    completion_init()
