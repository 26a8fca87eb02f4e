"""`stepdown gateway` as a process of its own."""

import json
import re
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen

from stepdown.bench.servers.process import Process

from .deadline import DEADLINE_S

READY = re.compile(r"stepdown gateway listening on (\S+:\d+), http (\S+:\d+), upstream (.*)\n")


class GatewayProcess:
    """On free ports before `upstream`; its settings and what it logs go to files in `folder`."""

    def __init__(self, folder: Path, upstream: str, *, listen: str = "127.0.0.1:0", **settings: object) -> None:
        """`settings` by their names with `_` for `.`."""
        file = folder / "gateway.yaml"
        file.write_text("".join(f"{name.replace('_', '.')}: {value}\n" for name, value in settings.items()))
        self.address = self.http = self.upstream = ""
        self._log = folder / "gateway.err"
        self._command = [sys.executable, "-m", "stepdown", "gateway", str(file), "--upstream", upstream]
        self._command += ["--listen", listen, "--http", "127.0.0.1:0"]
        self._process: Process | None = None

    def __enter__(self) -> Self:
        self._process = Process(self._command, self._log, pipe_stdout=True)
        assert self._process.popen.stdout is not None
        line = self._process.popen.stdout.readline().decode()
        ready = READY.fullmatch(line)
        assert ready is not None, f"{line!r}\n{self._process.log_tail}"
        self.address, self.http, self.upstream = ready.groups()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        assert self._process is not None
        assert self._process.stop() == 0, self.log
        assert "Traceback" not in self.log, self.log

    def read_clients(self) -> list[dict[str, Any]]:
        """The rows of its client report."""
        with urlopen(f"http://{self.http}/clients", timeout=DEADLINE_S) as answer:
            rows: list[dict[str, Any]] = json.load(answer)["clients"]
        return rows

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid
