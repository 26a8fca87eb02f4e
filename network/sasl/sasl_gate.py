"""Handles a connection's requests until SASL authentication is done, and again when the session expires.

    ApiVersions? SaslHandshake v0   bare tokens: int32 size and bytes, both ways; a failure only hangs up
    ApiVersions? SaslHandshake v1   SaslAuthenticate, until it is done

A second ApiVersions is accepted only if the first had an unknown version. Any other request before the end of the login
closes the connection. After a failure the answer is sent with a delay, then the connection is closed. An expired
session is closed at its next request, unless that is the SaslHandshake of a re-authentication (KIP-368). Source: Kafka
3.9 `SaslServerAuthenticator`, `SocketServer.processCompletedReceives`.
"""

import struct
from collections.abc import Callable, Coroutine
from contextlib import suppress
from time import perf_counter
from typing import Any

from ...protocol.api import ApiKey, UnsupportedApi, spec_of
from ...protocol.errors import MalformedFrame
from ...protocol.frame import decode_request_header
from ...protocol.kafka_releases import api_name
from ..answerer import Answerer, CloseConnection, Reply
from ..clock import Clock
from ..instruments import RequestMeter
from ..peer import Peer
from .exchange import SaslExchange, SaslState
from .mechanism import Refused

MOST_NAME = 100
MOST_VERSION_REQUESTS = 2
NO_LOGIN = (
    ": the client speaks PLAINTEXT or SSL, without a login; all clients of a listener speak its security.protocol"
)

_KEY_AND_VERSION = struct.Struct(">hh")
_SIZE = struct.Struct(">i")
_BEFORE = {
    SaslState.HANDSHAKE: (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE),
    SaslState.TOKENS: (ApiKey.SASL_AUTHENTICATE,),
}


class SaslGate:
    """The answerer of one connection. `inside` answers once the login is done. `on_authenticated` is called at the
    first success.
    """

    def __init__(
        self,
        exchange: SaslExchange,
        inside: Answerer,
        clock: Clock,
        failure_delay_ms: int,
        meter_of_tokens: Callable[[], RequestMeter],
        on_authenticated: Callable[[], None],
    ) -> None:
        self._exchange = exchange
        self._inside = inside
        self._clock = clock
        self._failure_delay_ms = failure_delay_ms
        self._meter_of_tokens = meter_of_tokens
        self._on_authenticated: Callable[[], None] | None = on_authenticated
        self._version_requests_left = MOST_VERSION_REQUESTS

    def answer(self, frame: memoryview, peer: Peer) -> Reply | Coroutine[Any, Any, Reply]:
        exchange = self._exchange
        if exchange.state is SaslState.DONE and not self._try_begin_reauthentication(frame):
            return self._inside.answer(frame, peer)
        if exchange.state is SaslState.TOKENS and exchange.takes_bare_tokens:
            return self._answer_token(frame, peer)
        if len(frame) < _KEY_AND_VERSION.size:
            raise CloseConnection("no request, and no login")
        key, version = _KEY_AND_VERSION.unpack_from(frame)
        if key not in _BEFORE.get(exchange.state, ()):
            raise CloseConnection(self._describe_early_request(key, frame, peer))
        if key == ApiKey.API_VERSIONS:
            self._check_version_request(version)
        reply = self._inside.answer(frame, peer)
        if isinstance(reply, Reply) and exchange.state is not SaslState.FAILED:
            self._update_peer(peer)
            return reply
        return self._reply_or_close(reply, peer)

    def _check_version_request(self, version: int) -> None:
        """Raises: CloseConnection."""
        if not self._version_requests_left:
            raise CloseConnection("ApiVersions again before the login is done")
        is_known = version <= spec_of(ApiKey.API_VERSIONS).max_version
        self._version_requests_left = 0 if is_known else self._version_requests_left - 1

    def _describe_early_request(self, key: int, frame: memoryview, peer: Peer) -> str:
        """Why the request is not answered. Takes the client id from its header, for the log."""
        if key not in ApiKey.__members__.values():
            return "not a Kafka request, and the login is not done; perhaps Kerberos (GSSAPI), which is not offered"
        with suppress(MalformedFrame, UnsupportedApi):
            peer.client_id = (decode_request_header(frame)[0].client_id or "")[:MOST_NAME]
        hint = "" if self._exchange.state is not SaslState.HANDSHAKE else NO_LOGIN
        return f"{api_name(key)} before the login is done{hint}"

    def _try_begin_reauthentication(self, frame: memoryview) -> bool:
        exchange = self._exchange
        key = _KEY_AND_VERSION.unpack_from(frame)[0] if len(frame) >= _KEY_AND_VERSION.size else -1
        if key == ApiKey.SASL_HANDSHAKE and exchange.try_begin_reauthentication():
            return True
        if exchange.has_expired:
            raise CloseConnection("its session has expired and was not renewed")
        return False

    async def _reply_or_close(self, reply: Reply | Coroutine[Any, Any, Reply], peer: Peer) -> Reply:
        """Returns the reply; after a failure, raises CloseConnection with the reply as the last answer."""
        done = reply if isinstance(reply, Reply) else await reply
        if self._exchange.state is SaslState.FAILED:
            await self._clock.sleep(self._failure_delay_ms)
            raise CloseConnection(self._describe_failure(), last=b"".join(done.pieces or ()))  # type: ignore[arg-type]
        self._update_peer(peer)
        return done

    def _answer_token(self, frame: memoryview, peer: Peer) -> Reply | Coroutine[Any, Any, Reply]:
        began = perf_counter()
        try:
            token, _ = self._exchange.step(frame)
        except Refused:
            return self._close_after_delay()
        self._update_peer(peer)
        meter = self._meter_of_tokens()
        meter.observe_handling(len(frame), perf_counter() - began, 0.0)
        return Reply([_SIZE.pack(len(token)) + token], meter, began, perf_counter())

    async def _close_after_delay(self) -> Reply:
        await self._clock.sleep(self._failure_delay_ms)
        raise CloseConnection(self._describe_failure())

    def _describe_failure(self) -> str:
        by = f" by {self._exchange.mechanism}" if self._exchange.mechanism else ""
        return f"authentication{by} failed: {self._exchange.refusal}"

    def _update_peer(self, peer: Peer) -> None:
        """Shortens the names that the client gave itself; sets the principal once the login is done."""
        peer.client_id = peer.client_id[:MOST_NAME]
        peer.software_name, peer.software_version = peer.software_name[:MOST_NAME], peer.software_version[:MOST_NAME]
        if self._exchange.principal is not None and self._exchange.state is SaslState.DONE:
            peer.principal = self._exchange.principal
            if self._on_authenticated is not None:
                self._on_authenticated()
                self._on_authenticated = None
