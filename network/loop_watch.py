"""Logs and counts requests that block the event loop, with their API, client and size.

A thread checks ten times a second whether the loop's timer (metrics/loop_delay.py) is late. If so, it finds the
connection of the running task and the latest request of that connection. `faulthandler` finds the function that the
loop is in, since it reads the stack of another thread safely: Python code that did so crashed the process with Python
3.11. A process that waits for a processor is late, too, whatever request it is at: Linux counts the time that a thread
waits for one.
"""

import asyncio
import faulthandler
import logging
import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Final

from .instruments import Counters
from .log_line_limit import LogLineLimit, repetition_text
from .peer import Peer

NS_PER_S = 1_000_000_000
LOOK_S = 0.1
LONG_S = 0.1
OTHER = "other"
NO_PROCESSOR: Final = "the process did not get a processor"
OURS: Final = str(Path(__file__).parent.parent)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoopHold:
    """A request held the loop for `held_ms`, until `at_ms` (since 1970)."""

    held_ms: int
    at_ms: int


def read_processor_wait_s() -> float:
    """How long this thread has waited for a processor since its start; 0 where the system does not count it."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_bytes().split()[1]) / NS_PER_S
    except (OSError, ValueError, IndexError):
        return 0.0


class LoopWatch:
    """Finds the request that holds the loop. A timer of the loop calls `on_timer` each time that it fires.

    `held` counts by API, `latest_holds` gets the latest hold of each. `peer_of` returns the peer of the connection that
    a task serves, `wall_ms` the time since 1970, `cpu_s` the processor time of the loop's thread and `processor_wait_s`
    how long it has waited for a processor. `lines` limits the log to a line a minute for each API.
    """

    def __init__(
        self,
        held: Counters,
        latest_holds: dict[str, LoopHold],
        peer_of: "Callable[[asyncio.Task[Any] | None], Peer | None]",
        lines: LogLineLimit,
        wall_ms: Callable[[], int],
        now_s: Callable[[], float] = perf_counter,
        cpu_s: Callable[[], float] = thread_time,
        processor_wait_s: Callable[[], float] = read_processor_wait_s,
    ) -> None:
        self._held = held
        self.latest_holds = latest_holds
        self._peer_of = peer_of
        self._lines = lines
        self._wall_ms, self._now_s, self._cpu_s = wall_ms, now_s, cpu_s
        self._processor_wait_s = processor_wait_s
        self._used_s = self._waited_s = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._check_periodically, name="loop watch", daemon=True)
        self._loop_thread = 0
        self._due_s = 0.0
        self._found: tuple[str, str, bool] | None = None

    def start(self) -> None:
        """Watches the loop of this thread."""
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._due_s, self._used_s, self._waited_s = self._now_s(), self._cpu_s(), self._processor_wait_s()
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread and waits until it has ended."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def on_timer(self, late_s: float, due_s: float) -> None:
        """Takes note that the timer fired `late_s` late and is due next at `due_s`. Logs what held the loop."""
        used_before_s, self._used_s = self._used_s, self._cpu_s()
        waited_before_s, self._waited_s = self._waited_s, self._processor_wait_s()
        found, self._found, self._due_s = self._found, None, due_s
        if late_s > LONG_S and found is not None:
            api, told, is_ours = found
            has_waited = self._waited_s - waited_before_s > late_s / 2
            if has_waited or (not is_ours and self._used_s - used_before_s < late_s / 2):
                api, told = OTHER, NO_PROCESSOR
            self._held.of(api).add()
            if api != OTHER:
                self.latest_holds[api] = LoopHold(int(late_s * 1000), self._wall_ms())
            left_out = self._lines.try_to_log((api, told == NO_PROCESSOR))
            if left_out is not None:
                level = logging.INFO if told == NO_PROCESSOR else logging.WARNING
                line = "the event loop was held for %d ms: %s%s"
                log.log(level, line, late_s * 1000, told, repetition_text(left_out))

    def _check_periodically(self) -> None:
        while not self._stopped.wait(LOOK_S):
            self.check_loop()

    def check_loop(self) -> None:
        """Finds out what the loop's thread is doing, if the timer is late."""
        if self._found is None and self._now_s() - self._due_s > LONG_S:
            peer = self._peer_of(asyncio.current_task(self._loop))
            place, is_ours = locate_thread(self._loop_thread)
            if peer is None or peer.latest_request is None:
                self._found = OTHER, place, is_ours
            else:
                key, version, size = peer.latest_request
                told = f"{key.name} v{version} from {peer} (client {peer.client_id!r}, {size} bytes), {place}"
                self._found = key.name, told, is_ours


def locate_thread(thread: int) -> tuple[str, bool]:
    """The function that a thread is in, with file and line, and whether it is a function of stepdown."""
    try:
        with tempfile.TemporaryFile() as output:
            faulthandler.dump_traceback(output, all_threads=True)
            output.seek(0)
            stacks = output.read().decode(errors="replace")
    except OSError:  # no descriptor is left, or no room on the disk
        stacks = ""
    found = re.search(rf'^Thread 0x0*{thread:x}\b.*\n  File "(.*)", line (\d+) in (.*)$', stacks, re.MULTILINE)
    if found is None:
        return "in an unknown place", True
    file, line, function = found.groups()
    return f"in {function} ({file.rpartition('stepdown/')[2]}:{line})", file.startswith(OURS)
