"""Clients of the brokers' control: in the same process, or over HTTP."""

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol

import h11

from ..broker.faults.control_requests import Control
from ..broker.faults.field_parsers import parse_duration_ms
from ..client.errors import describe_connect_fault
from ..config.keys.endpoints import parse_host_port
from .blocking_front import BlockingFront
from .loop_thread import run_in

LOOK_S = 5.0
"""The timeout of requests for what is there already, beyond the time that the control was asked to wait."""
TIMEOUT_S = 60.0
"""The timeout of what takes time, such as a move of the clock."""
READ_BYTES = 1 << 16
CLOSED = "the connection was closed instead of an answer; it may be the port of Kafka's clients"
NO_ANSWER = "there was no answer in {:g} s; it may not be a control port, or what has it is suspended"
Answer = dict[str, Any]


class ControlFailed(Exception):
    """A request to the control is wrong or cannot be done; the message says why."""


class ControlPortUnreachable(ConnectionError):
    """Nobody listens at the address of a control port; `strerror` has the reason."""

    def __init__(self, address: str, error: OSError) -> None:
        super().__init__(error.errno, describe_connect_fault(error))
        self._address = address

    def __str__(self) -> str:
        return f"no control port answers at {self._address}: {self.strerror}"


class ControlClient(Protocol):
    """Asks the control of a broker. `ask` raises ControlFailed."""

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer: ...


class LocalControl:
    """The control of brokers in this process, which run in `loop`."""

    def __init__(self, control: Control, loop: asyncio.AbstractEventLoop) -> None:
        self.control = control
        self._loop = loop

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        return _check(*await run_in(self._loop, self.control.handle(method, path, body or {})))


class HttpControl:
    """The control port of a broker that runs elsewhere. Raises OSError too."""

    def __init__(self, address: str, token: str = "", *, look_s: float = LOOK_S) -> None:
        self._address, self._look_s = address, look_s
        self._headers = [("Host", address), ("Content-Type", "application/json"), ("Connection", "close")]
        if token:
            self._headers.append(("Authorization", f"Bearer {token}"))

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        sent = json.dumps(body or {}, default=parse_duration_ms).encode()
        headers = [*self._headers, ("Content-Length", str(len(sent)))]
        http = h11.Connection(h11.CLIENT)
        asked = http.send(h11.Request(method=method, target=f"/{path.strip('/')}", headers=headers))
        waits_itself = "timeout" in (body or {})
        limit_s = (self._look_s if method == "GET" or waits_itself else TIMEOUT_S) + _longest_wait_s(body or {})
        try:
            async with asyncio.timeout(limit_s):
                status, data = await self._exchange(http, (asked or b"") + (http.send(h11.Data(sent)) or b""))
            return _check(status, json.loads(data))
        except TimeoutError:
            raise ControlPortUnreachable(self._address, OSError(NO_ANSWER.format(limit_s))) from None
        except (h11.RemoteProtocolError, ValueError) as fault:
            raise ControlFailed(f"{self._address} does not answer as a control port: {fault}") from None

    async def _exchange(self, http: h11.Connection, asked: bytes) -> tuple[int, bytes]:
        address, status, data = parse_host_port(self._address), 0, b""
        try:
            reader, writer = await asyncio.open_connection(address.host or "127.0.0.1", address.port)
        except OSError as error:
            raise ControlPortUnreachable(self._address, error) from None
        try:
            writer.write(asked)
            while not isinstance(event := http.next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    received = await reader.read(READ_BYTES)
                    if not received:
                        raise ConnectionResetError(CLOSED)
                    http.receive_data(received)
                elif isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    data += event.data
        finally:
            writer.close()
        return status, data


class MissingControlClient:
    """Stands for a missing control: of an external Kafka, or of brokers whose control port was not given."""

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        raise ControlFailed("this Kafka has no control port, or none was named: --kafka-control HOST:PORT")


class BlockingControl(BlockingFront[ControlClient]):
    """Blocking requests to the control, for what has no method of its own."""

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Raises: ControlFailed."""
        return self._run(self.awaited.ask(method, path, body))


def _longest_wait_s(body: Mapping[str, Any]) -> float:
    """Returns how long the request lets the control wait; 0 for an invalid time, which it will refuse."""
    try:
        return parse_duration_ms(body.get("timeout", 0)) / 1000
    except ValueError:
        return 0


def _check(status: int, answer: Answer) -> Answer:
    if status != HTTPStatus.OK:
        raise ControlFailed(str(answer.get("error", status)))
    return answer
