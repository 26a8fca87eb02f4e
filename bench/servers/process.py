"""A server as a process of its own: started with its output in a file, stopped as an operator does, read through /proc.

CPU seconds come from `/proc/PID/stat` (ticks of 10 ms, so a window of seconds), RSS from `/proc/PID/status`: Linux.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Protocol

from ..failures import BenchFailure

STOP_TIMEOUT_S = 60.0
POLL_S = 0.02
LOG_TAIL = 3000

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class Process:
    """A child process whose stderr (and stdout, unless it is piped) goes to `output`."""

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        *,
        pipe_stdout: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.output = output
        with output.open("ab") as out:
            self.popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipe_stdout else out,
                stderr=out,
                env=None if environment is None else {**os.environ, **environment},
            )

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def usage(self) -> "ProcessUsage":
        return ProcessUsage(self.pid)

    @property
    def has_ended(self) -> bool:
        return self.popen.poll() is not None

    @property
    def log(self) -> str:
        """All that it wrote, over all starts."""
        return text_of(self.output)

    @property
    def log_tail(self) -> str:
        """The end of what it wrote."""
        return self.log[-LOG_TAIL:]

    def stop(self) -> int:
        """Its exit code after SIGTERM. Raises: BenchFailure when it does not end and had to be killed."""
        self.popen.send_signal(signal.SIGTERM)
        try:
            code = self.popen.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BenchFailure(f"the server did not stop within {STOP_TIMEOUT_S} s: {self.log_tail}") from None
        self._close()
        return code

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self.popen.kill()
        self.popen.wait()
        self._close()

    def _close(self) -> None:
        if self.popen.stdout is not None:
            self.popen.stdout.close()


class Restartable:
    """A server over `folder/data` that may be stopped and started again; what it writes goes to `output`."""

    name: str

    def __init__(self, folder: Path, output: str) -> None:
        self.folder = folder
        self.log_dir = folder / "data"
        self.output = folder / output
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def has_ended(self) -> bool:
        """Whether it died by itself."""
        return self._process is not None and self._process.has_ended

    @property
    def usage(self) -> "ProcessUsage":
        return self._running().usage

    @property
    def log(self) -> str:
        """What it wrote, over all its starts."""
        return text_of(self.output)

    def _running(self) -> Process:
        if self._process is None:
            raise BenchFailure(f"{self.name} is not running")
        return self._process


class Usage(Protocol):
    """What a server has used."""

    def cpu_seconds(self) -> float:
        """User and system time of the process and its threads, those that ended included."""
        ...

    def rss_bytes(self) -> int:
        """Resident memory now."""
        ...

    def peak_rss_bytes(self) -> int:
        """The most resident memory since `forget_peak`."""
        ...

    def forget_peak(self) -> None:
        """Makes the present RSS the peak."""
        ...


class ProcessUsage:
    """Read off /proc. The kernel keeps the peak itself and misses nothing, as samples would."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")

    def cpu_seconds(self) -> float:
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND

    def rss_bytes(self) -> int:
        return self._status("VmRSS:")

    def peak_rss_bytes(self) -> int:
        return self._status("VmHWM:")

    def forget_peak(self) -> None:
        (self._folder / "clear_refs").write_text("5")

    def _status(self, name: str) -> int:
        for line in (self._folder / "status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise BenchFailure(f"{self._folder}/status has no {name}")


def text_of(log: Path) -> str:
    """What is in a log file, "" before there is one."""
    return log.read_text(errors="replace") if log.exists() else ""


def wait_until(condition: Callable[[], object], what: str, *, timeout_s: float = 30.0) -> None:
    """Returns when `condition()` is true. Raises: BenchFailure when it does not become true in time."""
    end = monotonic() + timeout_s
    while not condition():
        if monotonic() > end:
            raise BenchFailure(f"not within {timeout_s} s: {what}")
        sleep(POLL_S)
