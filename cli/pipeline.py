"""`stepdown pipeline`: the jobs on Spark, which parse their own command lines (`stepdown-pipeline` is the same)."""

from __future__ import annotations

import typer

pipeline = typer.Typer(add_completion=False, rich_markup_mode=None)


@pipeline.command(
    name="pipeline", add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def pipeline_command(context: typer.Context) -> None:
    """Read, count, convert and archive Kafka segments with Spark."""
    from ..pipeline.command import main

    raise typer.Exit(main(context.args, program="stepdown pipeline"))
