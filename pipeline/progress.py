"""How far a job on Spark is: one line on the terminal with segments, bytes, rate and time left, while it runs."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

LOOK_EVERY_S = 0.5


@contextmanager
def show_progress(session: SparkSession, job: str, *, segments: int, size_bytes: int) -> Iterator[None]:
    """Show how far the stages of the block are; nothing where stderr is no terminal.

    Bytes are reckoned from the share of tasks that are done: tasks of the sources are about equally large.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    columns = (
        TextColumn(f"{job}, {segments:,} segments"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    ended = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(job, total=size_bytes)

        def follow() -> None:
            while not ended.wait(LOOK_EVERY_S):
                shown.update(task, completed=int(size_bytes * share_of_tasks_done(session)))

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def share_of_tasks_done(session: SparkSession) -> float:
    """The share of tasks that are done of the largest stage that runs; 0 where none does."""
    tracker = session.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    shares = [
        (stage.numTasks, stage.numCompletedTasks / stage.numTasks) for stage in stages if stage and stage.numTasks
    ]
    return max(shares, default=(0, 0.0))[1]
