"""One blocking connection for what is not measured: creating topics, checking answers."""

from typing import Any, cast

from ...client import connection
from ...client.connection import parse_address
from ...protocol.api import spec_of_request
from ...protocol.errors import ErrorCode
from ...protocol.frame import encode_request
from ..failures import BenchFailed

CLIENT_ID = "stepdown-bench"
TIMEOUT_S = 120.0
REQUEST_TIMEOUT_MS = 60_000
"""What requests that name a time leave the server."""


def frame_of(request: Any, version: int) -> bytes:
    """The bytes of a request, its size in front."""
    pieces = encode_request(spec_of_request(request), version, 1, CLIENT_ID, request)
    return b"".join(cast(list[bytes], pieces))


class Connection(connection.Connection):
    """Sends one request at a time. Raises: BenchFailed from `call` when the server hangs up."""

    def __init__(self, address: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._address = address
        super().__init__(parse_address(address), client_id=CLIENT_ID, timeout_s=timeout_s)

    def call(self, request: Any, version: int) -> Any:
        """The response to `request`."""
        try:
            return self.exchange(request, version)
        except ConnectionResetError as fault:
            raise BenchFailed(f"{self._address}: {fault}") from fault


def check_error(code: int, what: str) -> None:
    """Raises: BenchFailed for an error code of a response; `what` was asked."""
    if code:
        raise BenchFailed(f"{what}: {ErrorCode(code).name}")
