"""`stepdown config`: every setting with its type, default, range, doc, and whether it can change at run time."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated

import typer

from ...config import BROKER_KEYS, TOPIC_KEYS
from ..support.completion_values import complete_settings
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from .settings_table import markdown, plain_text, rows

config = typer.Typer(rich_markup_mode=None, add_completion=False)


@config.command(name="config")
def config_command(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", autocompletion=complete_settings, help="Show only these.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON array of objects.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="The page docs/configuration.md.")] = False,
    file: Annotated[
        Path | None, typer.Option("--explain", metavar="FILE", help="Tell what becomes of each setting of this file.")
    ] = None,
) -> None:
    """Print every setting: its name, type, default, range, whether it can change at run time, and what it does."""
    if file is not None:
        _print_explanation(file, as_json=as_json)
    elif as_markdown:
        typer.echo(markdown(), nl=False)
    elif as_json:
        typer.echo(json.dumps([row for row in rows() if not keys or row["name"] in _check_keys_exist(keys)], indent=2))
    elif keys:
        typer.echo("\n".join(_paragraphs_of(_check_keys_exist(keys))))
    else:
        typer.echo("\n".join(plain_text()).lstrip("\n"))


def _print_explanation(file: Path, *, as_json: bool) -> None:
    from .explanation import REFUSED, explain_properties
    from .explanation import plain_text as lines_of

    rows = explain_properties(file)
    typer.echo(json.dumps(rows, indent=2) if as_json else "\n".join(lines_of(file, rows)))
    if any(row["state"] == REFUSED for row in rows):
        raise typer.Exit(EXIT_BAD_USAGE)


def _check_keys_exist(keys: list[str]) -> list[str]:
    known = [*BROKER_KEYS, *TOPIC_KEYS]
    for key in keys:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
            hint = f"Near it: {', '.join(near)}" if near else "`stepdown config` lists all of them."
            raise CommandFailure(f"there is no setting {key}", hint)
    return keys


def _paragraphs_of(keys: list[str]) -> list[str]:
    """The paragraphs of some keys out of the plain text."""
    paragraphs = "\n".join(plain_text()).split("\n\n")
    return [f"{paragraph}\n" for paragraph in paragraphs if paragraph.partition("\n")[0] in keys]
