"""`stepdown pipeline`: the jobs on Spark, which parse their own command lines (`stepdown-pipeline` is the same)."""

from __future__ import annotations

import typer

pipeline = typer.Typer(add_completion=False, rich_markup_mode=None)


@pipeline.command(
    name="pipeline", add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def pipeline_command(context: typer.Context) -> None:
    """Read, count, convert and archive Kafka segments with Spark."""
    from ..pipeline.process import run_process

    raise typer.Exit(run_process(context.args, "stepdown pipeline"))
