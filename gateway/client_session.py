"""One client's connection: what becomes of each of its requests.

    passed        the frame goes to the cluster as it came, and the answer back, as far as the client takes it
    rewritten     the same, and addresses or version ranges in the answer are changed
    translated    the request is decoded and answered by a translation
    refused       a line in the log says why, and the connection is closed, as the cluster does it

Requests are handled one after the other, as a broker does it for a connection, so answers leave in the order asked.
There is one connection to the cluster for each of a client, opened with its first request; when the one is closed, so
is the other.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from ..client.versions import VersionRanges
from ..config.keys.endpoints import HostPort
from ..network.clients.client_report import ClientReport
from ..network.clients.seen_client import SeenClient
from ..network.clock import Clock
from ..network.connection import CloseConnection, Peer, Reply
from ..network.memory_budget import Claim, MemoryBudget
from ..network.sasl.answers import answer_handshake, answer_token
from ..network.worker_threads import WorkerThreads
from ..protocol.api import API, ApiKey, spec_of_request
from ..protocol.errors import ApiError, MalformedFrame
from ..protocol.frame import decode_request_header, decode_response, encode_request, encode_response
from ..protocol.kafka_releases import api_name
from ..protocol.messages.api_versions import ApiVersionsRequest
from ..protocol.messages.sasl_handshake import SaslHandshakeRequest
from ..protocol.primitives import size_of
from ..protocol.records.layout import Codec
from ..protocol.schema import Piece, decode
from .broker_addresses import names_brokers, rewrite_addresses
from .error_mapping import map_code, map_errors
from .gateway_metrics import GatewayMetrics
from .login_relay import LoginRelay
from .offered_versions import (
    BETWEEN_BROKERS,
    NEWEST,
    NOT_OFFERED,
    TRANSLATED,
    is_translated,
    offer,
    refuse_api_versions,
    rewrite_api_versions,
)
from .relayed_answer import RelayedAnswer
from .request_frame import SIZE, RequestHead, acks_of_produce, client_id_of, read_head, renumber, with_size
from .translations import RENUMBERED, TRANSLATIONS
from .translations.call import AskUpstream, Call, Rotation
from .upstream import Upstream, UpstreamFailed
from .upstream_connection import UpstreamConnection

WHOLE_BYTES = 64 * 1024
"""An answer of at most this size is read before any of it is sent."""
SOFTWARE_FROM = 3
MOST_HELD_BYTES = 256 << 20
"""Of an answer that is changed, and so held as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTools:
    """What all sessions share. `translate_address` gives the address here of a broker of the cluster."""

    upstream: Upstream
    metrics: GatewayMetrics
    clock: Clock
    memory: MemoryBudget
    workers: WorkerThreads
    translate_address: Callable[[int, HostPort], HostPort]
    clients: ClientReport
    zstd_to: Codec | None


