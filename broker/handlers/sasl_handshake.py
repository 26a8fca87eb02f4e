"""SaslHandshake, versions 0-1 (KIP-43, 152): begins a SASL authentication. None asks for it: ILLEGAL_SASL_STATE."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ..network.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(broker: "Services", request: SaslHandshakeRequest, call: Call) -> SaslHandshakeResponse:
    raise ApiError("this listener does not authenticate", ErrorCode.ILLEGAL_SASL_STATE)


def refuse(request: SaslHandshakeRequest, error: ApiError, call: Call) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=error.code)
