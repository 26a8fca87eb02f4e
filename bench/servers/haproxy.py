"""HAProxy in TCP mode on 127.0.0.1: what a proxy costs that looks at nothing."""

import shutil
import socket
from contextlib import suppress
from pathlib import Path

from ..failures import BenchFailure
from .ports import free_port
from .process import Process, Restartable, wait_until

COMMANDS = ("haproxy", "/usr/sbin/haproxy")
CONFIGURATION = """global
    nbthread 1
    maxconn 4000
defaults
    mode tcp
    timeout connect 10s
    timeout client 1h
    timeout server 1h
listen kafka
    bind {address}
    server broker {upstream}
"""


class HaProxy(Restartable):
    """One thread of HAProxy in front of the broker at `upstream`; its files are in `folder`."""

    name = "haproxy"

    def __init__(self, folder: Path, upstream: str) -> None:
        super().__init__(folder, "haproxy.out")
        self.address = f"127.0.0.1:{free_port()}"
        self._upstream = upstream

    def start(self) -> None:
        """Returns when it takes connections. Raises: BenchFailure."""
        command = next(filter(None, map(shutil.which, COMMANDS)), None)
        if command is None:
            raise BenchFailure("there is no haproxy (Debian: apt-get install haproxy)")
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "haproxy.cfg"
        settings.write_text(CONFIGURATION.format(address=self.address, upstream=self._upstream))
        self._process = Process([command, "-db", "-f", str(settings)], self.output)
        try:
            wait_until(self._accepts_connections, "HAProxy listens")
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _accepts_connections(self) -> bool:
        if self.has_ended:
            raise BenchFailure(f"HAProxy ended while starting: {self.log}")
        host, _, port = self.address.rpartition(":")
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=5):
            return True
        return False
