"""One blocking connection for what is not measured: creating topics, checking answers."""

import socket
from struct import Struct
from types import TracebackType
from typing import Any, Self, cast

from ...protocol.api import spec_of_request
from ...protocol.frame import decode_response, encode_request
from ..failures import BenchFailed

CLIENT_ID = "stepdown-bench"
TIMEOUT_S = 120.0
_SIZE = Struct(">i")


def frame_of(request: Any, version: int) -> bytes:
    """The bytes of a request, its size in front."""
    pieces = encode_request(spec_of_request(request), version, 1, CLIENT_ID, request)
    return b"".join(cast(list[bytes], pieces))


def host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


class Connection:
    """Sends one request at a time. Raises: BenchFailed from `call` when the server hangs up."""

    def __init__(self, address: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._address = address
        self._socket = socket.create_connection(host_and_port(address), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def call(self, request: Any, version: int) -> Any:
        """The response to `request`."""
        return self.call_sized(request, version)[0]

    def call_sized(self, request: Any, version: int) -> tuple[Any, int]:
        """The response and its size in bytes, the size field not counted."""
        self._socket.sendall(frame_of(request, version))
        size = _SIZE.unpack(self._receive(_SIZE.size))[0]
        return decode_response(spec_of_request(request), version, self._receive(size))[1], size

    def _receive(self, size: int) -> memoryview:
        view = memoryview(bytearray(size))
        at = 0
        while at < size:
            received = self._socket.recv_into(view[at:])
            if not received:
                raise BenchFailed(f"{self._address} hung up after {at} of {size} bytes")
            at += received
        return view
