"""The steps of a login on a new connection, without I/O: SaslHandshake, then the tokens of the mechanism.

    handshake v1   each token travels in SaslAuthenticate, whose answer says why a login failed
    handshake v0   bare tokens with their size in front; brokers before 1.0 just hang up when a login fails

PLAIN sends `NUL user NUL password` and is done with the answer; SCRAM takes two steps. OAUTHBEARER (RFC 7628) sends
`n,,^Aauth=Bearer token^A^A`; an answer that is not empty says why not, and is acknowledged by `^A`. Source: KIP-43,
KIP-84, KIP-152, KIP-255; Kafka 3.9, SaslClientAuthenticator, PlainSaslClient, OAuthBearerSaslClient.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NoReturn

from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode, code_of
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest
from ...protocol.scram import HASHES
from ..errors import AuthenticationFailed, make_printable
from ..versions import VersionRanges, common_version
from .scram_client import ScramClient, ScramFailed
from .settings import SaslSettings, TokenProvider


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A step: send a request in that version; its result is the response."""

    key: ApiKey
    request: Any
    version: int


@dataclass(frozen=True, slots=True)
class RawSaslToken:
    """A step: send a SASL token with only its size in front, without SaslAuthenticate; its result is the server's
    token, which comes in the same form."""

    token: bytes


LoginStep = LoginRequest | RawSaslToken | TokenProvider
"""The next step; a provider is called for its token, and awaited if it is async."""
LoginSteps = Generator[LoginStep, Any, int]
Tokens = Generator[bytes, bytes, None]
"""Yields tokens to send and takes the server's tokens; returns after the last of them."""


def log_in(sasl: SaslSettings, versions: VersionRanges) -> LoginSteps:
    """The steps of a login; returns for how many ms it is valid, 0 for ever. `versions`: what the broker offers.

    Raises: AuthenticationFailed.
    """
    version = common_version(ApiKey.SASL_HANDSHAKE, versions)
    if version is None:
        _raise_login_failure(
            sasl, ErrorCode.UNSUPPORTED_VERSION, "the broker has no SaslHandshake: its listener has no SASL"
        )
    answer = yield LoginRequest(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism=sasl.mechanism), version)
    _check_handshake(sasl, answer)
    token_version = common_version(ApiKey.SASL_AUTHENTICATE, versions) if version else None
    tokens = yield from _begin_tokens(sasl)
    lifetime_ms, token = 0, next(tokens)
    while True:
        if token_version is None:
            received = yield RawSaslToken(token)
        else:
            request = SaslAuthenticateRequest(auth_bytes=token)
            answer = yield LoginRequest(ApiKey.SASL_AUTHENTICATE, request, token_version)
            if code := code_of(answer.error_code):
                _raise_login_failure(sasl, code, make_printable(answer.error_message or "") or code.name)
            lifetime_ms, received = answer.session_lifetime_ms, bytes(answer.auth_bytes)
        try:
            token = tokens.send(received)
        except StopIteration:
            return lifetime_ms
        except ScramFailed as fault:
            _raise_login_failure(sasl, ErrorCode.SASL_AUTHENTICATION_FAILED, str(fault))


def _check_handshake(sasl: SaslSettings, answer: Any) -> None:
    code = code_of(answer.error_code)
    if code is ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        known = make_printable(", ".join(answer.mechanisms)) or "none"
        _raise_login_failure(sasl, code, f"the broker does not take {sasl.mechanism}, but {known}")
    if code:
        _raise_login_failure(sasl, code, f"the broker refuses to log anybody in here: {code.name}")


def _begin_tokens(sasl: SaslSettings) -> Generator[LoginStep, Any, Tokens]:
    """Returns the generator of tokens; for OAUTHBEARER it first gets the application's token."""
    if sasl.token_provider is None:
        return _send_scram(sasl) if sasl.mechanism in HASHES else _send_password(sasl)
    try:
        token = yield sasl.token_provider
        if not isinstance(token, str) or not token:
            raise TypeError(f"it gave {type(token).__name__}, not a str with a token")
    except Exception as fault:
        _raise_login_failure(sasl, ErrorCode.SASL_AUTHENTICATION_FAILED, f"the token provider failed: {fault!r}")
    return _send_bearer(token)


def _send_password(sasl: SaslSettings) -> Tokens:
    yield f"\0{sasl.username}\0{sasl.password}".encode()


def _send_scram(sasl: SaslSettings) -> Tokens:
    client = ScramClient(sasl.mechanism, sasl.username, sasl.password)
    server_first = yield client.first_message()
    server_final = yield client.final_message(server_first)
    client.verify_server(server_final)


def _send_bearer(token: str) -> Tokens:
    refusal = yield f"n,,\1auth=Bearer {token}\1\1".encode()
    if refusal:
        yield b"\1"


def _raise_login_failure(sasl: SaslSettings, code: ErrorCode, why: str) -> NoReturn:
    who = f"{sasl.username or 'the client'} by {sasl.mechanism}"
    raise AuthenticationFailed(f"{who} was not logged in: {why}", code)
