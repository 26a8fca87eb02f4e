"""`stepdown completion SHELL`: prints the script, from Typer, by which a shell completes commands and options."""

from __future__ import annotations

from typing import Annotated

import typer

from .commands import COMPLETION_VARIABLE
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
        raise CommandFailure(f"SHELL: expected {', '.join(SHELLS)}, found {shell!r}", "", EXIT_BAD_USAGE)
    typer.echo(get_completion_script(prog_name="stepdown", complete_var=COMPLETION_VARIABLE, shell=shell))


def enable_shell_completion() -> None:
    """Makes Typer answer the scripts. By default it does so only together with its own install options."""
    from typer._completion_classes import completion_init

    completion_init()
