"""The coordinator of a group as a member of it sees it: looked for, lost and found again, on a given clock."""

import asyncio
from contextlib import suppress
from typing import Any, cast

from ...client.connection import ANY_VERSION, Address, parse_address
from ...network.clock import Clock
from ...producer.network.connection import Connection
from ...producer.network.connections import Connect
from ...producer.sender.network_interface import Answer
from ...protocol.api import spec_of_request
from ...protocol.errors import ErrorCode
from ...protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

LAST_OF_ONE_KEY = 3  # of FindCoordinator
RETRY_MS = 100
COORDINATOR_GONE = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class CoordinatorClient:
    """One connection, made when something is asked."""

    def __init__(self, bootstrap: str, group: str, client_id: str, clock: Clock, connect: Connect) -> None:
        self._bootstrap = [parse_address(each) for each in bootstrap.split(",")]
        self._group, self._client_id, self._clock = group, client_id, clock
        self._open = connect
        self._connection: Connection | None = None

    async def ask(self, request: Any, most: int = ANY_VERSION) -> Any:
        """The coordinator's answer; looks for the coordinator again as long as there is none."""
        while True:
            with suppress(OSError):
                answer = await self.ask_once(request, most)
                if getattr(answer, "error_code", 0) not in COORDINATOR_GONE:
                    return answer
            self.disconnect()
            await self._clock.sleep(RETRY_MS)

    async def ask_once(self, request: Any, most: int = ANY_VERSION) -> Any:
        """The coordinator's answer, or why there is none. Raises: OSError."""
        if self._connection is None or self._connection.closed:
            found = await self._find_coordinator()
            if found.error_code:
                return found
            self._connection = await self._connect((found.host, found.port))
        return await _exchange(self._connection, request, most)

    async def _find_coordinator(self) -> FindCoordinatorResponse:
        """Asks the bootstrap servers in turn."""
        self._bootstrap.append(self._bootstrap.pop(0))
        entry = await self._connect(self._bootstrap[-1])
        try:
            answer = await _exchange(entry, FindCoordinatorRequest(key=self._group), LAST_OF_ONE_KEY)
        finally:
            entry.close()
        return cast(FindCoordinatorResponse, answer)

    async def _connect(self, address: Address) -> Connection:
        """Raises: OSError."""
        changed = asyncio.Event()
        connection = Connection(self._client_id, self._clock.now_ms, changed.set)
        await self._open(lambda: connection, *address, tls=None)
        await changed.wait()  # it is open, or it was closed
        return connection

    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


async def _exchange(connection: Connection, request: Any, most: int) -> Any:
    """The response. Raises: ConnectionResetError."""
    spec = spec_of_request(request)
    _, last = connection.versions.get(spec.key, (0, 0))
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    if connection.closed:
        raise ConnectionResetError(f"no connection for {spec.name}")

    def done(answer: Answer) -> None:
        if not answered.done():
            answered.set_result(answer)

    connection.send(spec.key, min(last, spec.max_version, most), request, done, answered=True)
    connection.flush()
    answer = await answered
    if answer.failure is not None:
        raise ConnectionResetError(f"{spec.name} was not answered: {answer.failure.name}")
    return answer.response
