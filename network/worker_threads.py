"""Runs blocking work in worker threads, awaited on the event loop.

The loop's `run_in_executor` costs 55 µs of CPU instead of 40: it checks whether the work is a coroutine, and makes two
futures that are chained by four callbacks.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from .clock import Clock

T = TypeVar("T")
NICEST = 19
"""The nice value that is the lowest priority."""


def drop_traceback(fault: BaseException) -> None:
    """Drops the frames of an exception. A frame may refer to the exception, by a list of answers or a worker's future;
    in such a cycle a request of 20 MB would stay in memory until garbage collection.
    """
    fault.__traceback__ = fault.__context__ = None


class WorkerThreads:
    """A bounded number of threads, made when needed. Notes begin and end of work at the clock."""

    def __init__(self, most: int, name: str, clock: Clock, *, nicer_by: int = 0) -> None:
        self.most = most
        self._clock = clock
        self._threads = ThreadPoolExecutor(
            most, name, partial(_raise_niceness_of_thread, nicer_by) if nicer_by else None
        )

    def shutdown(self) -> None:
        """Waits until all work has ended."""
        self._threads.shutdown()

    def run(self, work: Callable[[], T], over: Callable[[], None] | None = None) -> "asyncio.Future[T]":
        """A future of what `work` returns or raises in one of the threads.

        `over` is called on the loop when the thread is done, even if nobody waits any more. If the future is cancelled
        before a thread is free, `work` is not called.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def in_thread() -> None:
            if done.cancelled():
                loop.call_soon_threadsafe(settle, None)
                return
            try:
                result = work()
            except BaseException as fault:  # passed to the one that waits
                # Drops the frame of this function, which refers to the future: in that cycle, what a failed request
                # held would stay until garbage collection.
                fault.__traceback__ = fault.__traceback__.tb_next if fault.__traceback__ else None
                loop.call_soon_threadsafe(settle, lambda fault=fault: done.set_exception(fault))
            else:
                loop.call_soon_threadsafe(settle, lambda: done.set_result(result))

        def settle(tell: Callable[[], None] | None) -> None:
            self._clock.note_worker_end()
            if over is not None:
                over()
            if tell is not None and not done.cancelled():
                tell()

        self._threads.submit(in_thread)
        self._clock.note_worker_start()
        return done


def _raise_niceness_of_thread(by: int) -> None:
    """Makes this thread nicer than its process, on Linux; elsewhere does nothing."""
    if sys.platform == "linux":  # elsewhere the number of a thread may be that of another process
        with suppress(OSError):
            niceness = min(NICEST, os.getpriority(os.PRIO_PROCESS, 0) + by)
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
