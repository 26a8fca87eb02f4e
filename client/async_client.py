"""The asyncio client: runs operations on the event loop, many at a time on one connection to each broker."""

import asyncio
import ssl
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from ..config.keys.endpoints import HostPort
from ..protocol.errors import code_of
from .async_connection import AsyncConnection
from .clock import Clock, SystemClock
from .cluster import TRIES, Cluster, Send
from .connection import TIMEOUT_S
from .connection_faults import translate_connect_faults, translate_request_faults
from .errors import ClientError, ConnectionBroken, KafkaError
from .operation import Operation, Pause
from .security.settings import OPEN, SecuritySettings
from .security.tls_context import load_certificates
from .steps import await_steps
from .tcp_connect import Connect, TcpConnect

T = TypeVar("T")
LOGIN_USE = 0.85
"""The share of a login's lifetime (KIP-368) after which another connection takes its place."""


class AsyncClient:
    """Connections to brokers, opened when something is asked.

    If a kept connection turns out to be broken, it is opened again once and the request is sent again.
    """

    def __init__(
        self,
        bootstrap: Sequence[HostPort],
        *,
        client_id: str,
        security: SecuritySettings = OPEN,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES,
        clock: Clock | None = None,
        connect: Connect | None = None,
        is_named: bool = True,
    ) -> None:
        """`connect` may be shared by clients of one loop; `clock` is for tests; `is_named`: brokers are given the name
        of this software.

        Raises: ConfigError for certificates that cannot be read.
        """
        self._security = load_certificates(security)
        self._client_id, self._timeout_s = client_id, timeout_s
        self._clock, self._connect = clock or SystemClock(), connect or TcpConnect()
        self._cluster = Cluster(bootstrap, tries)
        self._is_named = is_named and security.sasl is None
        self._open: dict[HostPort, asyncio.Task[AsyncConnection]] = {}
        self._login_ends_ms: dict[AsyncConnection, float] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections; requests in flight end with an error."""
        for opening in self._open.values():
            if not opening.cancel() and not opening.cancelled() and opening.exception() is None:
                opening.result().close()
        self._open.clear()

    async def run(self, operation: Operation[T]) -> T:
        """Runs an operation and returns its result. Raises: ClientError."""
        return await await_steps(self._cluster.steps_of(operation), self._do_step)

    async def get_or_open_connection(self, address: HostPort) -> AsyncConnection:
        """Returns the connection to a broker, opened and logged in, for other requests. Raises: ClientError."""
        opening = self._open.get(address)
        if opening is None or not self._is_usable(opening):
            opening = self._open[address] = asyncio.create_task(self._open_connection(address))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if opening.cancelled() and not is_current_task_cancelled():
                raise ClientError(f"the client was closed while it connected to {address}") from None
            raise
        finally:
            del opening  # its exception refers to this frame: each would keep the other alive

    async def _do_step(self, step: Send | Pause) -> Any:
        if isinstance(step, Pause):
            return await self._clock.sleep(step.ms)
        is_kept = step.address in self._open
        try:
            return await self._ask(step)
        except ConnectionBroken:
            if not is_kept:
                raise
        return await self._ask(step)

    async def _ask(self, step: Send) -> Any:
        connection = await self.get_or_open_connection(step.address)
        version = step.ask.version_for(connection.versions, step.address)
        with translate_request_faults(step.address, step.ask.name):
            return await connection.exchange(step.ask.make_request(version), version, step.ask.timeout_s)

    def _is_usable(self, opening: asyncio.Task[AsyncConnection]) -> bool:
        if not opening.done():
            return True
        if opening.cancelled() or opening.exception() is not None:
            return False
        connection = opening.result()
        if not connection.closed and self._clock.now_ms() >= self._login_ends_ms.get(connection, float("inf")):
            self._login_ends_ms.pop(connection)
            connection.retire()
            return False
        return not connection.closed

    async def _open_connection(self, address: HostPort) -> AsyncConnection:
        connection, host = AsyncConnection(self._client_id, self._timeout_s), address.host or "127.0.0.1"
        tls = self._security.tls if isinstance(self._security.tls, ssl.SSLContext) else None
        try:
            with translate_connect_faults(address):
                async with asyncio.timeout(self._timeout_s):
                    await self._connect(lambda: connection, host, address.port, tls=tls)
            with translate_request_faults(address, "ApiVersions"):
                code = await connection.agree_on_versions(named=self._is_named)
            if code:
                raise KafkaError(f"the broker at {address} refused ApiVersions", code_of(code))
            await self._log_in(address, connection)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _log_in(self, address: HostPort, connection: AsyncConnection) -> None:
        if self._security.sasl is None:
            return
        with translate_request_faults(address, "the login"):
            lifetime_ms = await connection.log_in(self._security.sasl)
        if lifetime_ms > 0:
            self._login_ends_ms[connection] = self._clock.now_ms() + lifetime_ms * LOGIN_USE


def is_current_task_cancelled() -> bool:
    """Whether `cancel` was called on the running task."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
