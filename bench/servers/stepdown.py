"""stepdown as a server that is measured: `stepdown serve` in a process of its own, or one that runs already."""

import os
import re
import select
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

from ... import __version__
from ..failures import BenchFailure
from .process import Process, Restartable, Usage
from .scrape import ScrapedUsage
from .tls_listener import TlsListener, tls_listener
from .virtual_network import LOOPBACK, Network

READY_TIMEOUT_S = 60.0
_READY = re.compile(r"stepdown listening on (?P<listen>\S+:\d+), http (?P<http>\S+:\d+)\n")


class Stepdown(Restartable):
    """`stepdown serve` over `folder/data` on free ports; started again it serves the same directory."""

    name = "stepdown"
    version = __version__

    def __init__(
        self,
        folder: Path,
        *,
        properties: Mapping[str, str] | None = None,
        advertised: str | None = None,
        network: Network = LOOPBACK,
        certificates: str = "",
    ) -> None:
        super().__init__(folder, "stepdown.err")
        self._network = network
        self.tls = tls_listener(certificates, network)
        self.address = ""
        self.http = ""
        self.properties = dict(properties or {})
        if advertised is not None:
            self.properties["advertised.listeners"] = f"PLAINTEXT://{advertised}"

    def start(self) -> None:
        """Starts, and returns when it has said where it listens.

        Raises: BenchFailure when it ended, or said nothing in time, or something else; with what it logged.
        """
        if self._process is not None:
            raise BenchFailure("stepdown is running")
        self.log_dir.mkdir(parents=True, exist_ok=True)
        self._process = Process(self._command(), self.output, pipe_stdout=True)
        line = _first_line(self._process)
        ready = _READY.fullmatch(line)
        if ready is None:
            told = self._process.log_tail
            self.kill()
            raise BenchFailure(f"stepdown did not say that it listens, but {line!r}; it logged\n{told}")
        self.address, self.http = ready["listen"], ready["http"]

    def stop(self) -> None:
        """Stops with SIGTERM. Raises: BenchFailure when it does not end by itself with exit code 0."""
        process, self._process = self._process, None
        if process is not None and (code := process.stop()):
            raise BenchFailure(f"stepdown ended with {code}: {process.log_tail}")

    def kill(self) -> None:
        """Stops with SIGKILL."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _command(self) -> list[str]:
        free = f"{self._network.host}:0"
        command = [*self._network.enter, sys.executable, "-m", "stepdown", "serve", "--http", free]
        command += ["--log-dir", str(self.log_dir)]
        properties = dict(self.properties)
        if self.tls is None:
            command += ["--listen", free]
        else:
            properties |= {"listeners": f"PLAINTEXT://{free},{self.tls.listener}", **self.tls.settings}
        for key, value in properties.items():
            command += ["-o", f"{key}={value}"]
        return command


class ExternalBroker:
    """A stepdown that somebody else runs, in a container say: it is neither started nor stopped, only asked."""

    name = "stepdown"
    version = __version__
    has_ended = False
    log = ""
    tls: TlsListener | None = None

    def __init__(self, address: str, http: str) -> None:
        self.address = address
        self.http = http
        self.usage: Usage = ScrapedUsage(http)

    def start(self) -> None:
        """It runs already."""

    def stop(self) -> None:
        """It is not ours to stop."""

    def kill(self) -> None:
        """It is not ours to stop."""


def _first_line(process: Process) -> str:
    """What it printed up to the end of a line; less when it ended or the time is over."""
    assert process.popen.stdout is not None
    stdout, line = process.popen.stdout.fileno(), bytearray()
    end = monotonic() + READY_TIMEOUT_S
    while not line.endswith(b"\n"):
        if not select.select([stdout], [], [], max(end - monotonic(), 0))[0]:
            break
        if not (part := os.read(stdout, 4096)):
            break
        line += part
    return line.decode()
