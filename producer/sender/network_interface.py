"""The interface between the sender and the network, which tests can replace."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from ...client.versions import VersionRanges
from ...config.keys.endpoints import HostPort
from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from ..errors import ProducerError


class NetworkAnswer(NamedTuple):
    """A response, or why there is none: NETWORK_EXCEPTION, REQUEST_TIMED_OUT. Both None: none was expected.

    `alone`: nothing more was read with it, so there is no reason to wait before acting on it.
    """

    response: Any = None
    failure: ErrorCode | None = None
    latency_ms: int = 0
    alone: bool = False


class NetworkClient(Protocol):
    """Connections to brokers by node id; bootstrap servers have ids below 0."""

    def ready(self, node_id: int, address: HostPort, now_ms: int) -> bool:
        """Returns whether a request can be sent now; connects if there is no connection and the backoff is over."""

    def versions(self, node_id: int) -> VersionRanges:
        """What a connected broker speaks."""

    def send(
        self,
        node_id: int,
        key: ApiKey,
        version: int,
        request: Any,
        done: Callable[[NetworkAnswer], None],
        *,
        answered: bool,
    ) -> None:
        """Sends; `done` is called once, later. Without `answered` that is when the request is written.

        `request` is a message, or a Produce request as `RequestFromTemplate`; that may be answered by `BatchAnswer`.
        """

    def flush_and_expire(self, now_ms: int) -> int:
        """Writes what was sent, ends what takes or idles too long; returns in how many ms it has to be called again."""

    def sort_by_load(self, nodes: Iterable[int]) -> list[int]:
        """Those nodes, the best to ask first: connected and idle ones, then unconnected, then those that failed."""

    def failures(self) -> Mapping[HostPort, str]:
        """Why connecting failed the last time, by address."""

    @property
    def fault(self) -> ProducerError | None:
        """Why no broker will ever be reached."""

    @property
    def in_flight(self) -> int:
        """Requests without answer, on all connections."""

    def close(self) -> None: ...
