"""All commands, down to those that do something."""

from collections.abc import Iterator

import typer.core
from stepdown.cli.commands import app
from typer.main import get_command


def list_leaves(
    group: typer.core.TyperGroup, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], typer.core.TyperCommand]]:
    """Words of a command line, and the command that they call."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, typer.core.TyperGroup):
            yield from list_leaves(command, (*words, name))
        else:
            assert isinstance(command, typer.core.TyperCommand)
            yield (*words, name), command


TREE = get_command(app)
assert isinstance(TREE, typer.core.TyperGroup)
LEAVES = dict(list_leaves(TREE))
OF_ARGPARSE = ("serve", "gateway", "pipeline")
"""Commands with a command line of their own, which Typer does not know."""


def options_of(words: tuple[str, ...]) -> set[str]:
    """Names of the options that Typer knows."""
    return {name for parameter in LEAVES[words].params for name in parameter.opts}
