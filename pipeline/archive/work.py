"""Work of an archive on the workers of a Spark session, which starts when there is some."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TypeVar

from ..progress import show_progress
from ..session import build_session

_Task = TypeVar("_Task")
_Done = TypeVar("_Done")


def run_on_workers(
    job: str, master: str | None
) -> Callable[[Callable[[_Task], list[_Done]], Sequence[_Task], int], list[_Done]]:
    """What runs a function for each task, and returns what all return; the number is the bytes of all tasks."""
    start = cache(partial(build_session, job, master=master))

    def run(work: Callable[[_Task], list[_Done]], tasks: Sequence[_Task], size_bytes: int) -> list[_Done]:
        session = start()
        with show_progress(session, job, segments=len(tasks), size_bytes=size_bytes):
            return session.sparkContext.parallelize(tasks, len(tasks)).flatMap(work).collect()

    return run
