"""SaslAuthenticate, versions 0-2 (KIP-152, 368): one step of a login.

A login that fails is answered SASL_AUTHENTICATION_FAILED, after `connection.failed.authentication.delay.ms`, and the
connection closed. Where no login is under way: ILLEGAL_SASL_STATE. Version notes: v1 tells, with the last step, how
long the session may last.
"""

from typing import TYPE_CHECKING

from ...network.sasl.answers import answer_token
from ...protocol.errors import ApiError
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(services: "Services", request: SaslAuthenticateRequest, call: Call) -> SaslAuthenticateResponse:
    return answer_token(call.peer.sasl, request)


def refuse(request: SaslAuthenticateRequest, error: ApiError, call: Call) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=error.code, error_message=error.message)
