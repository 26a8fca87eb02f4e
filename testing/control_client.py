"""How a test reaches what controls the brokers: in the same process, or over HTTP."""

import http.client
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol

from ..broker.faults.control_requests import Control
from .loop_thread import LoopThread

TIMEOUT_S = 660.0
Answer = dict[str, Any]


class ControlFailed(Exception):
    """What was asked of the control is wrong, or cannot be done; the message says why."""


class ControlClient(Protocol):
    """Asks the control of a broker. `ask` raises ControlFailed."""

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer: ...


class LocalControl:
    """The control of brokers in this process."""

    def __init__(self, control: Control, thread: LoopThread) -> None:
        self.control = control
        self._thread = thread

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        status, answer = self._thread.run(self.control.handle(method, path, body or {}))
        return _check(status, answer)


class HttpControl:
    """The control port of a broker that runs elsewhere. Raises OSError too."""

    def __init__(self, address: str, token: str = "") -> None:
        self._address = address
        self._headers = {"content-type": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_S)
        try:
            connection.request(method, f"/{path.strip('/')}", json.dumps(body or {}), self._headers)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        try:
            answer = json.loads(data)
        except ValueError:
            raise ControlFailed(f"{self._address} does not answer as a control port: {data[:200]!r}") from None
        return _check(response.status, answer)


class NoControl:
    """Of a Kafka that runs elsewhere and has none, or whose control port was not named."""

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        raise ControlFailed("this Kafka has no control port, or none was named: --kafka-control HOST:PORT")


def _check(status: int, answer: Answer) -> Answer:
    if status != HTTPStatus.OK:
        raise ControlFailed(str(answer.get("error", status)))
    return answer
