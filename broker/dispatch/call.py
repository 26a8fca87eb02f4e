"""One request on its way through its handler."""

from dataclasses import dataclass
from typing import Any

from ...network.peer import Peer
from ...network.principal import KafkaPrincipal
from ...network.turn import Turn
from ...protocol.api import ApiKey
from ...protocol.frame import RequestHeader
from ..quotas.request_charging import UNLIMITED, RequestQuota
from ..security.authorization.access import EVERYTHING, Access

TESTS_CLIENT_ID = "stepdown-testing"
"""The client id of a test's own requests: only faults that name it apply, and all versions are served."""
FEW_BYTES = 4 * 1024


@dataclass(slots=True)
class Call:
    """A decoded request, and what its handler needs besides.

    `waited_s`: how long it was in a purgatory. `access`: the rights of its user. `quota`: how much the client may send.
    `throttle_ms`: how long its connection is not read after the answer. `has_many_items`: a worker thread reads it or
    writes its answer.
    """

    key: ApiKey
    version: int
    header: RequestHeader
    peer: Peer
    request: Any
    request_bytes: int
    waited_s: float = 0.0
    access: Access = EVERYTHING
    quota: RequestQuota = UNLIMITED
    throttle_ms: int = 0
    has_many_items: bool = False

    @property
    def client_id(self) -> str:
        return self.header.client_id or ""

    @property
    def principal(self) -> KafkaPrincipal:
        """Who asks."""
        return self.peer.principal

    @property
    def requester(self) -> str:
        """Who asks, and from which address, as the log names it."""
        return f"{self.principal} at {self.peer.host}"

    @property
    def is_small(self) -> bool:
        """Whether its bytes are too few for many items."""
        return self.request_bytes <= FEW_BYTES

    @property
    def turn(self) -> Turn:
        """Loops over the request's items, or over its answers, await this turn after each of them.

        Not for handlers that wait for other requests: a turn may take one of the few places for long requests.
        """
        return self.peer.turn
