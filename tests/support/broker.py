"""The broker under test as a process of its own: `stepdown serve`, or Kafka in its place to prove the tests.

`STEPDOWN_TEST_BROKER=kafka` in the environment makes `broker_under_test` start Apache Kafka.
"""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from .clients_raw import create_topic
from .kafka import ApacheKafka

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
_READY = re.compile(r"stepdown listening on (?P<listen>\S+:\d+), http (?P<http>\S+:\d+)\n")


class BrokerProcess(Protocol):
    """What the tests ask of stepdown and of Kafka alike. `log_dir` holds the partitions."""

    log_dir: Path
    address: str

    @property
    def pid(self) -> int: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None: ...


class Stepdown:
    """`stepdown serve` over `folder/data` on free ports; started again it serves the same directory."""

    def __init__(
        self, folder: Path, *, advertised: str | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.log_dir = folder / "data"
        self.address = ""
        self.http = ""
        self._properties = dict(properties or {})
        if advertised is not None:
            self._properties["advertised.listeners"] = f"PLAINTEXT://{advertised}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Stepdown":
        self.start()
        return self

    def __exit__(self, error_type: type[BaseException] | None, *error: object) -> None:
        if error_type is None:
            self.stop()
        else:
            self.kill()

    @property
    def pid(self) -> int:
        assert self._process is not None, "stepdown is not running"
        return self._process.pid

    @property
    def log(self) -> str:
        """What it wrote to stderr, over all its starts."""
        return (self.folder / "stepdown.err").read_text(errors="replace")

    def start(self) -> None:
        """Start, and return when it has said where it listens.

        Raises:
            AssertionError: it ended, or said nothing for 30 s, or said something else; with what it logged.
        """
        assert self._process is None, "stepdown is running"
        self.log_dir.mkdir(parents=True, exist_ok=True)
        with (self.folder / "stepdown.err").open("ab") as errors:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        line = self._first_line()
        ready = _READY.fullmatch(line)
        if ready is None:
            self.kill()
            raise AssertionError(f"stepdown did not say that it listens, but {line!r}; it logged\n{self.log[-4000:]}")
        self.address, self.http = ready["listen"], ready["http"]

    def stop(self) -> None:
        """Stop with SIGTERM; it has to end by itself with exit code 0."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"stepdown did not stop within {STOP_TIMEOUT_S} s\n{self.log[-4000:]}") from None
        self._ended()
        assert code == 0, f"stepdown ended with {code}\n{self.log[-4000:]}"

    def kill(self) -> None:
        """Stop with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._ended()

    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        """Create a topic and return when each partition has a leader that answers."""
        create_topic(self.address, name, partitions=partitions, configs=configs)

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "stepdown", "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        command += ["--log-dir", str(self.log_dir)]
        for key, value in self._properties.items():
            command += ["-o", f"{key}={value}"]
        return command

    def _first_line(self) -> str:
        assert self._process is not None and self._process.stdout is not None
        stdout, line = self._process.stdout.fileno(), bytearray()
        end = time.monotonic() + READY_TIMEOUT_S
        while not line.endswith(b"\n"):
            if not select.select([stdout], [], [], max(end - time.monotonic(), 0))[0]:
                break
            if not (part := os.read(stdout, 4096)):
                break
            line += part
        return line.decode()

    def _ended(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        self._process.stdout.close()
        self._process = None


def broker_under_test(
    folder: Path, *, advertised: str | None = None, properties: Mapping[str, str] | None = None
) -> BrokerProcess:
    """Return stepdown, or Kafka where `STEPDOWN_TEST_BROKER=kafka`; not started.

    Topics are never made by asking, and records of any age are kept.
    """
    settings = {"auto.create.topics.enable": "false", "log.retention.ms": "-1"} | dict(properties or {})
    if under_test() == "kafka":
        return ApacheKafka(folder, advertised=advertised, properties=settings)
    return Stepdown(folder, advertised=advertised, properties=settings)


def under_test() -> str:
    """Return "stepdown" or "kafka"."""
    return os.environ.get("STEPDOWN_TEST_BROKER", "stepdown")
