"""A server as a process of its own: started with its output in a file, stopped as an operator does, read through /proc.

CPU seconds come from `/proc/PID/stat` (ticks of 10 ms, so a window of seconds), RSS from `/proc/PID/status`: Linux.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep

from .failures import BenchFailed

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
    def has_ended(self) -> bool:
        return self.popen.poll() is not None

    @property
    def log_tail(self) -> str:
        """The end of what it wrote."""
        return self.output.read_text(errors="replace")[-LOG_TAIL:]

    def stop(self) -> int:
        """Its exit code after SIGTERM. Raises: BenchFailed when it does not end and had to be killed."""
        self.popen.send_signal(signal.SIGTERM)
        try:
            code = self.popen.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BenchFailed(f"the server did not stop within {STOP_TIMEOUT_S} s: {self.log_tail}") from None
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


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its threads, those that ended included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def rss_bytes(pid: int) -> int:
    """Resident memory now."""
    return _status(pid, "VmRSS:")


def peak_rss_bytes(pid: int) -> int:
    """The most resident memory there was since the start or since `forget_peak_rss`."""
    return _status(pid, "VmHWM:")


def forget_peak_rss(pid: int) -> None:
    """Makes the present RSS the peak; the kernel then watches every page, which no sampling can."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(condition: Callable[[], object], what: str, *, timeout_s: float = 30.0) -> None:
    """Returns when `condition()` is true. Raises: BenchFailed when it does not become true in time."""
    end = monotonic() + timeout_s
    while not condition():
        if monotonic() > end:
            raise BenchFailed(f"not within {timeout_s} s: {what}")
        sleep(POLL_S)


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise BenchFailed(f"/proc/{pid}/status has no {name}")
