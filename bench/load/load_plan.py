"""What a load does: the bytes of all requests, ready, by connection."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """After `after_bytes` of its first answer a reader takes nothing for `seconds`."""

    after_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRequests:
    """What one connection sends, and how fast.

    `error_at`: where an answer's error code stands, counted from its size field; None: unread.

    `pace_s`: the least time between two requests, so that a connection asks as often of a slow server as of a fast one.
    """

    requests: tuple[bytes, ...]
    in_flight: int = 1
    error_at: int | None = None
    stall: Stall | None = None
    pace_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What all requests of a plan are, for the events of a journal: `client` names API and version."""

    kind: Literal["fetch", "produce"]
    client: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """Ends after `seconds`, or after `responses` of each connection; what is in flight is waited for and counted.

    `authority`: the file of an authority's certificate, for connections with TLS.
    """

    address: str
    authority: str = ""
    connections: tuple[ConnectionRequests, ...]
    asking: Asking
    seconds: float | None = None
    responses: int | None = None
