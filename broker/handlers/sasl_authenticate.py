"""SaslAuthenticate, versions 0-2 (KIP-152, 368): one step of a SASL authentication. None is on: ILLEGAL_SASL_STATE."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ..network.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(broker: "Services", request: SaslAuthenticateRequest, call: Call) -> SaslAuthenticateResponse:
    raise ApiError("this listener does not authenticate", ErrorCode.ILLEGAL_SASL_STATE)


def refuse(request: SaslAuthenticateRequest, error: ApiError, call: Call) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=error.code, error_message=error.message)
