"""Passes requests on: the frame goes to a broker as it came, and the answer back, as fast as the client reads it.

Addresses of brokers and version ranges in answers are replaced by the gateway's.
"""

from collections.abc import Awaitable, Sequence
from functools import partial

from ...config.keys.endpoints import HostPort
from ...network.answerer import CloseConnection, Reply
from ...protocol.api import ApiKey
from ...protocol.schema import Piece
from ..addresses.broker_addresses import has_broker_addresses, rewrite_addresses
from ..offered_versions import rewrite_api_versions
from ..request_frame import RequestHead, acks_of_produce, frame_with_size, replace_version
from ..translations.held_answers import WHOLE_BYTES, HeldAnswerMemory, HoldAnswers
from .broker_link import BrokerLink
from .relayed_answer import RelayedAnswer
from .reply_maker import ReplyMaker, count_answer_bytes, encode_frame_head, frame_answer
from .session_tools import SessionTools

INLINE_BYTES = 4 * 1024
"""The largest answer that is rewritten on the event loop: a coordinator of 25 bytes takes 10 µs."""


class RequestPasser:
    """Passes on the requests of one client. Methods that wait raise MalformedFrame and OSError."""

    def __init__(self, tools: SessionTools, replies: ReplyMaker, hold_answers: HoldAnswers) -> None:
        self._tools = tools
        self._hold_answers = hold_answers
        self._replies = replies

    def pass_on(self, link: BrokerLink, head: RequestHead, frame: memoryview, began_s: float) -> Awaitable[Reply]:
        """Passes on a request as it came; returns the reply. Also raises: CloseConnection."""
        is_answered = head.key != ApiKey.PRODUCE or acks_of_produce(frame, head.version) != 0
        return self.pass_request_in_pieces(link, head, frame_with_size(frame), began_s, is_answered=is_answered)

    def pass_request_in_pieces(
        self, link: BrokerLink, head: RequestHead, pieces: Sequence[Piece], began_s: float, *, is_answered: bool
    ) -> Awaitable[Reply]:
        """As `pass_on`, for a whole request in pieces."""
        if is_answered:
            return self._send_and_answer(link, head, pieces, began_s, head.version)
        return self._send(link, head, pieces, began_s)

    def replace_version_and_pass(
        self, link: BrokerLink, head: RequestHead, frame: memoryview, began_s: float, sent_as: int
    ) -> Awaitable[Reply]:
        """As `pass_on`, but replaces the version number; for two versions of the same layout."""
        return self._send_and_answer(link, head, replace_version(frame, sent_as), began_s, sent_as)

    async def pass_api_versions(self, link: BrokerLink, head: RequestHead, frame: memoryview, began_s: float) -> Reply:
        await link.connection.send(frame_with_size(frame))
        held = self._hold_answers()
        body = await self._read_whole_answer(link, head, held, is_decoded=False)
        answer = frame_answer(head, [rewrite_api_versions(head.version, body, self._tools.offer)])
        held.release()
        return self._replies.make_reply(answer, head, began_s, head.version)

    async def _send(self, link: BrokerLink, head: RequestHead, pieces: Sequence[Piece], began_s: float) -> Reply:
        await link.connection.send(pieces)
        return self._replies.make_reply(None, head, began_s, head.version)

    async def _send_and_answer(
        self, link: BrokerLink, head: RequestHead, pieces: Sequence[Piece], began_s: float, sent_as: int
    ) -> Reply:
        await link.connection.send(pieces)
        if has_broker_addresses(head.key, head.version):
            return await self.read_and_rewrite_answer(link, head, began_s, sent_as)
        frame = await link.read_frame_if_whole(head)
        if frame is not None:
            return self._replies.make_reply([frame], head, began_s, sent_as)
        size = await link.read_head(head)
        first = encode_frame_head(head, size)
        answer: list[Piece] = [first, RelayedAnswer(link.connection, size)]
        if size <= WHOLE_BYTES:
            answer = [first + await link.connection.read(size)]
        return self._replies.make_reply(answer, head, began_s, sent_as)

    async def read_and_rewrite_answer(self, link: BrokerLink, head: RequestHead, began_s: float, sent_as: int) -> Reply:
        held = self._hold_answers()
        body = await self._read_whole_answer(link, head, held, is_decoded=head.key == ApiKey.FIND_COORDINATOR)
        try:
            answer = frame_answer(head, await self._translate_addresses(head, body))
        except BaseException as fault:
            held.release()
            if isinstance(fault, OSError):
                raise CloseConnection(str(fault)) from None
            raise
        reply = self._replies.make_reply(answer, head, began_s, sent_as)
        reply.claim = held.shrink_to(count_answer_bytes(answer))
        return reply

    async def _read_whole_answer(
        self, link: BrokerLink, head: RequestHead, held: HeldAnswerMemory, *, is_decoded: bool
    ) -> bytes:
        size = await link.read_head(head)
        await held.claim_for(size, is_decoded=is_decoded)
        try:
            return await link.read(size, held)
        except BaseException:
            held.release()
            raise

    async def _translate_addresses(self, head: RequestHead, body: bytes) -> Sequence[bytes | memoryview]:
        """Returns the body of an answer with the gateway's addresses. A worker reads a large one twice: to find its
        brokers, and to replace their addresses. Raises: MalformedFrame, OSError."""
        tools = self._tools
        if len(body) <= INLINE_BYTES:
            return rewrite_addresses(head.key, head.version, body, tools.translate_address)
        named: dict[tuple[int, HostPort], HostPort] = {}

        def note(broker: int, address: HostPort) -> HostPort:
            return named.setdefault((broker, address), address)

        await tools.workers.run(partial(rewrite_addresses, head.key, head.version, body, note))
        turn = tools.turns.begin()
        for broker, address in named:
            named[broker, address] = tools.translate_address(broker, address)
            await turn.next()
        return await tools.workers.run(partial(rewrite_addresses, head.key, head.version, body, note))
