"""The options that all of `stepdown bench` have in common: about peers, rounds, spans of time and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

SHARED: dict[str, tuple[Any, Any]] = {
    "peer": (
        Annotated[
            str,
            typer.Option(
                metavar="none|kafka:3.9.1|kafka:1.1.1", help="Broker to compare with, measured in alternating turns."
            ),
        ],
        "none",
    ),
    "network": (
        Annotated[
            str,
            typer.Option(
                metavar="loopback|veth",
                help="veth: each server in its own network namespace, as in a container (root).",
            ),
        ],
        "loopback",
    ),
    "security": (
        Annotated[
            str, typer.Option(metavar="PLAINTEXT|SSL", help="SSL: clients connect by TLS, with new certificates.")
        ],
        "PLAINTEXT",
    ),
    "heap": (Annotated[str, typer.Option(metavar="SIZE", help="Heap of the peer's JVM, as -Xmx takes it.")], "1g"),
    "rounds": (Annotated[int, typer.Option(help="Turns of each server; results are medians.", min=1)], 5),
    "seconds": (Annotated[float, typer.Option(help="Length of a turn.", min=0.1)], 2.0),
    "warm_up": (Annotated[float, typer.Option(help="Warm-up of stepdown in seconds, not measured.", min=0.0)], 1.0),
    "jvm_warm_up": (Annotated[float, typer.Option(help="Warm-up of a JVM in seconds, not measured.", min=0.0)], 10.0),
    "as_json": (
        Annotated[bool, typer.Option("--json", help="Print results as JSON lines (docs/benchmarks.md).")],
        False,
    ),
    "out": (
        Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Append results as JSON lines to a file.")],
        None,
    ),
    "events": (
        Annotated[
            Path | None, typer.Option("--events", metavar="FILE", help="Append each request as a JSON line to a file.")
        ],
        None,
    ),
    "html": (
        Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report with plots.")],
        None,
    ),
    "folder": (
        Annotated[
            Path | None,
            typer.Option("--folder", metavar="DIR", help="Where the servers' logs go; a temporary folder by default."),
        ],
        None,
    ),
}
"""Name to annotation and default; a command takes all, and may have defaults of its own."""
TURNS = ("seconds", "warm_up", "jvm_warm_up")
"""What a bench does not have that measures no spans of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The shared options as they were given."""

    peer: str
    network: str
    security: str
    heap: str
    rounds: int
    seconds: float
    warm_up: float
    jvm_warm_up: float
    as_json: bool
    out: Path | None
    events: Path | None
    html: Path | None
    folder: Path | None


def with_shared_options(*, without: tuple[str, ...] = (), **defaults: Any) -> Callable[[Callable[..., None]], Any]:
    """Makes a command of a function whose last parameter is `shared`: it has the options in its place.

    `defaults` replace those of `SHARED`; options `without` stay at their defaults and are not offered.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True, localns={"Shared": Shared})
        own = [
            parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(command).parameters.items()
            if name != "shared"
        ]
        all_defaults = {name: defaults.get(name, default) for name, (_, default) in SHARED.items()}
        offered = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=all_defaults[name], annotation=annotation)
            for name, (annotation, _) in SHARED.items()
            if name not in without
        ]

        @wraps(command)
        def run(**given: Any) -> None:
            values = {name: given.pop(name, all_defaults[name]) for name in SHARED}
            command(**given, shared=Shared(**values))

        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own] + offered
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del run.__wrapped__
        return run

    return decorate
