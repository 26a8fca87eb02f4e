"""Sets up an accepted connection: its transport, its TLS handshake, and the SASL exchange before the first request.

Each listener has one `ListenerAdmission`. They share one budget for connections that are not authenticated: any number
of them costs `MEMORY_BYTES`, and about 20 KiB for each connection.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from ...config.listener_security import ListenerSecurity, SaslSettings
from ...protocol.errors import DiskFault
from ..answerer import Answerer
from ..clock import Clock, Timer
from ..connection import Connection
from ..instruments import Counters, RequestMeter
from ..principal import USER_TYPE, KafkaPrincipal
from ..sasl.exchange import SaslExchange
from ..sasl.mechanism import Mechanism
from ..sasl.mechanisms import CredentialOf, make_exchange_makers
from ..sasl.sasl_gate import SaslGate
from ..transport import PlainTransport
from .address_budget import AddressBudget
from .peer_log_limit import PeerLogLimit

if TYPE_CHECKING:
    from ...protocol.tls_records import TlsBuffers
    from ..tls.contexts import ListenerTlsContext
    from ..tls.tls_wire import TlsWire

MEMORY_BYTES = 4 << 20
PATIENCE_MS = 1_000
"""While others wait for that memory, a handshake or login that is idle for longer is closed."""

log = logging.getLogger(__name__)


class SharedByListenerAdmissions:
    """What all listeners with TLS or SASL share."""

    def __init__(
        self,
        failed_authentications: Counters,
        meter_of: Callable[[str, int], RequestMeter],
        clock: Clock,
        timeout_ms: int,
        credential_of: CredentialOf,
        lines: PeerLogLimit,
    ) -> None:
        """`meter_of` returns the meter for an API's name and version."""
        self.failed_authentications = failed_authentications
        self.meter_of = meter_of
        self.clock = clock
        self.timeout_ms = timeout_ms
        self.credential_of = credential_of
        self.lines = lines
        self.memory = AddressBudget(MEMORY_BYTES, clock=clock, patience_ms=PATIENCE_MS)
        self.tls_buffers: TlsBuffers | None = None  # made for the first wire with TLS

    def make_admission(self, name: str, security: Callable[[], ListenerSecurity]) -> "ListenerAdmission":
        """Raises: DiskFault when its keys and certificates cannot be used."""
        return ListenerAdmission(name, security, self)


class ListenerAdmission:
    """Authenticates connections of one listener. `security` returns the current settings."""

    def __init__(self, name: str, security: Callable[[], ListenerSecurity], shared: SharedByListenerAdmissions) -> None:
        self._name = name
        self._shared = shared
        self._security = security
        self._sasl = security().sasl
        self._mechanisms = self._make_mechanisms(self._sasl)
        self._token_meter: RequestMeter | None = None
        self._tls_context = self._make_tls_context(security)

    def _make_mechanisms(self, sasl: SaslSettings | None) -> Mapping[str, Callable[[], Mechanism]]:
        """Raises: DiskFault."""
        return {} if sasl is None else make_exchange_makers(sasl, self._shared.credential_of, self._shared.clock)

    def _refresh_mechanisms(self) -> Mapping[str, Callable[[], Mechanism]]:
        """Returns the mechanisms of the current settings; if these cannot be made, logs that and returns the former
        ones.
        """
        wanted = self._security().sasl
        if wanted is not self._sasl:
            before, self._sasl = self._sasl, wanted
            if wanted != before:
                try:
                    self._mechanisms = self._make_mechanisms(wanted)
                except DiskFault as fault:
                    log.error("listener %s: %s; the mechanisms from before stay in use", self._name, fault)
        return self._mechanisms

    def _make_tls_context(self, security: Callable[[], ListenerSecurity]) -> "ListenerTlsContext | None":
        if security().tls is None:
            return None
        from ..tls import contexts

        return contexts.ListenerTlsContext(self._name, lambda: security().tls, self._shared.clock)

    def make_transport(self, sock: socket.socket, loop: asyncio.AbstractEventLoop) -> PlainTransport:
        if self._tls_context is None:
            return PlainTransport(sock, loop)
        from ...protocol.tls_records import TlsBuffers
        from ..tls.tls_wire import TlsWire

        if self._shared.tls_buffers is None:
            self._shared.tls_buffers = TlsBuffers()
        return TlsWire(sock, loop, self._shared.tls_buffers)

    def admit(self, connection: Connection, wire: PlainTransport, inside: Answerer) -> Answerer:
        """Makes the connection authenticate first. Returns the answerer for its frames."""
        peer = connection.peer
        self._refresh_mechanisms()
        sasl = self._sasl
        timer = self._shared.clock.call_later(self._shared.timeout_ms, partial(self._on_login_timeout, connection))
        authenticated = partial(self._cancel_timer_and_unrestrict, connection, timer)
        connection.restrict(sasl.max_token_bytes if sasl is not None else None, self._shared.memory)
        if self._tls_context is not None:
            wire = cast("TlsWire", wire)
            connection.first = partial(self._shake_hands, wire, connection, sasl is None, authenticated)
        connection.at_end = partial(self._end_login, connection, timer)
        if sasl is None:
            return inside
        peer.sasl = exchange = SaslExchange(self._refresh_mechanisms, sasl.max_session_ms, self._shared.clock)
        return SaslGate(
            exchange, inside, self._shared.clock, sasl.failure_delay_ms, self._meter_of_tokens, authenticated
        )

    async def _shake_hands(
        self, wire: "TlsWire", connection: Connection, authenticates: bool, authenticated: Callable[[], None]
    ) -> None:
        """`authenticates`: the handshake is all that is needed, no login follows. Raises: CloseConnection, OSError."""
        from ..tls.tls_handshake import shake_hands

        assert self._tls_context is not None
        peer = connection.peer
        user = await shake_hands(wire, self._tls_context, self._shared.memory, peer.network)
        peer.server_name = wire.server_name
        if user is not None:
            peer.principal = KafkaPrincipal(USER_TYPE, user)
        if authenticates:
            authenticated()
        else:
            connection.asked_ms = self._shared.clock.monotonic_ms()

    def _cancel_timer_and_unrestrict(self, connection: Connection, timer: Timer) -> None:
        timer.cancel()
        connection.unrestrict()

    def _end_login(self, connection: Connection, login_timer: Timer) -> None:
        """Cancels the login timer. Counts the connection as failed if its login, or its re-authentication, did not
        succeed.
        """
        login_timer.cancel()
        sasl = connection.peer.sasl
        if connection.is_restricted or (sasl is not None and sasl.refusal is not None):
            self._shared.failed_authentications.of(self._name, sasl.mechanism if sasl else "").add()

    def _on_login_timeout(self, connection: Connection) -> None:
        line = (
            f"closing {connection.peer} (listener {self._name}): not authenticated within {self._shared.timeout_ms} ms"
        )
        self._shared.lines.warn(log, connection.peer.network, line)
        connection.close()

    def _meter_of_tokens(self) -> RequestMeter:
        """Counts bare tokens as SaslAuthenticate, which later versions put them into."""
        if self._token_meter is None:
            self._token_meter = self._shared.meter_of("SaslAuthenticate", 0)
        return self._token_meter
