"""`stepdown pipeline`: runs Spark jobs, which parse their own command lines (same as `stepdown-pipeline`)."""

from __future__ import annotations

import typer

from .commands import TAKES_ALL, SelfParsingCommand

pipeline = typer.Typer(add_completion=False, rich_markup_mode=None)


@pipeline.command(name="pipeline", cls=SelfParsingCommand, add_help_option=False, context_settings=TAKES_ALL)
def run_pipeline_process(context: typer.Context) -> None:
    """Read, count, convert and archive Kafka segments with Spark."""
    from ..pipeline.process import run_process

    raise typer.Exit(run_process(context.args, "stepdown pipeline"))
