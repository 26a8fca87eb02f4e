"""The TLS handshake of a connection: uses the current context, and finds the user by the certificate."""

import ssl

from ..answerer import CloseConnection
from ..memory_budget import MemoryBudget
from .contexts import ListenerTlsContext
from .principal_rules import map_to_user
from .subject import distinguished_name
from .tls_wire import HandshakeFailed, TlsWire


async def shake_hands(wire: TlsWire, tls_context: ListenerTlsContext, memory: MemoryBudget, owner: str) -> str | None:
    """Returns the user by the client's certificate, None if it has none. `owner`: as in `MemoryBudget.claim`.

    Raises: CloseConnection if the handshake fails, OSError when the peer has gone.
    """
    try:
        tls = await wire.handshake(tls_context.current, memory, owner)
        return _find_user(tls, tls_context)
    except (HandshakeFailed, ValueError) as fault:
        raise CloseConnection(f"TLS handshake failed: {fault}") from None


def _find_user(tls: ssl.SSLObject, tls_context: ListenerTlsContext) -> str | None:
    """Raises: ValueError if no rule gives a user for the certificate."""
    certificate = tls.getpeercert(binary_form=True)
    return None if certificate is None else map_to_user(distinguished_name(certificate), tls_context.principal_rules)
