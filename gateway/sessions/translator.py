"""Decodes requests, calls their translations, and maps error codes to ones that the client knows."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from ...network.answerer import Reply
from ...network.clients.losses import describe_loss
from ...network.clients.seen_client import SeenClient
from ...network.peer import Peer
from ...protocol.kafka_releases import api_name
from ..error_mapping import map_error_code, map_errors
from ..offered_versions import TRANSLATED
from ..request_frame import RequestHead
from ..translations import TRANSLATIONS
from ..translations.held_answers import HoldAnswers
from ..translations.translated_call import AskUpstream, PartitionRotation, TranslatedCall
from ..upstream_logins import UpstreamLogin
from .client_request import ClientRequest
from .reply_maker import ReplyMaker, count_answer_bytes, encode_answer
from .session_tools import SessionTools

log = logging.getLogger(__name__)


class RequestTranslator:
    """Translates the requests of one client, which has that `login` at the cluster. `make_ask` makes the function that
    asks the cluster on behalf of a request; `is_there` says whether the client is still connected."""

    def __init__(
        self,
        tools: SessionTools,
        replies: ReplyMaker,
        make_ask: Callable[[ClientRequest], AskUpstream],
        login: Callable[[], UpstreamLogin | None],
        is_there: Callable[[], bool],
        hold_answers: HoldAnswers,
    ) -> None:
        self._hold_answers = hold_answers
        self._login = login
        self._tools = tools
        self._metrics = tools.metrics
        self._replies = replies
        self._make_ask = make_ask
        self._is_there = is_there
        self._rotation = PartitionRotation()

    async def translate(self, head: RequestHead, frame: memoryview, peer: Peer, began_s: float) -> Reply:
        """Raises: CloseConnection, MalformedFrame, OSError."""
        seen = peer.seen
        read = await self._tools.decoder.decode(frame)
        client_request = ClientRequest(head, read.header.client_id, read.has_many_items)
        call = self._make_call(client_request, read.value, peer)
        seen.translated[head.key, head.version, call.sent_as] += 1
        try:
            response = await TRANSLATIONS[head.key](call)
            pieces = None
            if response is not None:
                mapped = await map_errors(response, lambda code: self._map_and_count_code(head, seen, code), call.turn)
                encode = partial(encode_answer, head, mapped)
                pieces = await self._tools.run_maybe_in_worker(encode, in_worker=client_request.has_many_items)
        except BaseException:
            call.held.release()
            raise
        reply = self._replies.make_reply(pieces, head, began_s, call.sent_as)
        reply.claim = call.held.shrink_to(count_answer_bytes(pieces))
        return reply

    def _make_call(self, client_request: ClientRequest, request: Any, peer: Peer) -> TranslatedCall:
        seen = peer.seen

        def count_loss(what: str, count: int, topics: tuple[str, ...] = ()) -> None:
            self._metrics.lost.of(what).add(count)
            if what not in seen.lost:
                description = describe_loss(what, topics=topics, cluster=self._tools.clients.cluster)
                line = f"{peer} (client {peer.client_id!r}) loses {description}"
                self._tools.lines.warn(log, peer.network, line, what)
            seen.count_loss(what, count, topics)

        return TranslatedCall(
            key=client_request.head.key,
            version=client_request.head.version,
            sent_as=TRANSLATED[client_request.head.key].sent_as,
            request=request,
            turn=self._tools.turns.begin(),
            ask_upstream=self._make_ask(client_request),
            is_there=self._is_there,
            ask_coordinator=partial(self._tools.upstream.ask_coordinator, login=self._login()),
            clock=self._tools.clock,
            held=self._hold_answers(),
            workers=self._tools.workers,
            count_loss=count_loss,
            note_refused_fetch=seen.note_refused_fetch,
            lz4_loss=seen.lz4_loss,
            count_records=seen.count_produced_format,
            rotation=self._rotation,
            zstd_to=self._tools.zstd_to,
        )

    def _map_and_count_code(self, head: RequestHead, seen: SeenClient, code: int) -> int:
        known = map_error_code(head.key, head.version, code)
        if known != code:
            seen.mapped_errors[head.key, code, known] += 1
            self._metrics.mapped_errors.of(api_name(head.key), str(code), str(known)).add()
        return known
