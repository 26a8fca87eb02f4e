"""A small blocking client that asks brokers for a test: one connection a broker, versions agreed by ApiVersions."""

import socket
import ssl
from collections.abc import Iterable, Mapping
from threading import RLock
from typing import Any

from .. import __version__
from ..producer.security.blocking_login import log_in
from ..producer.security.settings import Security
from ..protocol.api import API, ApiKey, ApiSpec, spec_of_request
from ..protocol.errors import ErrorCode
from ..protocol.frame import FrameParser, decode_response, encode_request
from ..protocol.messages.api_versions import ApiVersionsRequest
from ..protocol.messages.find_coordinator import FindCoordinatorRequest
from ..protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic

CLIENT_ID = "stepdown-testing"
TIMEOUT_S = 30.0
OPEN = Security()
SIZE_BYTES = 4
MOST_BYTES = 256 << 20
READ_BYTES = 65_536
GROUP, TRANSACTION = 0, 1

Address = tuple[str, int]


class KafkaError(Exception):
    """A broker answered with an error code."""

    def __init__(self, what: str, code: int, message: str | None = None) -> None:
        self.code = error_name(code)
        super().__init__(f"{what}: {self.code}" + (f": {message}" if message else ""))


def error_name(code: int) -> str:
    """The name of a wire error code; the number where the code is unknown."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def check(what: str, answer: Any) -> None:
    """Raises KafkaError if the answer, or the part of one, has an error code."""
    if answer.error_code:
        raise KafkaError(what, answer.error_code, getattr(answer, "error_message", None))


class Connection:
    """One connection, one request at a time. Raises OSError from `call` when the broker hangs up or is silent."""

    def __init__(self, address: Address, security: Security = OPEN, timeout_s: float = TIMEOUT_S) -> None:
        """Raises: OSError, AuthenticationFailed."""
        self._socket = socket.create_connection(address, timeout_s)
        self._parser = FrameParser(MOST_BYTES)
        self._number = 0
        try:
            if isinstance(security.tls, ssl.SSLContext):
                self._socket = security.tls.wrap_socket(self._socket, server_hostname=address[0])
            asked = ApiVersionsRequest(client_software_name=CLIENT_ID, client_software_version=__version__)
            answer = self._exchange(API[ApiKey.API_VERSIONS], 0, asked)
            self._versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
            if security.sasl is not None:
                log_in(self, security.sasl, self._versions)
        except BaseException:
            self._socket.close()
            raise

    def call(self, request: Any, most: int = 0x7FFF) -> Any:
        """The response, in the newest version that both sides speak, `most` at most."""
        spec = spec_of_request(request)
        return self._exchange(spec, min(self._versions.get(spec.key, (0, 0))[1], spec.max_version, most), request)

    def exchange(self, key: ApiKey, version: int, request: Any) -> Any:
        """The response of a step of the login."""
        return self._exchange(API[key], version, request)

    def exchange_bare(self, token: bytes) -> bytes:
        """What comes back for a token of the login; both have their size in front."""
        return bytes(self._answer(len(token).to_bytes(SIZE_BYTES, "big") + token, "the login"))

    def close(self) -> None:
        self._socket.close()

    def _exchange(self, spec: ApiSpec, version: int, request: Any) -> Any:
        self._number += 1
        pieces = encode_request(spec, version, self._number, CLIENT_ID, request)
        frame = self._answer(b"".join(pieces), spec.name)  # type: ignore[arg-type]  # a request is bytes
        return decode_response(spec, version, frame)[1]

    def _answer(self, sent: bytes, name: str) -> memoryview:
        self._socket.sendall(sent)
        while (frame := self._parser.next_frame()) is None:
            data = self._socket.recv(READ_BYTES)
            if not data:
                raise ConnectionResetError(f"the broker closed the connection instead of answering {name}")
            self._parser.feed(data)
        return frame


class WireClient:
    """Asks any broker, the leader of a partition, or the coordinator of a group. May be used by several threads."""

    def __init__(self, bootstrap: str, security: Security = OPEN) -> None:
        self._security = security
        self._bootstrap = [parse_address(each) for each in bootstrap.split(",")]
        self._open: dict[Address, Connection] = {}
        self._nodes: dict[int, Address] = {}
        self._lock = RLock()

    def close(self) -> None:
        with self._lock:
            for connection in self._open.values():
                connection.close()
            self._open.clear()

    def call(self, request: Any, most: int = 0x7FFF, *, node: int | None = None) -> Any:
        """The response of that node, or of the first broker that answers. Raises: OSError."""
        with self._lock:
            if node is not None:
                if node not in self._nodes:
                    self._look_up(())
                return self._ask(self._nodes[node], request, most)
            for address in self._bootstrap[:-1]:
                try:
                    return self._ask(address, request, most)
                except OSError:
                    continue
            return self._ask(self._bootstrap[-1], request, most)

    def leaders(self, topic: str) -> dict[int, int]:
        """The leader of each partition. Raises: KafkaError."""
        (found,) = self._look_up((topic,))
        check(f"topic {topic}", found)
        return {
            each.partition_index: each.leader_id for each in sorted(found.partitions, key=lambda p: p.partition_index)
        }

    def coordinator(self, name: str, kind: int = GROUP) -> int:
        """The node that coordinates a group or transactional id. Raises: KafkaError."""
        answer = self.call(FindCoordinatorRequest(key=name, key_type=kind), 3)
        check(f"the coordinator of {name}", answer)
        self._nodes[answer.node_id] = (answer.host, answer.port)
        return int(answer.node_id)

    def _look_up(self, topics: Iterable[str]) -> list[MetadataResponseTopic]:
        asked = tuple(MetadataRequestTopic(name=name) for name in topics)
        answer = self.call(MetadataRequest(topics=asked, allow_auto_topic_creation=False), 9)
        self._nodes = {each.node_id: (each.host, each.port) for each in answer.brokers}
        return list(answer.topics)

    def _ask(self, address: Address, request: Any, most: int) -> Any:
        """As `call`; a connection that was kept and broke meanwhile is made anew once."""
        kept = self._open.pop(address, None)
        if kept is not None:
            try:
                return self._ask_on(address, kept, request, most)
            except ConnectionError:
                kept = None
        return self._ask_on(address, Connection(address, self._security), request, most)

    def _ask_on(self, address: Address, connection: Connection, request: Any, most: int) -> Any:
        try:
            answer = connection.call(request, most)
        except BaseException:
            connection.close()
            raise
        self._open[address] = connection
        return answer


def parse_address(text: str) -> Address:
    """Host and port. Raises: ValueError."""
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"expected HOST:PORT, found {text!r}")
    return host.strip("[]"), int(port)


def by_node(leaders: Mapping[int, int]) -> dict[int, list[int]]:
    """The partitions of each leader."""
    found: dict[int, list[int]] = {}
    for partition, node in leaders.items():
        found.setdefault(node, []).append(partition)
    return found
