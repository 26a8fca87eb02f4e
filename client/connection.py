"""One blocking connection to a broker: one request at a time, in a given version or one agreed by ApiVersions."""

import errno
import os
import socket
import ssl
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from ..protocol.api import ApiSpec, spec_of_request
from ..protocol.errors import MalformedFrame
from ..protocol.frame import FrameParser, decode_response, encode_request
from .security.login import LoginRequest, LoginStep, RawSaslToken, log_in
from .security.settings import SaslSettings
from .steps import take_steps
from .tls_socket import TlsSocket
from .versions import VERSIONS_REQUEST, ask_versions

TIMEOUT_S = 30.0
MAX_RESPONSE_BYTES = 256 << 20
MAX_BYTES_BEFORE_LOGIN = 512 << 10
"""The largest answer before the broker has authenticated; Kafka's brokers have the same limit for requests."""
ANY_VERSION = 0x7FFF
READ_BYTES = 65_536
SIZE_BYTES = 4
NOT_OFFERED = (0, -1)

Address = tuple[str, int]


class Connection:
    """Every method raises OSError when the broker cannot be reached, hangs up or is silent for `timeout_s`, and
    MalformedFrame when its answer is not Kafka's protocol. The connection is of no use after either.

    `answer_bytes` is the size of the last answer, the size field not counted.
    """

    def __init__(self, *, client_id: str, timeout_s: float = TIMEOUT_S) -> None:
        self.answer_bytes = 0
        self.versions: dict[int, tuple[int, int]] = {}
        self._client_id = client_id
        self._correlation_id = 0
        self._timeout_s = timeout_s
        self._parser = FrameParser(MAX_RESPONSE_BYTES)
        self._socket: socket.socket | TlsSocket = socket.socket()
        self._is_interrupted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def connect(self, address: Address) -> Self:
        """Connects to the first address of the host that answers; each may take `timeout_s`."""
        fault = OSError(f"{address[0]} has no address")
        for family, kind, protocol, _, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
            self._socket.close()
            self._socket = sock = socket.socket(family, kind, protocol)
            sock.settimeout(self._timeout_s)
            try:
                if self._is_interrupted:
                    raise ConnectionAbortedError(errno.ECONNABORTED, os.strerror(errno.ECONNABORTED))
                sock.connect(place)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as refused:
                fault = refused
            else:
                return self
        raise fault

    def interrupt(self) -> None:
        """Makes the call in which another thread waits fail, as if the broker had hung up."""
        self._is_interrupted = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def set_timeout(self, timeout_s: float) -> None:
        """Sets how long to wait for each answer from now on."""
        self._socket.settimeout(timeout_s)

    def begin_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Shakes hands; the broker's certificate has to be for `host`. Raises: ssl.SSLError."""
        assert isinstance(self._socket, socket.socket)
        self._socket = TlsSocket(self._socket, context, host)

    def agree_on_versions(self, *, named: bool = False) -> int:
        """Asks which `versions` of each API the broker offers; returns the error code of its answer.

        `named`: the request names this software, which old brokers take for a token of a login.
        """
        answer = take_steps(ask_versions(named=named), lambda version: self.exchange(VERSIONS_REQUEST, version))
        self.versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        return answer.error_code

    def newest_version(self, spec: ApiSpec, most: int = ANY_VERSION) -> int:
        """The newest version, `most` at most, that both sides speak; -1 where the broker does not offer the API."""
        return min(self.versions.get(spec.key, NOT_OFFERED)[1], spec.max_version, most)

    def exchange(self, request: Any, version: int) -> Any:
        """Sends a request in that version and returns the response."""
        spec = spec_of_request(request)
        self._correlation_id += 1
        pieces = encode_request(spec, version, self._correlation_id, self._client_id, request)
        sent = b"".join(piece for piece in pieces if isinstance(piece, bytes | bytearray | memoryview))
        correlation_id, response = decode_response(spec, version, self._send_and_receive(spec.name, sent))
        if correlation_id != self._correlation_id:
            raise MalformedFrame(f"request {correlation_id} is answered instead of {self._correlation_id}")
        return response

    def log_in(self, sasl: SaslSettings) -> int:
        """Logs in; returns for how many ms the login is valid, 0 for ever. Raises: AuthenticationFailed."""
        self._parser.max_bytes = MAX_BYTES_BEFORE_LOGIN
        lifetime_ms = take_steps(log_in(sasl, self.versions), self._do_login_step)
        self._parser.max_bytes = MAX_RESPONSE_BYTES
        return lifetime_ms

    def _do_login_step(self, step: LoginStep) -> Any:
        if isinstance(step, LoginRequest):
            return self.exchange(step.request, step.version)
        if isinstance(step, RawSaslToken):
            sized = len(step.token).to_bytes(SIZE_BYTES, "big") + step.token
            return bytes(self._send_and_receive("the login", sized))
        return step()

    def _send_and_receive(self, name: str, sent: bytes) -> memoryview:
        self._socket.sendall(sent)
        while (frame := self._parser.next_frame()) is None:
            data = self._socket.recv(READ_BYTES)
            if not data:
                raise ConnectionResetError(f"the broker closed the connection instead of answering {name}")
            self._parser.feed(data)
        self.answer_bytes = len(frame)
        return frame


def parse_address(text: str) -> Address:
    """Host and port of HOST:PORT. Raises: ValueError."""
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"expected HOST:PORT, found {text!r}")
    return host.strip("[]"), int(port)
