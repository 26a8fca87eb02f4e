"""The login on a connection whose calls wait for their answers, as those of commands and tests do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...protocol.api import ApiKey
from ..errors import AuthenticationFailed
from ..sender.network_interface import Answer, VersionRanges
from .login import Login
from .settings import Sasl


class Conversation(Protocol):
    """A connection that is asked one thing at a time."""

    def exchange(self, request: Any, version: int) -> Any:
        """The response."""

    def exchange_bare(self, token: bytes) -> bytes:
        """What comes back for a token; both have their size in front."""


class _Carrier:
    """Calls back before it returns."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def send(self, key: ApiKey, version: int, request: Any, done: Callable[[Answer], None], *, answered: bool) -> None:
        done(Answer(self._conversation.exchange(request, version)))

    def send_bare(self, token: bytes, done: Callable[[bytes], None]) -> None:
        done(self._conversation.exchange_bare(token))


def log_in(conversation: Conversation, sasl: Sasl, versions: VersionRanges) -> int:
    """For how many ms the login is good, 0: for ever. Raises: AuthenticationFailed."""
    ended: list[tuple[AuthenticationFailed | None, int]] = []
    Login(sasl, _Carrier(conversation), lambda fault, lifetime_ms: ended.append((fault, lifetime_ms))).start(versions)
    [(fault, lifetime_ms)] = ended
    if fault is not None:
        raise fault
    return lifetime_ms
