"""`stepdown serve`: the command line of the broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config import Given, Origin

serve = typer.Typer(rich_markup_mode=None, add_completion=False)


@serve.command(name="serve")
def serve_command(
    properties: Annotated[Path | None, typer.Argument(metavar="[SERVER.PROPERTIES]", help="Kafka's settings.")] = None,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to listen on; port 0 picks one.")] = "",
    log_dir: Annotated[list[str] | None, typer.Option(metavar="DIR", help="Log directory; may be repeated.")] = None,
    http: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address of /metrics, /healthz and /readyz.")] = "",
    override: Annotated[
        list[str] | None, typer.Option("--override", "-o", metavar="KEY=VALUE", help="A setting; may be repeated.")
    ] = None,
    log_format: Annotated[str, typer.Option(metavar="console|json", help="Form of the log on stderr.")] = "console",
    log_level: Annotated[str, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = "info",
) -> None:
    """Serve log directories until SIGTERM or SIGINT.

    Options win over environment variables (KAFKA_LOG_DIRS for log.dirs), and those over the file. `stepdown config`
    lists every setting.
    """
    _check_choice("--log-format", log_format, ("console", "json"))
    _check_choice("--log-level", log_level.lower(), ("debug", "info", "warning", "error"))
    from .serve import ServeOptions
    from .serve import serve as run

    options = ServeOptions(
        properties=properties,
        flags=flags_of(listen, log_dir or [], http),
        overrides=override or [],
        log_format=log_format,
        log_level=log_level.upper(),
    )
    raise typer.Exit(run(options))


def flags_of(listen: str, log_dirs: list[str], http: str) -> list[Given]:
    """The settings that --listen, --log-dir and --http stand for."""
    flags = []
    if listen:
        flags.append(Given("listeners", f"PLAINTEXT://{listen}", Origin("option --listen")))
        flags.append(Given("advertised.listeners", "", Origin("option --listen")))
    if log_dirs:
        flags.append(Given("log.dirs", ",".join(log_dirs), Origin("option --log-dir")))
    if http:
        flags.append(Given("stepdown.http.listen", http, Origin("option --http")))
    return flags


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise typer.BadParameter(f"expected {' or '.join(choices)}, found {value!r}", param_hint=option)
