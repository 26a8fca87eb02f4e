"""SaslAuthenticate, versions 0-2 (KIP-152, 368): one step of a login.

A login that fails is answered SASL_AUTHENTICATION_FAILED, after `connection.failed.authentication.delay.ms`, and the
connection closed. Where no login is under way: ILLEGAL_SASL_STATE. Version notes: v1 tells, with the last step, how
long the session may last.
"""

from typing import TYPE_CHECKING

from ...network.sasl.exchange import State
from ...network.sasl.mechanism import Refused
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(broker: "Services", request: SaslAuthenticateRequest, call: Call) -> SaslAuthenticateResponse:
    exchange = call.peer.sasl
    if exchange is None or exchange.state is not State.TOKENS:
        raise ApiError("no login is under way", ErrorCode.ILLEGAL_SASL_STATE)
    try:
        token, lifetime_ms = exchange.step(request.auth_bytes)
    except Refused as refusal:
        return SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=refusal.told)
    return SaslAuthenticateResponse(error_message=None, auth_bytes=token, session_lifetime_ms=lifetime_ms)


def refuse(request: SaslAuthenticateRequest, error: ApiError, call: Call) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=error.code, error_message=error.message)
