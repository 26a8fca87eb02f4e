"""The TLS handshake of a connection: uses the current context, and finds the user by the certificate."""

import ssl

from ..answerer import CloseConnection
from ..memory_budget import MemoryBudget
from .contexts import TlsContexts
from .principal_rules import map_to_user
from .subject import distinguished_name
from .tls_wire import HandshakeFailed, TlsWire


async def shake_hands(wire: TlsWire, contexts: TlsContexts, memory: MemoryBudget, owner: str) -> str | None:
    """Returns the user by the client's certificate, None if it has none. `owner`: as in `MemoryBudget.claim`.

    Raises: CloseConnection if the handshake fails, OSError when the peer has gone.
    """
    try:
        tls = await wire.handshake(contexts.current, memory, owner)
        return _find_user(tls, contexts)
    except (HandshakeFailed, ValueError) as fault:
        raise CloseConnection(f"TLS handshake failed: {fault}") from None


def _find_user(tls: ssl.SSLObject, contexts: TlsContexts) -> str | None:
    """Raises: ValueError if no rule gives a user for the certificate."""
    certificate = tls.getpeercert(binary_form=True)
    return None if certificate is None else map_to_user(distinguished_name(certificate), contexts.principal_rules)
