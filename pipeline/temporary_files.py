"""The temporary files of a job: a folder of its process, where Spark's JVM and Python workers put theirs, too.

Spark removes its files only as it ends in order. The folder is removed when the process has ended Spark; one that was
killed leaves it, and the next process removes what dead ones have left. A lock on the folder says that its owner lives.
"""

import fcntl
import logging
import os
import select
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

PREFIX = "stepdown-pipeline-"
END_WITHIN_S = 10.0
"""What Spark may take to end in order."""


@contextmanager
def spark_temporary_folder() -> Iterator[Path]:
    """A folder for all temporary files that this process, and those that it starts, make in the block.

    As the block ends, Spark is stopped and the processes that were started in it are ended, and the folder is removed.
    """
    from pyspark import SparkContext

    with temporary_folder() as folder:
        before, context = child_processes(), SparkContext._active_spark_context
        try:
            yield folder
        finally:
            started = SparkContext._active_spark_context
            if started is not None and started is not context:
                _stop_spark(started)
            end_processes(child_processes() - before)


def _stop_spark(context: "SparkContext") -> None:
    """Stop Spark in order: else it prints that the other end of its connections has gone."""
    logging.disable()  # py4j prints a traceback where the JVM has died before
    with suppress(Exception), warnings.catch_warnings(action="ignore"):
        context.stop()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder in which `tempfile` and the processes that are started in the block make their files."""
    remove_leftovers()
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    folder, lock = _make_locked_folder()
    try:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        yield Path(folder)
    finally:
        tempfile.tempdir = before
        del os.environ["TMPDIR"]
        if variable is not None:
            os.environ["TMPDIR"] = variable
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _make_locked_folder() -> tuple[str, int]:
    """A folder, and the descriptor that has its lock; one without its lock another process may take for a leftover."""
    while True:
        folder = tempfile.mkdtemp(prefix=PREFIX)
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if Path(folder).is_dir():
                return folder, lock
            os.close(lock)


def remove_leftovers() -> None:
    """Remove the folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, one that is in use, or one that is gone
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def child_processes(of: str = "self") -> set[int]:
    """Processes that a process has started and that run; none where the system does not tell (Linux does)."""
    found: set[int] = set()
    for children in Path(f"/proc/{of}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            found |= {int(word) for word in children.read_text().split()}
    return found


def end_processes(processes: set[int]) -> None:
    """End processes that this one has started in order or, after a while, at once; then what they had started."""
    below = {each for process in processes for each in child_processes(str(process))}
    own, others = _open_process_descriptors(processes), _open_process_descriptors(below)
    for descriptor in own:
        _send_signal(descriptor, signal.SIGTERM)
    for descriptor in own:
        has_ended, _, _ = select.select([descriptor], [], [], END_WITHIN_S)
        if not has_ended:
            _send_signal(descriptor, signal.SIGKILL)
    for descriptor in others:
        _send_signal(descriptor, signal.SIGKILL)
    for descriptor in (*own, *others):
        select.select([descriptor], [], [])
        os.close(descriptor)
    for process in processes:
        with suppress(ChildProcessError):
            os.waitpid(process, 0)


def _open_process_descriptors(processes: set[int]) -> list[int]:
    """Opens a descriptor of each process that runs. It stays that process's, whatever process has such a number later,
    and is readable when it has ended."""
    found = []
    for process in processes:
        with suppress(ProcessLookupError):
            found.append(os.pidfd_open(process))
    return found


def _send_signal(descriptor: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, number)
