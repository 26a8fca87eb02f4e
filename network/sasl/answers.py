"""The answers to SaslHandshake and SaslAuthenticate. Raises: ApiError if no login is expected."""

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from .exchange import SaslExchange, SaslState
from .mechanism import Refused


def answer_handshake(
    exchange: SaslExchange | None, request: SaslHandshakeRequest, version: int
) -> SaslHandshakeResponse:
    """Begins a login. After version 0 the client sends bare tokens, after version 1 SaslAuthenticate."""
    if exchange is None or exchange.state is not SaslState.HANDSHAKE:
        raise ApiError("this listener has no SASL", ErrorCode.ILLEGAL_SASL_STATE)
    known = exchange.begin(request.mechanism, bare_tokens=version == 0)
    code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
    return SaslHandshakeResponse(error_code=code, mechanisms=exchange.enabled_mechanisms)


def answer_token(exchange: SaslExchange | None, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    """Takes a token; answers with the server's next one."""
    if exchange is None or exchange.state is not SaslState.TOKENS:
        raise ApiError("no login is under way", ErrorCode.ILLEGAL_SASL_STATE)
    try:
        token, lifetime_ms = exchange.step(request.auth_bytes)
    except Refused as refusal:
        return SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=refusal.told)
    return SaslAuthenticateResponse(error_message="", auth_bytes=token, session_lifetime_ms=lifetime_ms)
