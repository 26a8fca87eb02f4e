"""Requests of a client for whom all brokers have one address: each goes to the broker that it is for.

A request for one broker passes as it came, and its answer too. One for several is split; all parts are sent before the
first answer is read, and the answers are joined: they are held as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ...client.operation import Coordinator
from ...network.answerer import Reply
from ...network.memory_budget import Claim
from ...protocol.api import API, ApiKey, spec_of_request
from ...protocol.errors import ApiError
from ...protocol.frame import encode_request, encode_response
from ...protocol.messages.find_coordinator import FindCoordinatorRequest
from ...protocol.messages.metadata import MetadataRequest
from ...protocol.primitives import NO_UUID
from ...protocol.schema import Piece
from ..request_frame import RequestHead, with_size
from ..routes import ANY, READ, ROUTES
from ..routes.locator import Locator
from ..routes.route import Route, Target
from .broker_link import WHOLE_BYTES, BrokerLink, ClaimHolder
from .broker_links import BrokerLinks
from .passer import Passer
from .reply_maker import ReplyMaker, encode_answer, shrink_claim
from .session_tools import SessionTools


class BrokerPart(NamedTuple):
    """What of a request goes to one broker."""

    link: BrokerLink
    request: Any


@dataclass(slots=True)
class HeldClaim:
    """The claim for the answers to the parts of one request."""

    claim: Claim | None = None
    least_claim_bytes: int = 0


class Router:
    """Routes the requests of one client. Whatever waits raises MalformedFrame, OSError, UpstreamFailed."""

    def __init__(
        self, tools: SessionTools, locator: Locator, links: BrokerLinks, passer: Passer, replies: ReplyMaker
    ) -> None:
        self._tools = tools
        self._locator = locator
        self._links = links
        self._passer = passer
        self._replies = replies

    async def pass_on(self, head: RequestHead, frame: memoryview, began_s: float) -> Reply:
        """The reply to a request that is not translated. Raises: CloseConnection, too."""
        route = ROUTES[head.key]
        if route is ANY:
            await self._look_up_again(head, frame)
            return await self._passer.pass_on(await self._links.open(), head, frame, began_s)
        header, decoded = await self._tools.decoder.decode(frame)
        spec = API[ApiKey(head.key)]
        try:
            request = route.prepare(decoded)
        except ApiError as fault:
            refusal = encode_response(spec, head.version, head.correlation_id, spec.response(error_code=fault.code))
            return self._replies.make_reply(refusal, head, began_s, head.version)
        parts = await self._split(route, request)
        if len(parts) > 1:
            return await self._ask_several(route, parts, head, header.client_id, began_s)
        pieces: Sequence[Piece] = with_size(frame)
        if request is not decoded:
            pieces = encode_request(spec, head.version, head.correlation_id, header.client_id, request)
        link, due = parts[0].link, is_answered(request)
        return await self._passer.pass_pieces(link, head, pieces, began_s, is_answered=due)

    async def _ask_several(
        self, route: Route, parts: Sequence[BrokerPart], head: RequestHead, client_id: str | None, began_s: float
    ) -> Reply:
        held = HeldClaim()
        try:
            response = await self._ask_all(route, parts, head.version, head, client_id, held)
            pieces = None
            if response is not None:
                encode = partial(encode_answer, head, response)
                pieces = encode() if held.claim is None else await self._tools.workers.run(encode)
        except BaseException:
            if held.claim is not None:
                held.claim.release()
            raise
        reply = self._replies.make_reply(pieces, head, began_s, head.version)
        reply.claim = shrink_claim(pieces, held.claim)
        return reply

    async def ask(
        self, request: Any, version: int, head: RequestHead, client_id: str | None, holder: ClaimHolder | None
    ) -> Any:
        """As `BrokerLink.ask`, of whichever brokers the request is for."""
        route = ROUTES[spec_of_request(request).key]
        parts = await self._split(route, route.prepare(request))
        held = holder or HeldClaim()
        try:
            return await self._ask_all(route, parts, version, head, client_id, held)
        finally:
            if holder is None and held.claim is not None:
                held.claim.release()  # the response that is made of it is small

    async def _split(self, route: Route, request: Any) -> list[BrokerPart]:
        if route.is_everywhere:
            everywhere = sorted(self._tools.upstream.alive)
            return [BrokerPart(await self._links.open(each), request) for each in everywhere or (None,)]
        turn = self._tools.turns.begin()
        found = await self._locator.find_all(route.targets(request), turn, self._links.login())
        brokers = list(dict.fromkeys(found.values()))
        if len(brokers) <= 1:
            return [BrokerPart(await self._links.open(brokers[0] if brokers else None), request)]
        parts = []
        for broker in brokers:
            parts.append(await self._take_part(route, request, broker, found))
            await turn.next()
        return parts

    async def _take_part(
        self, route: Route, request: Any, broker: int | None, found: dict[Target, int | None]
    ) -> BrokerPart:
        link = await self._links.open(broker)
        return BrokerPart(link, route.take_part(request, lambda target: found[target] == broker))

    async def _ask_all(
        self,
        route: Route,
        parts: Sequence[BrokerPart],
        version: int,
        head: RequestHead,
        client_id: str | None,
        holder: ClaimHolder,
    ) -> Any:
        """The joined response, None if none is due."""
        for part in parts:
            await part.link.send(part.request, version, head, client_id)
        if not is_answered(parts[0].request):
            return None
        responses, held_bytes = [], 0
        for part in parts:
            spec = spec_of_request(part.request)
            answer = await part.link.receive(spec, version, head, holder, held_bytes)
            responses.append(answer.response)
            held_bytes += answer.size_bytes
        if len(responses) == 1:
            return responses[0]
        if held_bytes <= WHOLE_BYTES:
            return route.join(responses)
        return await self._tools.workers.run(partial(route.join, responses))

    async def _look_up_again(self, head: RequestHead, frame: memoryview) -> None:
        """What a client asks the cluster for, since a broker was the wrong one, is looked up here again, too."""
        if head.key not in READ:
            return
        _, request = await self._tools.decoder.decode(frame)
        if isinstance(request, MetadataRequest):
            topics = request.topics if head.version or request.topics else None
            names = None if topics is None else [each.name or "" for each in topics]
            self._locator.forget_topics(names)
            self._locator.forget_topics(each.topic_id for each in topics or () if each.topic_id != NO_UUID)
        elif isinstance(request, FindCoordinatorRequest):
            keys = request.coordinator_keys or (request.key,)
            self._locator.forget_coordinators(Coordinator(key, request.key_type) for key in keys)


def is_answered(request: Any) -> bool:
    """Whether an answer is due: not to a Produce with acks 0."""
    return getattr(request, "acks", 1) != 0
