"""Jobs of the pipeline as processes of their own, to be killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from .deadline import JOB_DEADLINE_S
from .spark import write_spark_defaults

Victim = Literal["all", "jvm", "driver"]
VICTIMS: tuple[Victim, ...] = ("all", "jvm", "driver")
_LOOK_EVERY_S = 0.01


class JobProcess:
    """`stepdown pipeline JOB` with these arguments, which writes to `out`; driver and JVM are one process group."""

    def __init__(self, job: str, arguments: Sequence[str], out: Path, log: Path) -> None:
        self.out = out
        self._log = log
        command = [sys.executable, "-m", "stepdown.pipeline", job, "--master", "local[2]", *arguments]
        write_spark_defaults(log.parent / "spark")
        temporary = log.parent / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = os.environ | {"SPARK_CONF_DIR": str(log.parent / "spark"), "TMPDIR": str(temporary)}
        with log.open("ab") as errors:
            self._said_before = errors.tell()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
                env=environment,
            )

    def kill_when_written(self, entries: int, victim: Victim) -> bool:
        """Kill when that many files have come to `out`, or do nothing if it ends well before; whether it was killed.

        Returns when nothing of it runs any more: a JVM whose driver has died ends by itself.
        """
        before, end = self._entries(), time.monotonic() + JOB_DEADLINE_S
        while self._entries() < before + entries:
            try:
                self._process.wait(_LOOK_EVERY_S)
            except subprocess.TimeoutExpired:
                assert time.monotonic() < end, self._said()
            else:
                assert self._process.returncode == 0, self._said()
                return False
        self._kill(victim)
        self._await_end_of_all(end)
        return True

    def succeed(self) -> None:
        """Return when it has ended with exit code 0, and printed no traceback."""
        assert self._process.wait(JOB_DEADLINE_S) == 0, self._said()
        assert b"Traceback" not in self._log.read_bytes()[self._said_before :], self._said()

    def _kill(self, victim: Victim) -> None:
        driver = self._process.pid
        try:
            if victim == "all":
                os.killpg(driver, signal.SIGKILL)
            else:
                os.kill(driver if victim == "driver" else self._jvm(), signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended just now

    def _jvm(self) -> int:
        """The JVM in the driver's process group."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                name, stat = (folder / "comm").read_text().strip(), (folder / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if name == "java" and int(stat.rpartition(")")[2].split()[2]) == self._process.pid:
                return int(folder.name)
        raise ProcessLookupError

    def _await_end_of_all(self, end: float) -> None:
        self._process.wait(JOB_DEADLINE_S)
        while True:
            try:
                os.killpg(self._process.pid, 0)
            except ProcessLookupError:
                return
            assert time.monotonic() < end, self._said()
            time.sleep(_LOOK_EVERY_S)

    def _entries(self) -> int:
        return sum(len(files) for _, _, files in os.walk(self.out))

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]
