"""One blocking connection for what is not measured: creating topics, checking answers."""

from typing import Any, TypeVar, cast

from ...client import connection
from ...client.blocking_client import BlockingClient
from ...client.connection import parse_address
from ...client.errors import ClientError
from ...client.operation import Operation
from ...client.operations.outcome import Outcome
from ...config.keys.endpoints import parse_host_port
from ...protocol.api import spec_of_request
from ...protocol.errors import ErrorCode
from ...protocol.frame import encode_request
from ..failures import BenchFailure

T = TypeVar("T")
CLIENT_ID = "stepdown-bench"
TIMEOUT_S = 120.0
REQUEST_TIMEOUT_MS = 60_000
"""What requests that name a time leave the server."""


def frame_of(request: Any, version: int) -> bytes:
    """The bytes of a request, its size in front."""
    pieces = encode_request(spec_of_request(request), version, 1, CLIENT_ID, request)
    return b"".join(cast(list[bytes], pieces))


def run_on(address: str, operation: Operation[T]) -> T:
    """The result of an operation on the cluster at an address. Raises: BenchFailure."""
    try:
        with BlockingClient([parse_host_port(address)], client_id=CLIENT_ID, timeout_s=TIMEOUT_S) as client:
            return client.run(operation)
    except ClientError as fault:
        raise BenchFailure(str(fault)) from fault


def change(address: str, operation: Operation[list[Outcome]], *, accepted: tuple[str, ...] = ()) -> None:
    """Carries out a change; the errors `accepted` do not count. Raises: BenchFailure for the others."""
    for outcome in run_on(address, operation):
        if outcome.failed and outcome.error not in accepted:
            raise BenchFailure(f"{address}: {outcome.name}: {outcome.error} {outcome.message}")


class Connection(connection.Connection):
    """Sends one request at a time. Raises: BenchFailure from `call` when the server hangs up."""

    def __init__(self, address: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._address = address
        super().__init__(client_id=CLIENT_ID, timeout_s=timeout_s)
        self.connect(parse_address(address))

    def call(self, request: Any, version: int) -> Any:
        """The response to `request`."""
        try:
            return self.exchange(request, version)
        except ConnectionResetError as fault:
            raise BenchFailure(f"{self._address}: {fault}") from fault


def check_error(code: int, what: str) -> None:
    """Raises: BenchFailure for an error code of a response; `what` was asked."""
    if code:
        raise BenchFailure(f"{what}: {ErrorCode(code).name}")
