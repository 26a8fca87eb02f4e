"""A small blocking client that asks brokers for a test: one connection a broker, versions agreed by ApiVersions."""

import ssl
from collections.abc import Iterable, Mapping
from threading import RLock
from typing import Any

from ..client.connection import ANY_VERSION, Address, Connection, parse_address
from ..client.security.settings import Security
from ..protocol.api import spec_of_request
from ..protocol.errors import error_name
from ..protocol.messages.find_coordinator import FindCoordinatorRequest
from ..protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic

CLIENT_ID = "stepdown-testing"
OPEN = Security()
GROUP, TRANSACTION = 0, 1


class KafkaError(Exception):
    """A broker answered with an error code."""

    def __init__(self, what: str, code: int, message: str | None = None) -> None:
        self.code = error_name(code)
        super().__init__(f"{what}: {self.code}" + (f": {message}" if message else ""))


def check(what: str, answer: Any) -> None:
    """Raises KafkaError if the answer, or the part of one, has an error code."""
    if answer.error_code:
        raise KafkaError(what, answer.error_code, getattr(answer, "error_message", None))


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

    def call(self, request: Any, most: int = ANY_VERSION, *, node: int | None = None) -> Any:
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
        return self._ask_on(address, self._connect(address), request, most)

    def _connect(self, address: Address) -> Connection:
        """Raises: OSError, AuthenticationFailed."""
        connection = Connection(address, client_id=CLIENT_ID)
        try:
            if isinstance(self._security.tls, ssl.SSLContext):
                connection.start_tls(self._security.tls, address[0])
            connection.agree_on_versions()
            if self._security.sasl is not None:
                connection.log_in(self._security.sasl)
        except BaseException:
            connection.close()
            raise
        return connection

    def _ask_on(self, address: Address, connection: Connection, request: Any, most: int) -> Any:
        try:
            version = max(0, connection.newest(spec_of_request(request), most))
            answer = connection.exchange(request, version)
        except BaseException:
            connection.close()
            raise
        self._open[address] = connection
        return answer


def by_node(leaders: Mapping[int, int]) -> dict[int, list[int]]:
    """The partitions of each leader."""
    found: dict[int, list[int]] = {}
    for partition, node in leaders.items():
        found.setdefault(node, []).append(partition)
    return found
