"""What answers the requests of a connection."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from ..protocol.schema import Piece
from .instruments import RequestMeter
from .memory_budget import Claim
from .peer import Peer


class CloseConnection(Exception):
    """Closes the connection, after sending `last`, an encoded answer, if there is one. The message says why."""

    def __init__(self, reason: str, *, last: bytes = b"") -> None:
        super().__init__(reason)
        self.last = last


@dataclass(slots=True)
class Reply:
    """A response in pieces, or None if the request has none.

    `meter` counts it. `began_s`: when its request came. `ready_s`: when it was ready. `throttle_ms`: how long the
    connection is muted after it. `claim`: the memory that it is charged with.
    """

    pieces: list[Piece] | None
    meter: RequestMeter
    began_s: float
    ready_s: float
    throttle_ms: int = 0
    claim: Claim | None = None


class Answerer(Protocol):
    """Turns a frame into its reply, or a coroutine of it."""

    def answer(self, frame: memoryview, peer: Peer) -> Reply | Coroutine[Any, Any, Reply]: ...
