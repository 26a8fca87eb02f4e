"""Shows the progress of a long command in one line on stderr, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress(name: str, total_bytes: int | None, *, command_prints: bool) -> Iterator[Callable[[int], None]]:
    """Yields a function that takes the number of bytes done. `total_bytes`: None if unknown.

    There is no line if the command prints to the same terminal: its output shows the progress.
    """
    if not sys.stderr.isatty() or (command_prints and sys.stdout.isatty()):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(name, total=total_bytes)
        yield lambda done: shown.update(task, completed=done)
