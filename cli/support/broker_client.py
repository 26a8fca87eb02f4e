"""A small blocking client for the commands: one connection, one request at a time, versions agreed by ApiVersions."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ... import __version__
from ...config import HostPort
from ...protocol.api import API, ApiKey, ApiSpec
from ...protocol.errors import ErrorCode, MalformedFrame
from ...protocol.frame import FrameParser, decode_response, encode_request
from .failures import CommandFailed

DEFAULT_PORT = 9092
TIMEOUT_SECONDS = 30.0
MAX_RESPONSE_BYTES = 100 * 1024 * 1024
_READ_BYTES = 65_536
Buffer = bytes | bytearray | memoryview
Versions = tuple[int, int]
ANY_VERSION: Versions = (0, 0x7FFF)
_CLIENT_ID = "stepdown-cli"


class BrokerClient:
    """A connection to one broker.

    Raises:
        CommandFailed: from every method, when the broker cannot be reached or does not answer as it should.
    """

    def __init__(self, address: HostPort, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._address = address
        self._correlation_id = 0
        self._parser = FrameParser(MAX_RESPONSE_BYTES)
        try:
            self._socket = socket.create_connection((address.host or "127.0.0.1", address.port), timeout_seconds)
        except OSError as fault:
            hint = "Start one with `stepdown serve`, or name another with --bootstrap-server HOST:PORT."
            raise CommandFailed(f"no broker answers at {address}: {fault.strerror or fault}", hint) from fault
        try:
            self._versions = self._ask_versions()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> BrokerClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

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
        return self._exchange(API[key], version, make_request(version))

    def _ask_versions(self) -> dict[int, tuple[int, int]]:
        spec = API[ApiKey.API_VERSIONS]
        request = spec.request(client_software_name="stepdown-cli", client_software_version=__version__)
        # v0 is what every broker since 0.10 can read.
        response = self._exchange(spec, 0, request)
        if response.error_code:
            raise CommandFailed(f"the broker at {self._address} refused ApiVersions: {error_name(response.error_code)}")
        return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}

    def _exchange(self, spec: ApiSpec, version: int, request: Any) -> Any:
        self._correlation_id += 1
        pieces = encode_request(spec, version, self._correlation_id, _CLIENT_ID, request)
        try:
            self._socket.sendall(
                b"".join(piece for piece in pieces if isinstance(piece, bytes | bytearray | memoryview))
            )
            frame = self._receive()
            correlation_id, response = decode_response(spec, version, frame)
        except TimeoutError as fault:
            raise CommandFailed(f"the broker at {self._address} did not answer {spec.name} in time") from fault
        except OSError as fault:
            raise CommandFailed(f"the connection to {self._address} broke: {fault.strerror or fault}") from fault
        except MalformedFrame as fault:
            hint = "Is a Kafka broker listening there, without TLS?"
            raise CommandFailed(f"{self._address} answered {spec.name} with what is no Kafka: {fault}", hint) from fault
        if correlation_id != self._correlation_id:
            raise CommandFailed(f"{self._address} answered request {correlation_id} instead of {self._correlation_id}")
        return response

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
