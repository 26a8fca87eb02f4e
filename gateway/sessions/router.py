"""Routes a client's requests if all brokers have one address: each goes to the broker that it is for.

A request for one broker is passed on as it came, and so is its answer. A request for several is split; all parts are
sent before the first answer is read, and the whole answers are held in memory and joined.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ...client.operation import Coordinator
from ...network.answerer import Reply
from ...protocol.api import API, ApiKey, spec_of_request
from ...protocol.errors import ApiError
from ...protocol.frame import encode_request, encode_response
from ...protocol.messages.find_coordinator import FindCoordinatorRequest
from ...protocol.messages.metadata import MetadataRequest
from ...protocol.schema import Piece
from ..request_frame import RequestHead, frame_with_size
from ..routes import ANY, READ, ROUTES
from ..routes.locator import BrokerLocator
from ..routes.route import Route
from ..translations.held_answers import WHOLE_BYTES, HeldAnswerMemory, HoldAnswers
from .broker_link import BrokerLink
from .broker_links import BrokerLinks
from .client_request import ClientRequest
from .passer import RequestPasser
from .reply_maker import ReplyMaker, count_answer_bytes, encode_answer
from .session_tools import SessionTools


class BrokerPart(NamedTuple):
    """The part of a request that goes to one broker."""

    link: BrokerLink
    request: Any


class RequestRouter:
    """Routes the requests of one client. Methods that wait raise MalformedFrame, OSError, UpstreamFailed."""

    def __init__(
        self,
        tools: SessionTools,
        locator: BrokerLocator,
        links: BrokerLinks,
        passer: RequestPasser,
        replies: ReplyMaker,
        hold_answers: HoldAnswers,
    ) -> None:
        self._tools = tools
        self._hold_answers = hold_answers
        self._locator = locator
        self._links = links
        self._passer = passer
        self._replies = replies

    async def pass_on(self, head: RequestHead, frame: memoryview, began_s: float) -> Reply:
        """Routes a request that is not translated; returns the reply. Also raises: CloseConnection."""
        route = ROUTES[head.key]
        if route is ANY:
            await self._forget_asked_targets(head, frame)
            return await self._passer.pass_on(await self._links.get_or_open(), head, frame, began_s)
        header, decoded, has_many_items = await self._tools.decoder.decode(frame)
        client_request = ClientRequest(head, header.client_id, has_many_items)
        spec = API[ApiKey(head.key)]
        try:
            request = route.prepare(decoded)
        except ApiError as fault:
            refusal = encode_response(spec, head.version, head.correlation_id, spec.response(error_code=fault.code))
            return self._replies.make_reply(refusal, head, began_s, head.version)
        parts = await self._split_by_broker(route, request)
        if len(parts) > 1:
            return await self._answer_from_several(route, parts, client_request, began_s)
        pieces: Sequence[Piece] = frame_with_size(frame)
        if request is not decoded:
            encode = partial(encode_request, spec, head.version, head.correlation_id, header.client_id, request)
            pieces = await self._tools.run_maybe_in_worker(encode, in_worker=has_many_items)
        link, due = parts[0].link, is_answered(request)
        return await self._passer.pass_request_in_pieces(link, head, pieces, began_s, is_answered=due)

    async def _answer_from_several(
        self, route: Route, parts: Sequence[BrokerPart], client_request: ClientRequest, began_s: float
    ) -> Reply:
        held, head = self._hold_answers(), client_request.head
        try:
            response = await self._ask_and_join(route, parts, head.version, client_request, held)
            pieces = None
            if response is not None:
                encode = partial(encode_answer, head, response)
                pieces = await self._tools.run_maybe_in_worker(encode, in_worker=client_request.has_many_items)
        except BaseException:
            held.release()
            raise
        reply = self._replies.make_reply(pieces, head, began_s, head.version)
        reply.claim = held.shrink_to(count_answer_bytes(pieces))
        return reply

    async def ask(self, request: Any, version: int, client_request: ClientRequest, held: HeldAnswerMemory) -> Any:
        """As `BrokerLink.ask`, for all brokers that the request is for."""
        route = ROUTES[spec_of_request(request).key]
        parts = await self._split_by_broker(route, route.prepare(request))
        return await self._ask_and_join(route, parts, version, client_request, held)

    async def _split_by_broker(self, route: Route, request: Any) -> list[BrokerPart]:
        if route.is_everywhere:
            everywhere = sorted(self._tools.upstream.alive)
            return [BrokerPart(await self._links.get_or_open(each), request) for each in everywhere or (None,)]
        turn = self._tools.turns.begin()
        found = await self._locator.find_brokers(route.targets(request), turn, self._links.login())
        brokers = list(dict.fromkeys(found.values()))
        if len(brokers) <= 1:
            return [BrokerPart(await self._links.get_or_open(brokers[0] if brokers else None), request)]
        parts = await route.split(request, found, turn)
        return [BrokerPart(await self._links.get_or_open(broker), part) for broker, part in parts.items()]

    async def _ask_and_join(
        self,
        route: Route,
        parts: Sequence[BrokerPart],
        version: int,
        client_request: ClientRequest,
        held: HeldAnswerMemory,
    ) -> Any:
        """Sends all parts; returns the joined response, None if none is due or `held` has no room for it."""
        for part in parts:
            await part.link.send(part.request, version, client_request)
        if not is_answered(parts[0].request):
            return None
        spec = spec_of_request(parts[0].request)
        sizes = [await part.link.read_head(client_request.head) for part in parts]
        if not await held.claim_for(sum(sizes), is_decoded=spec.key != ApiKey.FETCH):
            for part, size in zip(parts, sizes, strict=True):
                await part.link.connection.skip(size)
            return None
        responses = [
            await part.link.receive(spec, version, client_request, size, held)
            for part, size in zip(parts, sizes, strict=True)
        ]
        if len(responses) == 1:
            return responses[0]
        client_request.has_many_items |= sum(sizes) > WHOLE_BYTES
        return await self._tools.run_maybe_in_worker(
            partial(route.join, responses), in_worker=client_request.has_many_items
        )

    async def _forget_asked_targets(self, head: RequestHead, frame: memoryview) -> None:
        """Forgets the leaders or coordinators that a client asks the cluster for, so they are looked up again."""
        if head.key not in READ:
            return
        request = (await self._tools.decoder.decode(frame)).value
        turn = self._tools.turns.begin()
        if isinstance(request, MetadataRequest):
            if request.topics is None or not (head.version or request.topics):
                self._locator.forget_topics(None)
            for topic in request.topics or ():
                self._locator.forget_topics((topic.name or "", topic.topic_id))
                await turn.next()
        elif isinstance(request, FindCoordinatorRequest):
            for key in request.coordinator_keys or (request.key,):
                self._locator.forget_coordinators((Coordinator(key, request.key_type),))
                await turn.next()


def is_answered(request: Any) -> bool:
    """Whether an answer is due: not to a Produce with acks 0."""
    return getattr(request, "acks", 1) != 0
