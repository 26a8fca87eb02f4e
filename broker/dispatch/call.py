"""One request on its way through its handler."""

from collections.abc import Hashable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from ...network.connection import Peer
from ...network.principal import KafkaPrincipal
from ...protocol.api import ApiKey
from ...protocol.frame import RequestHeader
from ..quotas.request_charging import UNLIMITED, RequestQuota
from ..security.authorization.access import EVERYTHING, Access
from .requests_in_parts import Names, named_twice


@dataclass(slots=True)
class Call:
    """A request, read. `waited_s` is the part of its time that a purgatory held it; `access`, what it may do;
    `quota`, how much, and `throttle_ms`, for how long its client is not listened to after it. `repeated` is what the
    whole request names more than once where `request` is a part of it."""

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
    repeated: AbstractSet[Hashable] | None = None

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

    def repeats(self, names: Names) -> AbstractSet[Hashable]:
        """What the whole request names more than once."""
        return named_twice(names(self.request)) if self.repeated is None else self.repeated
