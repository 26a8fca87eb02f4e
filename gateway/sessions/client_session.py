"""One client's connection: how each of its requests is handled.

    passed        the frame goes to the cluster as it came, and the answer back (passer.py); those that follow it, byte
                  by byte (pipelined_requests.py)
    rewritten     the same, and addresses or version ranges in the answer are changed
    translated    the request is decoded and answered by a translation (translator.py)
    refused       the connection is closed, as the cluster does it, and the reason logged

Other requests are handled one after the other, as by a broker, so answers are sent in the order of the requests. The
first request opens one connection to the cluster for the client's; when one of the two is closed, so is the other. If
all brokers have one address, there is a connection to each broker that the client needs (router.py).
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from time import perf_counter
from typing import Any

from ...client.versions import VersionRange
from ...network.answerer import CloseConnection, Reply
from ...network.byte_passage import FramePasser
from ...network.clients.client_report import MOST_NAME
from ...network.clients.seen_client import SeenClient
from ...network.peer import Peer
from ...network.principal import ANONYMOUS
from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.kafka_releases import api_name
from ..gateways_in_front import gateways_in
from ..offered_versions import (
    BETWEEN_BROKERS,
    LOWERED,
    NOT_OFFERED,
    TOKEN_REQUESTS,
    TRANSLATED,
    encode_refused_api_versions,
    encode_unsupported_api_versions,
    is_translated,
)
from ..request_frame import (
    HEAD,
    INT16,
    NODE_FROM,
    RequestHead,
    acks_of_produce,
    drop_cluster_and_node_id,
    read_client_id,
    read_head,
    read_software_text,
)
from ..translations import RENUMBERED
from ..translations.held_answers import HoldAnswers
from ..upstream import BOOTSTRAP, UpstreamFailed
from ..upstream_logins import UpstreamLogin
from .ask_upstream import make_ask_upstream
from .broker_link import BrokerLink
from .broker_links import BrokerLinks
from .client_login import ClientLogin
from .passer import RequestPasser
from .pipelined_requests import PipelinedRequests
from .relayed_answer import is_relayed
from .reply_maker import ReplyMaker, frame_answer
from .router import RequestRouter
from .session_tools import SessionTools
from .translator import RequestTranslator

SOFTWARE_FROM = 3
LOGIN_REQUESTS = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
NOT_LOGGED_IN = ", and the client has not logged in: where the cluster wants that of all, see authentication=swap"


class ClientSession:
    """Answers the frames of one connection. `broker` returns the broker that the client has connected to; `login`, its
    login at the cluster; `hold_answers`, the memory for answers to one request. `hang_up` closes the connection;
    `let_pass` has it pass on the bytes that follow. `most_bytes`: of a request without records, and of any."""

    def __init__(
        self,
        tools: SessionTools,
        broker: Callable[[], int],
        login: Callable[[], UpstreamLogin | None],
        hold_answers: HoldAnswers,
        hang_up: Callable[[], None],
        let_pass: Callable[[FramePasser], None],
        most_bytes: tuple[int, int],
    ) -> None:
        self._tools = tools
        self._metrics = tools.metrics
        self._broker = broker
        self._client_id_bytes = b""
        self._principal = ANONYMOUS
        links = self._links = BrokerLinks(tools, broker, login, hang_up if tools.locator is None else None)
        self._replies = ReplyMaker(tools.metrics)
        self._passer = RequestPasser(tools, self._replies, hold_answers)
        self._let_pass, self._most_bytes = let_pass, most_bytes
        self._pipelined: PipelinedRequests | None = None
        self._has_asked = self._asks_first = False
        self._router: RequestRouter | None = None
        if tools.locator is not None:
            self._router = RequestRouter(tools, tools.locator, self._links, self._passer, self._replies, hold_answers)
        # None of these refers to the session, so that all are freed when the connection ends.
        make_ask = partial(make_ask_upstream, links, self._router, hold_answers)
        self._translator = RequestTranslator(
            tools, self._replies, make_ask, login, lambda: not links.is_closed, hold_answers
        )
        self._login = ClientLogin(tools.metrics, self._replies, make_ask, tools.lines)

    def close(self) -> None:
        """Closes the links to brokers."""
        self._links.close()

    def answer(self, frame: memoryview, peer: Peer) -> Coroutine[Any, Any, Reply]:
        return self._answer(frame, peer)

    async def _answer(self, frame: memoryview, peer: Peer) -> Reply:
        """Raises: CloseConnection, MalformedFrame, OSError."""
        peer.on_leave = self.close
        self._metrics.client_bytes.add(len(frame))
        try:
            if self._has_left_before_answer(frame, peer):
                asyncio.get_running_loop().call_soon(self.close)  # when it has been sent on
            reply = await self._dispatch(frame, peer)
        except UpstreamFailed as fault:
            self._metrics.upstream_failures.of(self._broker_label(self._broker())).add()
            raise CloseConnection(f"the cluster cannot be reached: {fault}") from None
        except ConnectionResetError as fault:
            if self._links.is_closed:
                raise
            self._links.note_lost_brokers()
            hint = NOT_LOGGED_IN if self._asks_first and not self._tools.swaps else ""
            raise CloseConnection(f"{fault}{hint}") from None
        if not is_relayed(reply.pieces):
            peer.on_leave = None
        return reply

    def _has_left_before_answer(self, frame: memoryview, peer: Peer) -> bool:
        """Whether the client closed its connection before this request, which was read ahead, was answered. Raises:
        MalformedFrame."""
        if not peer.has_left or self._login.takes_bare_tokens:
            return peer.has_left
        head = read_head(frame)
        return head.key != ApiKey.PRODUCE or acks_of_produce(frame, head.version) != 0

    async def _dispatch(self, frame: memoryview, peer: Peer) -> Reply:
        began_s = perf_counter()
        if self._login.takes_bare_tokens:
            return await self._login.relay_bare_token(frame, began_s)
        head = read_head(frame)
        self._note_client_id(frame, peer)
        if peer.sasl is not None and head.key in LOGIN_REQUESTS:
            return self._login.answer_login_step(head, frame, peer, began_s)
        if peer.principal is not self._principal:
            self._principal = peer.principal
            self._links.close_links_of_former_login()
        if head.key == ApiKey.API_VERSIONS and (refusal := await self._find_gateway_refusal(peer.client_id)):
            answer = frame_answer(head, [encode_refused_api_versions(refusal)])
            return self._replies.make_reply_to_unknown_version(answer, head, began_s)
        if self._tools.swaps:
            await self._links.renew_logins()
        link = await self._links.get_or_open()
        if head.key == ApiKey.API_VERSIONS:
            return await self._answer_api_versions(link, head, frame, peer, began_s)
        self._note_first_request(head.key)
        taken = link.versions.get(head.key, NOT_OFFERED)
        self._check_version(head, taken, link.versions_to_offer(head.key))
        self._count_request(head, peer, began_s)
        is_changed = is_translated(head.key, head.version, taken)
        if head.key != ApiKey.PRODUCE:  # may wait in the cluster for as long as the client likes
            if not is_changed and self._router is None:  # only its bytes go on
                peer.release_parsed_request()
            peer.allow_frame_reclaim(None)
        if head.key == ApiKey.SASL_HANDSHAKE and head.version == 0:
            return await self._login.answer_handshake_v0(head, frame, peer, began_s)
        if not is_changed:
            if self._router is not None:
                return await self._router.pass_on(head, frame, began_s)
            if head.version > LOWERED.get(head.key, head.version):
                return await self._passer.replace_version_and_pass(link, head, frame, began_s, LOWERED[head.key])
            reply = await self._passer.pass_on(link, head, frame, began_s)
            if head.key in LOGIN_REQUESTS:
                self._login.note_login_passed_on(head, frame, reply, peer)
            else:
                self._let_requests_pass(link)
            return reply
        if head.key in RENUMBERED:
            return await self._passer.replace_version_and_pass(link, head, frame, began_s, TRANSLATED[head.key].sent_as)
        return await self._translator.translate(head, frame, peer, began_s)

    def _let_requests_pass(self, link: BrokerLink) -> None:
        """Has the requests that follow passed on as they come."""
        pipelined, client_id_bytes = self._pipelined, self._client_id_bytes
        if not client_id_bytes:
            return
        if pipelined is None or pipelined.link is not link or pipelined.client_id_bytes != client_id_bytes:
            pipelined = self._pipelined = PipelinedRequests(
                self._tools, self._links, link, self._passer, client_id_bytes, self._most_bytes
            )
        self._let_pass(pipelined)

    def _note_first_request(self, key: int) -> None:
        """Notes whether this request is the first after ApiVersions and not a login."""
        self._asks_first = not self._has_asked and key not in LOGIN_REQUESTS
        self._has_asked = True

    async def _answer_api_versions(
        self, link: BrokerLink, head: RequestHead, frame: memoryview, peer: Peer, began_s: float
    ) -> Reply:
        newest = link.versions_to_offer(head.key)[1]
        if not 0 <= head.version <= newest:
            return self._replies.make_reply_to_unknown_version(
                frame_answer(head, [encode_unsupported_api_versions(newest)]), head, began_s
            )
        self._count_request(head, peer, began_s)
        if head.version >= SOFTWARE_FROM:
            _note_software(frame, peer)
        if head.version >= NODE_FROM and self._broker() == BOOTSTRAP:
            frame = drop_cluster_and_node_id(frame)
        return await self._passer.pass_api_versions(link, head, frame, began_s)

    async def _find_gateway_refusal(self, client_id: str) -> ErrorCode:
        """The error for ApiVersions of a gateway; NONE if a broker can be asked, and for other clients."""
        if not gateways_in(client_id):
            return ErrorCode.NONE
        refusal = self._tools.upstream.find_loop_error(client_id)
        if refusal:
            return refusal
        self._links.asked_by = client_id
        try:
            await self._links.get_or_open()
        except UpstreamFailed:
            return ErrorCode.BROKER_NOT_AVAILABLE
        return ErrorCode.NONE

    def _note_client_id(self, frame: memoryview, peer: Peer) -> None:
        """Decodes the client id if it differs from that of the request before."""
        known = self._client_id_bytes
        if not known or frame[HEAD.size : HEAD.size + len(known)] != known:
            client_id = read_client_id(frame)
            peer.client_id = client_id[:MOST_NAME]
            encoded = client_id.encode()
            self._client_id_bytes = INT16.pack(len(encoded)) + encoded if 0 < len(client_id) <= MOST_NAME else b""

    def _count_request(self, head: RequestHead, peer: Peer, began_s: float) -> None:
        """Counts a request of an offered version in the client report."""
        seen = peer.seen
        if not seen.is_kept or seen.client_id != peer.client_id:
            seen = self._tools.clients.client_of(peer, head.key)
        seen.count_request((head.key, head.version), began_s)

    def _check_version(self, head: RequestHead, taken: VersionRange, offered: VersionRange) -> None:
        """Raises: CloseConnection."""
        low, high = offered
        if low <= head.version <= high and not (self._tools.swaps and head.key in TOKEN_REQUESTS):
            return
        name = api_name(head.key)
        if head.key in BETWEEN_BROKERS and not taken[0] <= head.version <= taken[1]:
            reason = f"{name} is a request between brokers, which do not speak through the gateway"
        elif head.key in TOKEN_REQUESTS and self._tools.swaps:
            reason = f"{name} would show the secret of a token of the gateway's own user"
        elif low > high:
            reason = f"{name} is not offered here"
        else:
            reason = f"{name} {head.version} is asked, {low} to {high} are offered"
        self._metrics.refused.of(name, str(head.version) if 0 <= head.version < 100 else "other").add()
        raise CloseConnection(reason)

    def _broker_label(self, broker: int) -> str:
        """The metric label of a broker; clients may name any broker (SNI), and only the cluster's have labels of their
        own."""
        if broker < 0:
            return "bootstrap"
        return str(broker) if broker in self._tools.upstream.brokers else "unknown"


def _note_software(frame: memoryview, peer: Peer) -> None:
    """Notes the client's software from an ApiVersions request. Raises: MalformedFrame."""
    name, version = read_software_text(frame)
    peer.software_name = name[:MOST_NAME]
    peer.software_version = version[:MOST_NAME]
    if peer.seen.is_kept:
        peer.seen = SeenClient()  # its next request counts for another client
