"""Logging in on a connection before its first request: SaslHandshake, then the tokens of the mechanism.

    handshake v1   each token travels in SaslAuthenticate, whose answer says why a login failed
    handshake v0   bare tokens with their size in front (brokers before 1.0), which just hang up

PLAIN sends `NUL user NUL password` and is done with the answer; SCRAM takes two steps. OAUTHBEARER (RFC 7628) sends
`n,,^Aauth=Bearer token^A^A`; an answer that is not empty says why not, and is acknowledged by `^A`. Source: KIP-43,
KIP-84, KIP-152, KIP-255; Kafka 3.9, SaslClientAuthenticator, PlainSaslClient, OAuthBearerSaslClient.
"""

import asyncio
import inspect
from collections.abc import Callable, Generator
from typing import Any, Protocol

from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest
from ...protocol.scram import HASHES
from ..errors import AuthenticationFailed, code_of
from ..sender.network_interface import Answer, VersionRanges, common_version
from .scram import ScramClient, ScramFailed
from .settings import Sasl, TokenProvider

Steps = Generator[bytes, bytes, None]
"""Yields tokens to send and takes those of the server; it returns when the server has been heard to the end."""


def plain(sasl: Sasl) -> Steps:
    yield f"\0{sasl.username}\0{sasl.password}".encode()


def scram(sasl: Sasl) -> Steps:
    client = ScramClient(sasl.mechanism, sasl.username, sasl.password)
    server_first = yield client.first()
    server_final = yield client.final(server_first)
    client.check(server_final)


def bearer(token: str) -> Steps:
    refusal = yield f"n,,\1auth=Bearer {token}\1\1".encode()
    if refusal:
        yield b"\1"


class Carrier(Protocol):
    """What a login asks of its connection."""

    def send(self, key: ApiKey, version: int, request: Any, done: Callable[[Answer], None], *, answered: bool) -> None:
        """Sends a request, see `Connection`."""

    def send_bare(self, token: bytes, done: Callable[[bytes], None]) -> None:
        """Sends a token with its size in front; `done` gets what comes back in the same form."""


class Login:
    """One login. `done` gets None and how long it is good for in ms (0: for ever), or why it failed."""

    def __init__(self, sasl: Sasl, carrier: Carrier, done: Callable[[AuthenticationFailed | None, int], None]) -> None:
        self._sasl, self._carrier, self._done = sasl, carrier, done
        self._steps = scram(sasl) if sasl.mechanism in HASHES else plain(sasl)
        self._asking: asyncio.Task[str] | None = None  # for a token
        self._token_version: int | None = None
        self._lifetime_ms = 0

    def start(self, versions: VersionRanges) -> None:
        """`versions`: what the broker told before the login."""
        version = common_version(ApiKey.SASL_HANDSHAKE, versions)
        if version is None:
            self._fail(ErrorCode.UNSUPPORTED_VERSION, "the broker has no SaslHandshake: its listener has no SASL")
            return
        self._token_version = common_version(ApiKey.SASL_AUTHENTICATE, versions) if version else None
        request = SaslHandshakeRequest(mechanism=self._sasl.mechanism)
        self._carrier.send(ApiKey.SASL_HANDSHAKE, version, request, self._agreed, answered=True)

    def _agreed(self, answer: Answer) -> None:
        if answer.response is None:
            return
        code = code_of(answer.response.error_code)
        if code is ErrorCode.NONE and self._sasl.token_provider is not None:
            self._asking = asyncio.get_running_loop().create_task(_token(self._sasl.token_provider))
            self._asking.add_done_callback(self._begin)
        elif code is ErrorCode.NONE:
            self._send(next(self._steps))
        elif code is ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            known = ", ".join(answer.response.mechanisms) or "none"
            self._fail(code, f"the broker does not take {self._sasl.mechanism}, but {known}")
        else:
            self._fail(code, f"the broker refuses to log anybody in here: {code.name}")

    def _begin(self, asked: asyncio.Task[str]) -> None:
        """Goes on with the token that the application gave."""
        fault = asyncio.CancelledError() if asked.cancelled() else asked.exception()
        if fault is not None:
            self._fail(ErrorCode.SASL_AUTHENTICATION_FAILED, f"the token provider failed: {fault!r}")
            return
        self._steps = bearer(asked.result())
        self._send(next(self._steps))

    def _send(self, token: bytes) -> None:
        if self._token_version is None:
            self._carrier.send_bare(token, self._take)
            return
        request = SaslAuthenticateRequest(auth_bytes=token)
        key = ApiKey.SASL_AUTHENTICATE
        self._carrier.send(key, self._token_version, request, self._answered, answered=True)

    def _answered(self, answer: Answer) -> None:
        if answer.response is None:
            return
        code = code_of(answer.response.error_code)
        if code is not ErrorCode.NONE:
            self._fail(code, answer.response.error_message or code.name)
            return
        self._lifetime_ms = answer.response.session_lifetime_ms
        self._take(bytes(answer.response.auth_bytes))

    def _take(self, token: bytes) -> None:
        try:
            self._send(self._steps.send(token))
        except StopIteration:
            self._done(None, self._lifetime_ms)
        except ScramFailed as fault:
            self._fail(ErrorCode.SASL_AUTHENTICATION_FAILED, str(fault))

    def _fail(self, code: ErrorCode, why: str) -> None:
        who = f"{self._sasl.username or 'the producer'} by {self._sasl.mechanism}"
        self._done(AuthenticationFailed(f"{who} was not logged in: {why}", code), 0)


async def _token(provider: TokenProvider) -> str:
    token = provider()
    if inspect.isawaitable(token):
        token = await token
    if not isinstance(token, str) or not token:
        raise TypeError(f"it gave {type(token).__name__}, not a str with a token")
    return token
