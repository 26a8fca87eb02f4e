"""The blocking client: runs operations in the calling thread, one request at a time."""

import ssl
import time
from collections.abc import Sequence
from threading import RLock
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar

from ..config.keys.endpoints import HostPort
from ..protocol.errors import code_of
from .cluster import TRIES, Cluster, Send
from .connection import TIMEOUT_S, Connection
from .connection_faults import translate_connect_faults, translate_request_faults
from .errors import ConnectionBroken, KafkaError
from .operation import Ask, Operation, Pause
from .security.settings import OPEN, SecuritySettings
from .security.tls_context import load_certificates
from .steps import take_steps

T = TypeVar("T")
LOGIN_USE = 0.85
"""The share of a login's lifetime (KIP-368) after which it is renewed on the connection."""


class BlockingClient:
    """Connections to brokers, opened when something is asked. Several threads may use it; a lock lets in one
    at a time.

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
    ) -> None:
        """Raises: ConfigError for certificates that cannot be read."""
        self._security = load_certificates(security)
        self._client_id, self._timeout_s = client_id, timeout_s
        self._cluster = Cluster(bootstrap, tries)
        self._open: dict[HostPort, Connection] = {}
        self._login_ends: dict[Connection, float] = {}
        self._lock = RLock()
        self._is_interrupted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        with self._lock:
            for address in list(self._open):
                self._drop(address)

    def interrupt(self) -> None:
        """Makes requests that other threads wait for fail; later ones fail at once."""
        self._is_interrupted = True
        for connection in list(self._open.values()):
            connection.interrupt()

    def connect(self) -> None:
        """Opens a connection to the first bootstrap server that answers. Raises: ClientError."""
        with self._lock:
            take_steps(self._cluster.servers.try_each(lambda address: address), self._connect)

    def run(self, operation: Operation[T]) -> T:
        """Runs an operation and returns its result. Raises: ClientError."""
        with self._lock:
            return take_steps(self._cluster.steps_of(operation), self._do_step)

    def _do_step(self, step: Send | Pause) -> Any:
        if isinstance(step, Pause):
            return time.sleep(step.ms / 1000)
        kept = self._open.get(step.address)
        if kept is not None:
            try:
                return self._ask(step.address, kept, step.ask)
            except ConnectionBroken:
                pass
        return self._ask(step.address, self._connect(step.address), step.ask)

    def _ask(self, address: HostPort, connection: Connection, ask: Ask) -> Any:
        version = ask.version_for(connection.versions, address)
        request = ask.make_request(version)
        if monotonic() >= self._login_ends.get(connection, float("inf")):
            self._log_in(address, connection)
        connection.set_timeout(ask.timeout_s or self._timeout_s)
        try:
            with translate_request_faults(address, ask.name):
                return connection.exchange(request, version)
        except BaseException:
            self._drop(address)
            raise

    def _connect(self, address: HostPort) -> Connection:
        host = address.host or "127.0.0.1"
        with translate_connect_faults(address):
            connection = Connection(client_id=self._client_id, timeout_s=self._timeout_s)
        self._open[address] = connection  # where `interrupt` finds it
        try:
            if self._is_interrupted:
                raise ConnectionBroken(f"{address} is not asked any more")
            with translate_connect_faults(address):
                connection.connect((host, address.port))
            if isinstance(self._security.tls, ssl.SSLContext):
                with translate_request_faults(address, "the TLS handshake"):
                    connection.begin_tls(self._security.tls, host)
            with translate_request_faults(address, "ApiVersions"):
                code = connection.agree_on_versions(named=self._security.sasl is None)
            if code:
                raise KafkaError(f"the broker at {address} refused ApiVersions", code_of(code))
            self._log_in(address, connection)
        except BaseException:
            self._drop(address)
            raise
        return connection

    def _log_in(self, address: HostPort, connection: Connection) -> None:
        if self._security.sasl is None:
            return
        with translate_request_faults(address, "the login"):
            lifetime_ms = connection.log_in(self._security.sasl)
        if lifetime_ms > 0:
            self._login_ends[connection] = monotonic() + lifetime_ms / 1000 * LOGIN_USE

    def _drop(self, address: HostPort) -> None:
        connection = self._open.pop(address)
        self._login_ends.pop(connection, None)
        connection.close()
