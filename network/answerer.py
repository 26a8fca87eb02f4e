"""What answers the requests of a connection."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from ..protocol.schema import Piece
from .instruments import RequestMeter
from .memory_budget import Claim
from .peer import Peer


class CloseConnection(Exception):
    """All that is left is to send `last`, an answer that is ready, if any, and to hang up; the message says why."""

    def __init__(self, reason: str, *, last: bytes = b"") -> None:
        super().__init__(reason)
        self.last = last


@dataclass(slots=True)
class Reply:
    """A response in pieces, None when none is due; who counts it, when its request came and when it was ready.

    `throttle_ms`: for how long the peer is not listened to after it. `claim`: the memory that it is charged with.
    """

    pieces: list[Piece] | None
    meter: RequestMeter
    began_s: float
    ready_s: float
    throttle_ms: int = 0
    claim: Claim | None = None


class Answerer(Protocol):
    """Turns a frame into its reply, or into what to await for it; `after_sending` is called when it was sent."""

    def answer(self, frame: memoryview, peer: Peer) -> Reply | Coroutine[Any, Any, Reply]: ...

    def after_sending(self, reply: Reply) -> None: ...
