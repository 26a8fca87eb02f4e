"""SaslHandshake, versions 0-1 (KIP-43, 152, 368): begins a login, or another one on the same connection.

A mechanism that is not enabled is answered UNSUPPORTED_SASL_MECHANISM with those that are, and the connection closed.
Where nobody logs in, or when the login is done: ILLEGAL_SASL_STATE. Version notes: after v0 bare tokens follow, after
v1 SaslAuthenticate.
"""

from typing import TYPE_CHECKING

from ...network.sasl.answers import answer_handshake
from ...protocol.errors import ApiError
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(services: "Services", request: SaslHandshakeRequest, call: Call) -> SaslHandshakeResponse:
    return answer_handshake(call.peer.sasl, request, call.version)


def refuse(request: SaslHandshakeRequest, error: ApiError, call: Call) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=error.code)
