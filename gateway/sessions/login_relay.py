"""A login by SaslHandshake 0 and bare tokens, relayed to the cluster as SaslHandshake 1 and SaslAuthenticate.

The cluster's answer has the reason of a failed login, for the log; the client's connection is closed, as by old
brokers. The exchange is over when the cluster's token is empty (PLAIN, OAUTHBEARER, GSSAPI) or begins with `v=` (the
server's signature of SCRAM)."""

from ...network.answerer import CloseConnection
from ...protocol.errors import error_name
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ..translations.translated_call import AskUpstream

VERSION = 1
SCRAM_END = b"v="
MOST_SHOWN = 200


class LoginRelay:
    """The login of one connection. `takes_bare_tokens`: whether the next frame is a token."""

    def __init__(self, ask: AskUpstream) -> None:
        self.takes_bare_tokens = False
        self._ask = ask
        self._mechanism = ""

    async def begin(self, mechanism: str) -> SaslHandshakeResponse:
        """Relays the handshake; returns the answer, which lists the mechanisms if this one is not known."""
        request = SaslHandshakeRequest(mechanism=mechanism)
        response: SaslHandshakeResponse = await self._ask(request, VERSION)
        self._mechanism = mechanism[:MOST_SHOWN]
        self.takes_bare_tokens = not response.error_code
        return response

    async def step(self, token: bytes) -> bytes:
        """Relays a token; returns the cluster's token. Raises: CloseConnection when it refuses the login."""
        request = SaslAuthenticateRequest(auth_bytes=token)
        response: SaslAuthenticateResponse = await self._ask(request, VERSION)
        if response.error_code:
            why = (response.error_message or error_name(response.error_code))[:MOST_SHOWN]
            raise CloseConnection(f"the cluster refuses the login by {self._mechanism}: {why}")
        answer = bytes(response.auth_bytes)
        self.takes_bare_tokens = bool(answer) and not answer.startswith(SCRAM_END)
        return answer
