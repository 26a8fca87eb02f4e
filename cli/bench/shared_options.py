"""What all of `stepdown bench` have in common: the options about peers, rounds and outputs, and a place to work."""

from __future__ import annotations

import inspect
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..support.failures import EXIT_BAD_USAGE, CommandFailed

if TYPE_CHECKING:
    from ...bench.alternating_runs import Terms, Told
    from ...bench.results.results import Journal
    from ...bench.servers.maven import JarStore

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


def with_shared(*, without: tuple[str, ...] = (), **defaults: Any) -> Callable[[Callable[..., None]], Any]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where a benchmark works: a folder for the servers, jars, a journal, and somebody to tell."""

    folder: Path
    store: JarStore
    journal: Journal
    tell: Told
    shared: Shared
    certificates: str = ""

    def terms(self, *, broker: str = "", metrics: str = "") -> Terms:
        """What was asked for."""
        from ...bench.alternating_runs import Terms

        return Terms(
            peer=self.shared.peer,
            network=self.shared.network,
            certificates=self.certificates,
            broker=broker,
            metrics=metrics,
            rounds=self.shared.rounds,
            seconds=self.shared.seconds,
            warm_up_s=self.shared.warm_up,
            jvm_warm_up_s=self.shared.jvm_warm_up,
        )


@contextmanager
def open_desk(shared: Shared) -> Iterator[Desk]:
    """A place to work; what was found is shown at the end. Raises: CommandFailed for BenchFailed."""
    from ...bench.failures import BenchFailed
    from ...bench.results.results import Journal
    from ...bench.servers.maven import user_store
    from .terminal_output import print_results, telling

    _make_folders(shared)
    folder = Path(tempfile.mkdtemp(prefix="stepdown-bench-", dir=shared.folder))
    try:
        with ExitStack() as open_files:
            outputs = [sys.stdout] if shared.as_json else []
            if shared.out is not None:
                outputs.append(open_files.enter_context(shared.out.open("a")))
            events = None if shared.events is None else open_files.enter_context(shared.events.open("a"))
            journal = Journal(*outputs, events=events)
            with telling() as tell:
                certificates = _certificates(shared.security, folder)
                yield Desk(
                    folder=folder,
                    store=user_store(),
                    journal=journal,
                    tell=tell,
                    shared=shared,
                    certificates=certificates,
                )
    except BenchFailed as failure:
        raise CommandFailed(str(failure)) from failure
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not shared.as_json:
        print_results(journal.results)
    if shared.html is not None:
        from ...bench.results.html_report import write_report

        write_report(journal, shared.html)


def _certificates(security: str, folder: Path) -> str:
    """The folder of those that are made, "" where none are needed. Raises: CommandFailed."""
    if security.upper() == "PLAINTEXT":
        return ""
    if security.upper() != "SSL":
        raise CommandFailed(f"--security is PLAINTEXT or SSL, not {security}", "", EXIT_BAD_USAGE)
    try:
        from ...testing.security.certificates import make_certificates
    except ImportError:
        raise CommandFailed(
            "--security SSL needs a library", "pip install '.[security]' where stepdown's sources are"
        ) from None
    made = folder / "certificates"
    made.mkdir()
    make_certificates(made)
    return str(made)


def _make_folders(shared: Shared) -> None:
    """Before anything is measured, so that no hour ends in a file that cannot be written."""
    files = (shared.out, shared.events, shared.html)
    for folder in (shared.folder, *(file and file.parent for file in files)):
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise CommandFailed(f"{folder} cannot be made: {fault.strerror}") from fault
