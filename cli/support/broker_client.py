"""A small blocking client for the commands: one connection, one request at a time, versions agreed by ApiVersions.

With TLS and a login where `--command-config` asks for them. A login that ends (KIP-368) is renewed on the connection.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...config import HostPort
from ...protocol.api import API, ApiKey
from ...protocol.errors import ErrorCode, MalformedFrame
from ...protocol.frame import FrameParser, decode_response, encode_request
from .failures import CommandFailed

if TYPE_CHECKING:
    from ...producer.security.settings import Security

DEFAULT_PORT = 9092
TIMEOUT_SECONDS = 30.0
MAX_RESPONSE_BYTES = 100 * 1024 * 1024
_READ_BYTES = 65_536
_SIZE_BYTES = 4
LOGIN_USE = 0.85
"""Of the time that a login is good for; then it is renewed."""
SECURITY_HINT = "A TLS or SASL listener takes --command-config FILE, a client.properties that says how."
Buffer = bytes | bytearray | memoryview
Versions = tuple[int, int]
ANY_VERSION: Versions = (0, 0x7FFF)
_CLIENT_ID = "stepdown-cli"


class BrokerClient:
    """A connection to one broker.

    Raises:
        CommandFailed: from every method, when the broker cannot be reached or does not answer as it should.
    """

    def __init__(
        self, address: HostPort, timeout_seconds: float = TIMEOUT_SECONDS, security: Security | None = None
    ) -> None:
        self._address, self._timeout_seconds, self._security = address, timeout_seconds, security
        self._correlation_id = 0
        self._parser = FrameParser(MAX_RESPONSE_BYTES)
        self._logged_in_until: float | None = None
        try:
            self._socket = socket.create_connection((self._host, address.port), timeout_seconds)
        except OSError as fault:
            hint = "Start one with `stepdown serve`, or name another with --bootstrap-server HOST:PORT."
            raise CommandFailed(f"no broker answers at {address}: {fault.strerror or fault}", hint) from fault
        try:
            self._agree_on_tls()
            self._versions = self._ask_versions()
            self._log_in()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> BrokerClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def another(self, address: HostPort, timeout_seconds: float | None = None) -> BrokerClient:
        """A connection to another broker of the cluster, with the same security."""
        return BrokerClient(address, timeout_seconds or self._timeout_seconds, self._security)

    def version_of(self, key: ApiKey, among: Versions = ANY_VERSION) -> int:
        """The newest version of an API that both sides speak, of those `among` which the command can choose."""
        spec = API[key]
        low, high = self._versions.get(key, (0, -1))
        version = min(high, spec.max_version, among[1])
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
        return self.exchange(key, version, make_request(version))

    def exchange(self, key: ApiKey, version: int, request: Any) -> Any:
        """The response to a request in that version."""
        spec = API[key]
        self._correlation_id += 1
        pieces = encode_request(spec, version, self._correlation_id, _CLIENT_ID, request)
        sent = b"".join(piece for piece in pieces if isinstance(piece, bytes | bytearray | memoryview))
        frame = self._answer(spec.name, sent)
        try:
            correlation_id, response = decode_response(spec, version, frame)
        except MalformedFrame as fault:
            raise self._no_kafka(spec.name, fault) from fault
        if correlation_id != self._correlation_id:
            raise CommandFailed(f"{self._address} answered request {correlation_id} instead of {self._correlation_id}")
        return response

    def exchange_bare(self, token: bytes) -> bytes:
        """What comes back for a token of a login; both have their size in front."""
        return bytes(self._answer("the login", len(token).to_bytes(_SIZE_BYTES, "big") + token))

    @property
    def _host(self) -> str:
        return self._address.host or "127.0.0.1"

    def _agree_on_tls(self) -> None:
        context = self._security.tls if self._security is not None else None
        if not isinstance(context, ssl.SSLContext):
            return
        from ...producer.network.connection import tls_fault

        try:
            self._socket = context.wrap_socket(self._socket, server_hostname=self._host)
        except ssl.SSLError as fault:
            hint = "Is it a TLS listener, and is its certificate signed by what ssl.truststore.location holds?"
            raise CommandFailed(f"{self._address}: {tls_fault(fault)}", hint) from fault
        except OSError as fault:
            raise self._broken(fault) from fault

    def _log_in(self) -> None:
        if self._security is None or self._security.sasl is None:
            return
        from ...producer.errors import AuthenticationFailed
        from ...producer.security.blocking_login import log_in

        try:
            lifetime_ms = log_in(self, self._security.sasl, self._versions)
        except AuthenticationFailed as fault:
            raise CommandFailed(f"{self._address}: {fault}") from fault
        self._logged_in_until = monotonic() + lifetime_ms / 1000 * LOGIN_USE if lifetime_ms > 0 else None

    def _ask_versions(self) -> dict[int, tuple[int, int]]:
        spec = API[ApiKey.API_VERSIONS]
        request = spec.request(client_software_name="stepdown-cli", client_software_version=__version__)
        # v0 is what every broker since 0.10 can read.
        response = self.exchange(ApiKey.API_VERSIONS, 0, request)
        if response.error_code:
            raise CommandFailed(f"the broker at {self._address} refused ApiVersions: {error_name(response.error_code)}")
        return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}

    def _answer(self, name: str, sent: bytes) -> memoryview:
        try:
            self._socket.sendall(sent)
            return self._receive()
        except TimeoutError as fault:
            raise CommandFailed(f"the broker at {self._address} did not answer {name} in time") from fault
        except OSError as fault:
            raise self._broken(fault) from fault
        except MalformedFrame as fault:
            raise self._no_kafka(name, fault) from fault

    def _broken(self, fault: OSError) -> CommandFailed:
        hint = SECURITY_HINT if self._security is None else ""
        return CommandFailed(f"the connection to {self._address} broke: {fault.strerror or fault}", hint)

    def _no_kafka(self, name: str, fault: MalformedFrame) -> CommandFailed:
        hint = f"Is a Kafka broker listening there? {SECURITY_HINT}"
        return CommandFailed(f"{self._address} answered {name} with what is no Kafka: {fault}", hint)

    def _receive(self) -> memoryview:
        while (frame := self._parser.next_frame()) is None:
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise ConnectionResetError("the broker closed it")
            self._parser.feed(data)
        return frame


def error_name(code: int) -> str:
    """The name of a wire error code; the number where the code is unknown."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
