"""Runs load plans in a separate process, so that the load shares no CPU time or GIL with the measuring process.

The parent sends a `LoadPlan` down a pipe, reads "ready" once the connections stand, says "go" when it has read the
server's CPU clock, and gets a `LoadResult`.
"""

import multiprocessing
import signal
from multiprocessing import resource_tracker

from ..failures import BenchFailure
from .load_generator import serve
from .load_plan import LoadPlan
from .result import LoadResult


class LoadProcess:
    """A child process that runs plans, one at a time; also a context manager."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        # ^C in a terminal reaches the child, too, which must ignore it: its parent closes the pipe then. So SIGINT is
        # blocked before the child starts. The resource tracker is started first, since starting it unblocks SIGINT.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def __enter__(self) -> "LoadProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(self, plan: LoadPlan) -> LoadResult:
        self.prepare(plan)
        self.start_load()
        return self.result()

    def prepare(self, plan: LoadPlan) -> None:
        """Returns when the connections stand. Raises: BenchFailure."""
        self._send(plan)
        answer = self._receive()
        if answer != "ready":
            raise BenchFailure(str(answer))

    def start_load(self) -> None:
        self._send("go")

    def result(self) -> LoadResult:
        """What came back, when it has. Raises: BenchFailure when the server hung up or fell silent."""
        result = self._receive()
        assert isinstance(result, LoadResult)
        if result.failure:
            raise BenchFailure(result.failure)
        return result

    def close(self) -> None:
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _send(self, message: object) -> None:
        try:
            self._pipe.send(message)
        except OSError as fault:
            raise BenchFailure(f"the load process has ended: {fault}") from fault

    def _receive(self) -> object:
        try:
            return self._pipe.recv()
        except (EOFError, OSError) as fault:
            raise BenchFailure("the load process has ended") from fault
