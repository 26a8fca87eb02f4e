"""The commands' connection to a broker: faults as `CommandFailed`, TLS and a login where `--command-config` asks for
them. A login that ends (KIP-368) is renewed on the connection."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...client.connection import ANY_VERSION as NO_LIMIT
from ...client.connection import NOT_OFFERED, TIMEOUT_S, Connection
from ...client.errors import AuthenticationFailed
from ...config import HostPort
from ...protocol.api import API, ApiKey, spec_of_request
from ...protocol.errors import MalformedFrame, error_name
from .failures import CommandFailed

if TYPE_CHECKING:
    from ...client.security.settings import Security

DEFAULT_PORT = 9092
LOGIN_USE = 0.85
"""Of the time that a login is good for; then it is renewed."""
SECURITY_HINT = "A TLS or SASL listener takes --command-config FILE, a client.properties that says how."
Versions = tuple[int, int]
ANY_VERSION: Versions = (0, NO_LIMIT)
_CLIENT_ID = "stepdown-cli"


class BrokerClient:
    """A connection to one broker.

    Raises:
        CommandFailed: from every method, when the broker cannot be reached or does not answer as it should.
    """

    def __init__(self, address: HostPort, timeout_seconds: float = TIMEOUT_S, security: Security | None = None) -> None:
        self._address, self._timeout_seconds, self._security = address, timeout_seconds, security
        self._logged_in_until: float | None = None
        try:
            self._connection = Connection((self._host, address.port), client_id=_CLIENT_ID, timeout_s=timeout_seconds)
        except OSError as fault:
            hint = "Start one with `stepdown serve`, or name another with --bootstrap-server HOST:PORT."
            raise CommandFailed(f"no broker answers at {address}: {fault.strerror or fault}", hint) from fault
        try:
            self._agree_on_tls()
            self._agree_on_versions()
            self._log_in()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> BrokerClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def another(self, address: HostPort, timeout_seconds: float | None = None) -> BrokerClient:
        """A connection to another broker of the cluster, with the same security."""
        return BrokerClient(address, timeout_seconds or self._timeout_seconds, self._security)

    def version_of(self, key: ApiKey, among: Versions = ANY_VERSION) -> int:
        """The newest version of an API that both sides speak, of those `among` which the command can choose."""
        spec = API[key]
        low, _ = self._connection.versions.get(key, NOT_OFFERED)
        version = self._connection.newest(spec, among[1])
        if version < max(low, spec.min_version, among[0]):
            name = spec.name if among == ANY_VERSION else f"{spec.name} v{among[0]} to v{among[1]}"
            raise CommandFailed(
                f"the broker at {self._address} does not offer {name}",
                "It may be of another kind, or older or newer than this command needs.",
            )
        return version

    def call(self, key: ApiKey, make_request: Callable[[int], Any], among: Versions = ANY_VERSION) -> Any:
        """The response to the request that `make_request` builds for the agreed version."""
        version = self.version_of(key, among)
        if self._logged_in_until is not None and monotonic() >= self._logged_in_until:
            self._log_in()
        return self.exchange(make_request(version), version)

    def exchange(self, request: Any, version: int) -> Any:
        """The response to a request in that version."""
        with self._faults_told(spec_of_request(request).name):
            return self._connection.exchange(request, version)

    @property
    def _host(self) -> str:
        return self._address.host or "127.0.0.1"

    def _agree_on_tls(self) -> None:
        context = self._security.tls if self._security is not None else None
        if not isinstance(context, ssl.SSLContext):
            return
        from ...producer.network.connection import tls_fault

        with self._faults_told("the TLS handshake"):
            try:
                self._connection.start_tls(context, self._host)
            except ssl.SSLError as fault:
                hint = "Is it a TLS listener, and is its certificate signed by what ssl.truststore.location holds?"
                raise CommandFailed(f"{self._address}: {tls_fault(fault)}", hint) from fault

    def _log_in(self) -> None:
        if self._security is None or self._security.sasl is None:
            return
        try:
            with self._faults_told("the login"):
                lifetime_ms = self._connection.log_in(self._security.sasl)
        except AuthenticationFailed as fault:
            raise CommandFailed(f"{self._address}: {fault}") from fault
        self._logged_in_until = monotonic() + lifetime_ms / 1000 * LOGIN_USE if lifetime_ms > 0 else None

    def _agree_on_versions(self) -> None:
        with self._faults_told("ApiVersions"):
            code = self._connection.agree_on_versions()
        if code:
            raise CommandFailed(f"the broker at {self._address} refused ApiVersions: {error_name(code)}")

    @contextmanager
    def _faults_told(self, name: str) -> Iterator[None]:
        """Raises CommandFailed for what goes wrong while `name` is asked."""
        try:
            yield
        except TimeoutError as fault:
            raise CommandFailed(f"the broker at {self._address} did not answer {name} in time") from fault
        except OSError as fault:
            hint = SECURITY_HINT if self._security is None else ""
            raise CommandFailed(f"the connection to {self._address} broke: {fault.strerror or fault}", hint) from fault
        except MalformedFrame as fault:
            hint = f"Is a Kafka broker listening there? {SECURITY_HINT}"
            raise CommandFailed(
                f"{self._address} answered {name} with something else than a Kafka response: {fault}", hint
            ) from fault
