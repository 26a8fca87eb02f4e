"""`stepdown scenario`: lists and runs scenarios that come with stepdown, and runs files of the user."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from ..support.bootstrap_server import AsJson
from ..support.failures import EXIT_BAD_USAGE, CommandFailure

scenario = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Run a scenario of faults in a cluster, step by step, on a simulated clock.",
)
Name = Annotated[str, typer.Argument(metavar="NAME|FILE", show_default=False)]


@scenario.command(name="list")
def list_command(as_json: AsJson = False) -> None:
    """List the scenarios that come with stepdown."""
    from ...testing.scenarios.scenario import load, names

    titles = {name: load(name).title for name in names()}
    if as_json:
        typer.echo(json.dumps([{"name": name, "title": title} for name, title in titles.items()], indent=2))
        return
    for name, title in titles.items():
        typer.echo(f"{name:32} {title}")


@scenario.command()
def run(name: Name, seed: Annotated[int, typer.Option(help="Seed of what is random.")] = 0) -> None:
    """Run a scenario and print its events. Exit code 1 if a step was not as expected."""
    from ...testing.scenarios import runner
    from ...testing.scenarios.scenario import WrongScenario, load

    try:
        wanted = load(name)
    except WrongScenario as fault:
        raise CommandFailure(
            str(fault), "`stepdown scenario list` shows those that come with stepdown.", EXIT_BAD_USAGE
        ) from fault
    typer.echo(f"{wanted.title}\n\n{wanted.explains}")
    with _log_only_errors():
        result = asyncio.run(runner.run(wanted, seed=seed))
    for line in result.lines:
        typer.echo(line)
    if result.failure:
        raise CommandFailure(result.failure)
    typer.echo("\nas expected")


@contextmanager
def _log_only_errors() -> Iterator[None]:
    """Hides log lines below ERROR: the events of the scenario show expected failures."""
    log = logging.getLogger("stepdown")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
