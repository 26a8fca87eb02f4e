"""Where a command of `stepdown bench` works: a folder, certificates, a journal; what was found is shown at the end."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..support.failures import EXIT_BAD_USAGE, CommandFailure

if TYPE_CHECKING:
    from ...bench.alternating_runs import ShowProgress, Terms
    from ...bench.results.results import Journal
    from ...bench.servers.maven import MavenStore
    from .shared_options import Shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where a benchmark works: a folder for the servers, jars, a journal, and a display of progress."""

    folder: Path
    maven: MavenStore
    journal: Journal
    show_progress: ShowProgress
    shared: Shared
    certificates: str = ""

    def make_terms(self, *, broker: str = "", metrics: str = "") -> Terms:
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
def open_workplace(shared: Shared) -> Iterator[Workplace]:
    """A place to work; shows the results at the end. Raises: CommandFailure for BenchFailure."""
    from ...bench.failures import BenchFailure
    from ...bench.results.results import Journal
    from ...bench.servers.maven import user_store
    from .terminal_output import print_results, show_progress_lines

    _make_folders(shared)
    folder = Path(tempfile.mkdtemp(prefix="stepdown-bench-", dir=shared.folder))
    try:
        with ExitStack() as open_files:
            outputs = [sys.stdout] if shared.as_json else []
            if shared.out is not None:
                outputs.append(open_files.enter_context(shared.out.open("a")))
            events = None if shared.events is None else open_files.enter_context(shared.events.open("a"))
            journal = Journal(*outputs, events=events)
            with show_progress_lines() as show_progress:
                certificates = _make_certificates_for_ssl(shared.security, folder)
                yield Workplace(
                    folder=folder,
                    maven=user_store(),
                    journal=journal,
                    show_progress=show_progress,
                    shared=shared,
                    certificates=certificates,
                )
    except BenchFailure as failure:
        raise CommandFailure(str(failure)) from failure
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not shared.as_json:
        print_results(journal.results)
    if shared.html is not None:
        from .html_report import write_report

        write_report(journal, shared.html)


def _make_certificates_for_ssl(security: str, folder: Path) -> str:
    """The folder of those that are made, "" where none are needed. Raises: CommandFailure."""
    if security.upper() == "PLAINTEXT":
        return ""
    if security.upper() != "SSL":
        raise CommandFailure(f"--security is PLAINTEXT or SSL, not {security}", "", EXIT_BAD_USAGE)
    try:
        from ...testing.security.certificates import make_certificates
    except ImportError:
        raise CommandFailure(
            "--security SSL needs a library", "pip install '.[security]' where stepdown's sources are"
        ) from None
    made = folder / "certificates"
    made.mkdir()
    make_certificates(made)
    return str(made)


def _make_folders(shared: Shared) -> None:
    """Makes the folders of the results, so that a folder that cannot be made fails before an hour of measurement."""
    if shared.html is not None and find_spec("matplotlib") is None:
        raise ModuleNotFoundError(name="matplotlib")
    files = (shared.out, shared.events, shared.html)
    for folder in (shared.folder, *(file and file.parent for file in files)):
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise CommandFailure(f"{folder} cannot be made: {fault.strerror}") from fault
