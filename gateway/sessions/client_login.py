"""The login of one client: at the gateway itself, or by SaslHandshake 0 and bare tokens, relayed to the cluster.

A login by SaslAuthenticate at the cluster is passed on as other requests; if it is refused, that is logged.
"""

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any, cast

from ...client.errors import make_printable
from ...network.admission.peer_log_limit import PeerLogLimit
from ...network.answerer import Reply
from ...network.clients.client_report import MOST_NAME
from ...network.peer import Peer
from ...network.sasl.answers import answer_handshake, answer_token
from ...protocol.api import API, ApiKey
from ...protocol.errors import ApiError, error_name
from ...protocol.frame import decode_request_header, decode_response, encode_response
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest
from ...protocol.schema import decode
from ..gateway_metrics import GatewayMetrics
from ..request_frame import SIZE, RequestHead
from ..translations.translated_call import AskUpstream
from .client_request import ClientRequest
from .login_relay import VERSION, LoginRelay
from .relayed_answer import is_relayed
from .reply_maker import ReplyMaker

log = logging.getLogger(__name__)


class ClientLogin:
    """`make_ask` makes the function that asks the cluster on behalf of a request of the client."""

    def __init__(
        self,
        metrics: GatewayMetrics,
        replies: ReplyMaker,
        make_ask: Callable[[ClientRequest], AskUpstream],
        lines: PeerLogLimit,
    ) -> None:
        self._metrics = metrics
        self._replies = replies
        self._make_ask = make_ask
        self._lines = lines
        self._mechanism = ""
        self._relay: LoginRelay | None = None

    @property
    def takes_bare_tokens(self) -> bool:
        """Whether the client's next frame is a bare token."""
        return self._relay is not None and self._relay.takes_bare_tokens

    def note_login_passed_on(self, head: RequestHead, frame: memoryview, reply: Reply, peer: Peer) -> None:
        """Notes the mechanism of a handshake that was passed on; logs a refused login. Raises: MalformedFrame."""
        spec = API[ApiKey(head.key)]
        if head.version > spec.max_version or reply.pieces is None or is_relayed(reply.pieces):
            return
        if head.key == ApiKey.SASL_HANDSHAKE:
            self._mechanism = decode(spec.request, head.version, decode_request_header(frame)[1]).mechanism
        answer = b"".join(cast("list[bytes]", reply.pieces))
        self._log_refusal(decode_response(spec, head.version, memoryview(answer)[SIZE.size :])[1], peer)

    def _log_refusal(self, response: Any, peer: Peer) -> None:
        if response.error_code:
            client = f"{peer} (client {peer.client_id[:MOST_NAME]!r}) by {make_printable(self._mechanism)}"
            why = make_printable(getattr(response, "error_message", "") or error_name(response.error_code))
            self._lines.warn(log, peer.network, f"the cluster refuses the login of {client}: {why}", why)

    async def answer_handshake_v0(self, head: RequestHead, frame: memoryview, peer: Peer, began_s: float) -> Reply:
        """Answers SaslHandshake 0, after which bare tokens follow. Raises: MalformedFrame, OSError."""
        header, body = decode_request_header(frame)
        request = decode(SaslHandshakeRequest, 0, body)
        self._relay = LoginRelay(self._make_ask(ClientRequest(head, header.client_id)))
        response = await self._relay.begin(request.mechanism)
        self._mechanism = request.mechanism
        self._log_refusal(response, peer)
        pieces = encode_response(API[ApiKey.SASL_HANDSHAKE], 0, head.correlation_id, response)
        return self._replies.make_reply(pieces, head, began_s, VERSION)

    async def relay_bare_token(self, frame: memoryview, began_s: float) -> Reply:
        """Raises: CloseConnection when the cluster refuses the login, MalformedFrame, OSError."""
        assert self._relay is not None
        token = await self._relay.step(bytes(frame))
        meter = self._metrics.meter_of(ApiKey.SASL_AUTHENTICATE, 0, VERSION)
        meter.observe_handling(len(frame), perf_counter() - began_s, 0.0)
        return Reply([SIZE.pack(len(token)) + token], meter, began_s, perf_counter())

    def answer_login_step(self, head: RequestHead, frame: memoryview, peer: Peer, began_s: float) -> Reply:
        """Answers a step of a login at the gateway; `SaslGate` checks the order of steps. Raises: MalformedFrame."""
        spec = API[ApiKey(head.key)]
        _, body = decode_request_header(frame)
        request = decode(spec.request, head.version, body)
        try:
            response: Any
            if head.key == ApiKey.SASL_HANDSHAKE:
                response = answer_handshake(peer.sasl, request, head.version)
            else:
                response = answer_token(peer.sasl, request)
        except ApiError as fault:
            response = spec.response(error_code=fault.code)
        pieces = encode_response(spec, head.version, head.correlation_id, response)
        return self._replies.make_reply(pieces, head, began_s, head.version)
