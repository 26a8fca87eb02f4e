"""One request on its way through its handler."""

from dataclasses import dataclass
from typing import Any

from ...protocol.api import ApiKey
from ...protocol.frame import RequestHeader
from ..quotas.throttle_time import UNLIMITED, RequestQuota
from ..security.authorization.access import EVERYTHING, Access
from ..security.principal import KafkaPrincipal
from .connection import Peer


@dataclass(slots=True, kw_only=True)
class Call:
    """A request, read. `waited_s` is the part of its time that a purgatory held it; `access`, what it may do;
    `quota`, how much, and `throttle_ms`, for how long its client is not listened to after it."""

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

    @property
    def client_id(self) -> str:
        return self.header.client_id or ""

    @property
    def principal(self) -> KafkaPrincipal:
        """Who asks."""
        return self.peer.principal