class ClientSession:
    """Answers the frames of one connection, which is to a `broker`. `hang_up` closes it."""

    def __init__(self, tools: SessionTools, broker: int, hang_up: Callable[[], None]) -> None:
        self._tools = tools
        self._metrics = tools.metrics
        self._broker = broker
        self._hang_up = hang_up
        self._connection: UpstreamConnection | None = None
        self._versions: VersionRanges = {}
        self._address: HostPort | None = None
        self._is_closed = False
        self._rotation = Rotation()
        self._login: LoginRelay | None = None
        self._client_id_bytes = b""

    def close(self) -> None:
        """The client has gone, or is to go."""
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def answer(self, frame: memoryview, peer: Peer) -> Coroutine[Any, Any, Reply]:
        return self._answer(frame, peer)

    def note_reply(self, reply: Reply) -> None:
        reply.meter.observe_sending(0.0, perf_counter() - reply.began_s)

    async def _answer(self, frame: memoryview, peer: Peer) -> Reply:
        """Raises: CloseConnection, MalformedFrame, OSError."""
        peer.on_leave = self.close
        self._metrics.client_bytes.add(len(frame))
        try:
            return await self._dispatch(frame, peer)
        except UpstreamFailed as fault:
            self._metrics.upstream_failures.of(str(self._broker) if self._broker >= 0 else "bootstrap").add()
            raise CloseConnection(f"the cluster cannot be reached: {fault}") from None
        except ConnectionResetError as fault:
            if self._is_closed:
                raise
            if self._address is not None:
                self._tools.upstream.forget_versions(self._address)
            raise CloseConnection(f"{fault} at {self._address}") from None
        finally:
            peer.on_leave = None

    async def _dispatch(self, frame: memoryview, peer: Peer) -> Reply:
        began_s = perf_counter()
        if self._login is not None and self._login.takes_tokens:
            return await self._relay_token(self._login, frame, began_s)
        head = read_head(frame)
        self._note_client(frame, peer)
        if peer.sasl is not None and head.key in (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE):
            return self._log_in_here(head, frame, peer, began_s)
        upstream = await self._upstream()
        if head.key == ApiKey.API_VERSIONS:
            return await self._pass_api_versions(upstream, head, frame, peer, began_s)
        taken = self._versions.get(head.key, NOT_OFFERED)
        self._check_version(head, taken)
        self._count_request(head, peer, began_s)
        if head.key == ApiKey.SASL_HANDSHAKE and head.version == 0:
            return await self._begin_login(head, frame, began_s)
        if is_translated(head.key, head.version, taken):
            if head.key in RENUMBERED:
                sent_as = TRANSLATED[head.key].sent_as
                return await self._pass(upstream, head, renumber(frame, sent_as), began_s, sent_as)
            return await self._translate(head, frame, peer, began_s)
        is_answered = head.key != ApiKey.PRODUCE or acks_of_produce(frame, head.version) != 0
        return await self._pass(upstream, head, with_size(frame), began_s, head.version, is_answered=is_answered)

    def _note_client(self, frame: memoryview, peer: Peer) -> None:
        """The client id, which each request carries, is decoded when it is another one."""
        if (
            bytes(frame[8 : 10 + len(self._client_id_bytes)]) != _prefix(self._client_id_bytes)
            or not self._client_id_bytes
        ):
            peer.client_id = client_id_of(frame)
            self._client_id_bytes = peer.client_id.encode()

    def _count_request(self, head: RequestHead, peer: Peer, began_s: float) -> None:
        """For the client report; of a version that is offered, which nobody else may choose."""
        seen = peer.seen
        if not seen.is_kept or seen.client_id != peer.client_id:
            seen = self._tools.clients.client_of(peer, head.key)
        seen.count_request((head.key, head.version), began_s)

    async def _upstream(self) -> UpstreamConnection:
        """Raises: UpstreamFailed."""
        if self._is_closed:
            raise ConnectionResetError("the client has gone")
        if self._connection is None:
            found = await self._tools.upstream.connect(self._broker, self._lose_upstream)
            self._connection, self._versions, self._address = found
        return self._connection

    def _lose_upstream(self) -> None:
        if self._address is not None:
            self._tools.upstream.forget_versions(self._address)
        self._hang_up()

    def _check_version(self, head: RequestHead, taken: tuple[int, int]) -> None:
        """Raises: CloseConnection."""
        low, high = offer(head.key, taken)
        name = api_name(head.key)
        if head.key in BETWEEN_BROKERS and not taken[0] <= head.version <= taken[1]:
            reason = f"{name} is a request between brokers, which do not speak through the gateway"
        elif low > high:
            reason = f"{name} is not offered here"
        elif not low <= head.version <= high:
            reason = f"{name} {head.version} is asked, {low} to {high} are offered"
        else:
            return
        self._metrics.refused.of(name, str(head.version) if 0 <= head.version < 100 else "other").add()
        raise CloseConnection(reason)

    # Passing

    async def _pass(
        self,
        upstream: UpstreamConnection,
        head: RequestHead,
        pieces: Sequence[Piece],
        began_s: float,
        sent_as: int,
        *,
        is_answered: bool = True,
    ) -> Reply:
        await upstream.send(pieces)
        meter = self._metrics.meter_of(head.key, head.version, sent_as)
        if not is_answered:
            return self._reply(None, head, began_s, sent_as)
        size = await self._read_head(upstream, head)
        if names_brokers(head.key, head.version):
            body, claim = await self._read_whole(upstream, size)
            try:
                rewritten = rewrite_addresses(head.key, head.version, body, self._tools.translate_address)
            except OSError as fault:
                raise CloseConnection(str(fault)) from None
            reply = self._reply(_frame(head, rewritten), head, began_s, sent_as)
            reply.claim = claim
            return reply
        first = SIZE.pack(size + 4) + SIZE.pack(head.correlation_id)
        answer: list[Piece] = [first, RelayedAnswer(upstream, size)]
        if size <= WHOLE_BYTES:
            answer = [first + await upstream.read(size)]
        meter.observe_handling(0, perf_counter() - began_s, 0.0)
        return Reply(answer, meter, began_s, perf_counter())

    async def _pass_api_versions(
        self, upstream: UpstreamConnection, head: RequestHead, frame: memoryview, peer: Peer, began_s: float
    ) -> Reply:
        if not 0 <= head.version <= NEWEST[ApiKey.API_VERSIONS]:
            return self._reply(_frame(head, [refuse_api_versions()]), head, began_s, head.version, is_known=False)
        self._count_request(head, peer, began_s)
        if head.version >= SOFTWARE_FROM:
            _note_software(frame, peer)
        await upstream.send(with_size(frame))
        size = await self._read_head(upstream, head)
        body, claim = await self._read_whole(upstream, size)
        reply = self._reply(_frame(head, [rewrite_api_versions(head.version, body)]), head, began_s, head.version)
        reply.claim = claim
        return reply

    def _reply(
        self,
        pieces: list[Piece] | None,
        head: RequestHead,
        began_s: float,
        sent_as: int,
        *,
        is_known: bool = True,
    ) -> Reply:
        meter = self._metrics.meter_of(head.key, head.version if is_known else -1, sent_as if is_known else -1)
        meter.observe_handling(0, perf_counter() - began_s, 0.0)
        return Reply(pieces, meter, began_s, perf_counter())

    async def _read_head(self, upstream: UpstreamConnection, head: RequestHead) -> int:
        """The bytes of the answer after its correlation id. Raises: MalformedFrame, OSError."""
        size, correlation_id = await upstream.read_head()
        self._metrics.upstream_bytes.add(size)
        if correlation_id != head.correlation_id:
            raise MalformedFrame(
                f"the broker at {self._address} answers request {correlation_id} instead of {head.correlation_id}"
            )
        return size

    async def _read_whole(self, upstream: UpstreamConnection, size: int) -> tuple[bytes, Claim | None]:
        """An answer that has to be held, and the memory that it is charged with if it is not small.

        Raises: MalformedFrame, OSError.
        """
        if size > MOST_HELD_BYTES:
            raise MalformedFrame(
                f"the broker at {self._address} answers with {size} bytes, {MOST_HELD_BYTES} is the most"
            )
        if size <= WHOLE_BYTES:
            return await upstream.read(size), None
        claim = self._tools.memory.try_claim(size) or await self._tools.memory.claim(size)
        try:
            return await upstream.read(size), claim
        except BaseException:
            claim.release()
            raise

    # Translating

    async def _translate(self, head: RequestHead, frame: memoryview, peer: Peer, began_s: float) -> Reply:
        spec = API[ApiKey(head.key)]
        header, body = decode_request_header(frame)
        request = decode(spec.request, head.version, body)
        sent_as, seen = TRANSLATED[head.key].sent_as, peer.seen
        seen.translated[head.key, head.version, sent_as] += 1

        def lose(what: str, count: int) -> None:
            self._metrics.lost.of(what).add(count)
            seen.lost[what] += count

        call = Call(
            key=head.key,
            version=head.version,
            sent_as=sent_as,
            request=request,
            ask=self._asking(head.correlation_id, header.client_id),
            ask_coordinator=self._tools.upstream.ask_coordinator,
            clock=self._tools.clock,
            memory=self._tools.memory,
            workers=self._tools.workers,
            lose=lose,
            count_records=seen.count_records,
            rotation=self._rotation,
            zstd_to=self._tools.zstd_to,
        )
        try:
            response = await TRANSLATIONS[head.key](call)
            pieces = None
            if response is not None:
                mapped = map_errors(response, lambda code: self._map_code(head, seen, code))
                pieces = encode_response(spec, head.version, head.correlation_id, mapped)
        except BaseException:
            if call.claim is not None:
                call.claim.release()
            raise
        reply = self._reply(pieces, head, began_s, call.sent_as)
        reply.claim = _keep_for(pieces, call.claim)
        return reply

    def _map_code(self, head: RequestHead, seen: SeenClient, code: int) -> int:
        known = map_code(head.key, head.version, code)
        if known != code:
            seen.mapped_errors[head.key, code, known] += 1
            self._metrics.mapped_errors.of(api_name(head.key), str(code), str(known)).add()
        return known

    def _asking(self, correlation_id: int, client_id: str | None) -> AskUpstream:
        async def ask(request: Any, version: int, *, is_answered: bool = True, holder: Call | None = None) -> Any:
            upstream, spec = await self._upstream(), spec_of_request(request)
            await upstream.send(encode_request(spec, version, correlation_id, client_id, request))
            if not is_answered:
                return None
            size = await self._read_head(upstream, RequestHead(spec.key, version, correlation_id))
            body = await self._read_for(upstream, size, holder)
            return decode_response(spec, version, memoryview(b"\0\0\0\0" + body))[1]

        return ask

    async def _read_for(self, upstream: UpstreamConnection, size: int, holder: Call | None) -> bytes:
        """An answer that is charged to the claim of `holder`, which grows to its size; that may wait for others."""
        claim = None if holder is None else holder.claim
        if holder is None or claim is None or size > claim.size_bytes:
            if claim is not None:
                claim.release()
            body, claim = await self._read_whole(upstream, size)
            if holder is not None:
                holder.claim = claim
            elif claim is not None:
                claim.release()  # the response that is made of it is small
            return body
        return await upstream.read(size)

    # Logging in

    async def _begin_login(self, head: RequestHead, frame: memoryview, began_s: float) -> Reply:
        """SaslHandshake 0, after which bare tokens follow."""
        header, body = decode_request_header(frame)
        request = decode(SaslHandshakeRequest, 0, body)
        self._login = LoginRelay(self._asking(head.correlation_id, header.client_id))
        response = await self._login.begin(request.mechanism)
        pieces = encode_response(API[ApiKey.SASL_HANDSHAKE], 0, head.correlation_id, response)
        return self._reply(pieces, head, began_s, 1)

    async def _relay_token(self, login: LoginRelay, frame: memoryview, began_s: float) -> Reply:
        token = await login.step(bytes(frame))
        meter = self._metrics.meter_of(ApiKey.SASL_AUTHENTICATE, 0, 1)
        meter.observe_handling(len(frame), perf_counter() - began_s, 0.0)
        return Reply([SIZE.pack(len(token)) + token], meter, began_s, perf_counter())

    def _log_in_here(self, head: RequestHead, frame: memoryview, peer: Peer, began_s: float) -> Reply:
        """A step of a client's login at the gateway itself; `SaslGate` looks after the order."""
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
        return self._reply(
            encode_response(spec, head.version, head.correlation_id, response), head, began_s, head.version
        )


def _frame(head: RequestHead, body: Sequence[bytes | memoryview]) -> list[Piece]:
    """The frame of an answer; one piece if it is small, so that it may leave together with others."""
    size = sum(map(len, body))
    first = SIZE.pack(size + 4) + SIZE.pack(head.correlation_id)
    return [b"".join((first, *body))]


def _keep_for(pieces: list[Piece] | None, claim: Claim | None) -> Claim | None:
    """What is left of a claim until an answer is sent: nothing for a small one, which may wait for others to leave."""
    size = sum(map(size_of, pieces or ()))
    if claim is None or size > WHOLE_BYTES:
        if claim is not None:
            claim.shrink(size)
        return claim
    claim.release()
    return None


def _note_software(frame: memoryview, peer: Peer) -> None:
    """What an ApiVersions request says of the client's software. Raises: MalformedFrame."""
    header, body = decode_request_header(frame)
    request = decode(ApiVersionsRequest, header.api_version, body)
    peer.software_name, peer.software_version = request.client_software_name, request.client_software_version
    if peer.seen.is_kept:
        peer.seen = SeenClient()  # from its next request on it is another client


def _prefix(text: bytes) -> bytes:
    return len(text).to_bytes(2, "big") + text
