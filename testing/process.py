"""A broker as a process of its own: `stepdown serve --temporary`, which ends with the process of the tests."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO

from .control_client import HttpControl
from .elsewhere import connect
from .kafka import Kafka
from .security.client_settings import ClientSettings
from .security.secured_listener import SecuredListener, check_protocol
from .security.superuser import USERS, Superuser, check_certificates_can_be_made
from .wire.config_values import as_config_value

READY = re.compile(r"stepdown listening on (?P<listen>\S+:\d+), http (?P<http>\S+:\d+), control (?P<control>\S+:\d+)")
STOP_S = 20.0
STDERR = 2
KEPT_LINES = 20


class RunningProcess:
    """Starts the process on entering and ends it on leaving; several `brokers` are a cluster in that process.

    `racks`, `security`, `users` and `act_as` as for `running`; the users of SASL are arguments of the process.
    """

    def __init__(
        self,
        *,
        brokers: int = 1,
        racks: Sequence[str] = (),
        config: Mapping[str, object] | None = None,
        security: str = "PLAINTEXT",
        users: Mapping[str, str] | None = None,
        act_as: str = "",
    ) -> None:
        """Raises: ValueError for an unknown protocol."""
        check_protocol(security)
        self._brokers, self._racks = brokers, racks
        self._config = {key: as_config_value(key, value) for key, value in (config or {}).items()}
        if act_as:
            self._config["stepdown.act.as"] = act_as
        self._security = security
        self._users = USERS if users is None else users
        self._secrets: str | None = None

    def __enter__(self) -> Kafka:
        access = None if self._security == "PLAINTEXT" else self._make_superuser()
        command = [sys.executable, "-P", "-m", "stepdown", "serve", "--temporary", "--brokers", str(self._brokers)]
        command += ["--log-level", "WARNING"]  # stderr goes to that of the tests
        command += ["--racks", ",".join(self._racks)] if self._racks else []
        command += _serve_options(access, self._config)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # ^C at the terminal must not reach it: the tests end it
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self._errors = ErrorOutput(self._process.stderr)
        line = self._process.stdout.readline()
        ready = READY.match(line)
        if ready is None:
            self._end()
            raise RuntimeError(f"stepdown did not start, it said:\n{line}{self._errors.last_lines}")
        self._connected = self._connect(ready["listen"], HttpControl(ready["control"]), access)
        kafka = self._connected.__enter__()
        if self._config.get("stepdown.page.enabled") != "false":
            kafka.awaited.page = f"http://{ready['http']}/"
        return kafka

    def _connect(self, bootstrap: str, control: HttpControl, access: Superuser | None) -> AbstractContextManager[Kafka]:
        if access is None:
            return connect(bootstrap, control)
        return connect(bootstrap, control, ClientSettings(bootstrap, access.listener), access.security(self._config))

    def _make_superuser(self) -> Superuser:
        folder = Path(tempfile.gettempdir())
        check_certificates_can_be_made(SecuredListener(protocol=self._security, folder=folder))
        self._secrets = tempfile.mkdtemp(prefix="stepdown-security-")
        access = Superuser(SecuredListener(protocol=self._security, folder=Path(self._secrets), users=self._users))
        if not access.listener.has_sasl:
            access.make_certificates()
        return access

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._connected.__exit__(None, None, None)
        self._end()

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._secrets is not None:
            shutil.rmtree(self._secrets, ignore_errors=True)


class ErrorOutput:
    """Copies the stderr of a process to ours, and keeps the last lines."""

    def __init__(self, output: IO[str]) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._reader = Thread(target=self._copy, args=(output,), name="stderr of stepdown", daemon=True)
        self._reader.start()

    def _copy(self, output: IO[str]) -> None:
        with output:
            for line in output:
                os.write(STDERR, line.encode())  # not sys.stderr, which pytest replaces and closes
                self._lines.append(line)

    def join(self) -> None:
        """Returns when all is read, which is when the process has ended."""
        self._reader.join()

    @property
    def last_lines(self) -> str:
        return "".join(self._lines)


def _serve_options(access: Superuser | None, config: Mapping[str, str]) -> list[str]:
    """Returns options of `stepdown serve`. For SASL it makes the certificates itself."""
    settings, options = dict(config), list[str]()
    if access is not None:
        settings = access.broker_settings(config)
        options = ["--security-dir", str(access.listener.folder)]  # so it is removed when we are killed
        if access.listener.has_sasl:
            settings = {**config, "super.users": settings["super.users"]}
            options += ["--tls"] if access.listener.has_tls else []
            for name, password in access.listener.users.items():
                options += ["--user", f"{name}:{password}"]
    for key, value in settings.items():
        options += ["-o", f"{key}={value}"]
    return options
