"""How far a long command is: one line on the terminal, and nothing where stderr goes elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress(name: str, total_bytes: int | None, *, prints: bool) -> Iterator[Callable[[int], None]]:
    """Within the block what is given back takes how many bytes are done; None: nobody knows how many there are.

    A command that `prints` to the same terminal shows no line: what it prints tells how far it is.
    """
    if not sys.stderr.isatty() or (prints and sys.stdout.isatty()):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(name, total=total_bytes)
        yield lambda done: shown.update(task, completed=done)
