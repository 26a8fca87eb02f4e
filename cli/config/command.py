"""`stepdown config`: every setting with its type, default, range, doc, and whether it can change at run time."""

from __future__ import annotations

import difflib
import json
from typing import Annotated

import typer

from ...config import BROKER_KEYS, TOPIC_KEYS
from ..support.failures import CommandFailure
from .settings_table import markdown, plain_text, rows

config = typer.Typer(rich_markup_mode=None, add_completion=False)


@config.command(name="config")
def config_command(
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY]...", help="Show only these.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON array of objects.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="The page docs/configuration.md.")] = False,
) -> None:
    """Print every setting: its name, type, default, range, whether it can change at run time, and what it does."""
    if as_markdown:
        typer.echo(markdown(), nl=False)
    elif as_json:
        typer.echo(json.dumps([row for row in rows() if not keys or row["name"] in _check(keys)], indent=2))
    elif keys:
        typer.echo("\n".join(_only(_check(keys))))
    else:
        typer.echo("\n".join(plain_text()).lstrip("\n"))


def _check(keys: list[str]) -> list[str]:
    known = [*BROKER_KEYS, *TOPIC_KEYS]
    for key in keys:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
            hint = f"Near it: {', '.join(near)}" if near else "`stepdown config` lists all of them."
            raise CommandFailure(f"there is no setting {key}", hint)
    return keys


def _only(keys: list[str]) -> list[str]:
    """The paragraphs of some keys out of the plain text."""
    paragraphs = "\n".join(plain_text()).split("\n\n")
    return [f"{paragraph}\n" for paragraph in paragraphs if paragraph.partition("\n")[0] in keys]
