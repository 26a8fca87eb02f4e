"""SaslHandshake, versions 0-1 (KIP-43, 152, 368): begins a login, or another one on the same connection.

A mechanism that is not enabled is answered UNSUPPORTED_SASL_MECHANISM with those that are, and the connection closed.
Where nobody logs in, or when the login is done: ILLEGAL_SASL_STATE. Version notes: after v0 bare tokens follow, after
v1 SaslAuthenticate.
"""

from typing import TYPE_CHECKING

from ...network.sasl.exchange import State
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(broker: "Services", request: SaslHandshakeRequest, call: Call) -> SaslHandshakeResponse:
    exchange = call.peer.sasl
    if exchange is None or exchange.state is not State.HANDSHAKE:
        raise ApiError("this listener has no SASL", ErrorCode.ILLEGAL_SASL_STATE)
    known = exchange.begin(request.mechanism, bare_tokens=call.version == 0)
    code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
    return SaslHandshakeResponse(error_code=code, mechanisms=exchange.enabled)


def refuse(request: SaslHandshakeRequest, error: ApiError, call: Call) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=error.code)
