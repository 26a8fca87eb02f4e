"""A broker as a process of its own: `stepdown serve` on free ports, over a temporary log directory."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from types import TracebackType

from .brokers import DEFAULTS
from .control_client import HttpControl
from .kafka import Kafka
from .records import as_text

READY = re.compile(r"stepdown listening on (?P<listen>\S+:\d+), http (?P<http>\S+:\d+), control (?P<control>\S+:\d+)")
STOP_S = 20.0


class RunningProcess:
    """Starts the process on entering and ends it on leaving; several `brokers` are a cluster in that process."""

    def __init__(self, *, brokers: int = 1, config: Mapping[str, object] | None = None) -> None:
        self._brokers = brokers
        self._config = config or {}

    def __enter__(self) -> Kafka:
        self._folder = tempfile.mkdtemp(prefix="stepdown-")
        free = "127.0.0.1:0"
        command = [sys.executable, "-m", "stepdown", "serve", "--log-dir", self._folder]
        command += ["--listen", free, "--http", free, "--control", free, "--brokers", str(self._brokers)]
        for key, value in {**DEFAULTS, **self._config}.items():
            command += ["-o", f"{key}={as_text(value)}"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        ready = READY.match(line)
        if ready is None:
            self._end()
            raise RuntimeError(f"stepdown did not start, it said {line!r}; its log is on stderr")
        self._kafka = Kafka(ready["listen"], HttpControl(ready["control"]))
        return self._kafka

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._kafka.close()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)
