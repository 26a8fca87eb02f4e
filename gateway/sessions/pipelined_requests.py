"""Passes on requests of one client without waiting for the answers to those before.

Their bytes go to the broker as they come, and the bytes of its answers to the client: requests that a client sends
together stay together, and a large one is never held. Only requests that go to the cluster unchanged are taken, and of
those whose answers may have to be changed, only Produce: if it has a new leader's address, that one answer is read as a
whole. The broker answers in the order of the requests.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from struct import Struct
from time import perf_counter
from typing import NamedTuple

from ...network.answerer import CloseConnection
from ...network.clients.seen_client import SeenClient
from ...network.memory_budget import Claim
from ...network.peer import Peer
from ...network.transport import PlainTransport
from ...protocol.api import ApiKey
from ...protocol.errors import MalformedFrame
from ...protocol.schema import Piece
from ..addresses.broker_addresses import has_broker_addresses, names_leaders
from ..gateway_metrics import GatewayMeter
from ..offered_versions import LOWERED, NOT_OFFERED, TOKEN_REQUESTS, is_translated
from ..request_frame import HEAD, INT16, SIZE, RequestHead, find_acks
from .broker_link import BrokerLink
from .broker_links import BrokerLinks
from .passer import INLINE_BYTES, RequestPasser
from .session_tools import SessionTools

MOST_IN_FLIGHT = 64
FEW_IN_FLIGHT = 32
"""After `MOST_IN_FLIGHT` more are taken once so few are left in flight."""
MOST_AT_ONCE = 256
"""Requests without an answer, taken in one step of the event loop."""
MOST_START_BYTES = 1024
NEVER_TAKEN = frozenset((ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE))
_SIZE_AND_ID = Struct(">i4xi")
_ANSWER_HEAD = Struct(">ii")
_VERSION_END, _ID_END = 8, 12
"""Where the API version and the correlation id end, in a frame with its size."""


class RequestKind(NamedTuple):
    """Requests of one API and version. `start`: the bytes after the correlation id by which they are known: the client
    id, and of a Produce request all that stands before its acks, and these."""

    key: int
    version: int
    api_bytes: bytes
    start: bytes
    most_bytes: int
    is_answered: bool
    may_name_leaders: bool
    meter: GatewayMeter


class PassedRequest(NamedTuple):
    """A request whose answer is outstanding."""

    correlation_id: int
    kind: RequestKind
    began_s: float


class PipelinedRequests:
    """A `FramePasser` for requests on `link`. `most_bytes`: the largest request without records, and any."""

    def __init__(
        self,
        tools: SessionTools,
        links: BrokerLinks,
        link: BrokerLink,
        passer: RequestPasser,
        client_id_bytes: bytes,
        most_bytes: tuple[int, int],
    ) -> None:
        self.link = link
        self.client_id_bytes = client_id_bytes
        self.is_full = self.refuses = self.needs_more = self.has_stalled = self.is_finishing = False
        self._tools = tools
        self._links = links
        self._passer = passer
        self._most_bytes = most_bytes
        self._connection = link.connection
        self._kinds: dict[bytes, RequestKind] = {}
        self._latest: RequestKind | None = None
        self._outstanding: deque[PassedRequest] = deque()
        self._request_left = self._answer_left = 0
        self._unsent: bytes | memoryview = b""
        self._is_lost = False
        self._wire: PlainTransport | None = None
        self._peer: Peer | None = None
        self._on_event: Callable[[], None] | None = None

    @property
    def is_busy(self) -> bool:
        return bool(self._outstanding or self._unsent)

    def begin(self, wire: PlainTransport, peer: Peer, on_event: Callable[[], None]) -> None:
        self._wire, self._peer, self._on_event = wire, peer, on_event
        self.is_full = self.refuses = self.needs_more = self.is_finishing = False
        self._connection.taker = self
        peer.on_leave = partial(_close_if_busy, self._outstanding, self._links)

    def end(self) -> None:
        if self._peer is not None:
            self._peer.on_leave = None
        self._connection.taker = self._wire = self._peer = self._on_event = None

    # Requests

    def take(self, data: bytes) -> int:
        end, began_s = len(data), perf_counter()
        at = min(self._request_left, end)
        self._request_left -= at
        self.refuses = self.needs_more = False
        if at < end and not self._may_take_more():
            self.refuses = True
        else:
            at = self._take_requests(data, at, began_s)
        if at:
            self._connection.write(data if at == end else memoryview(data)[:at])
            self._tools.metrics.client_bytes.add(at)
            self.is_full = self.is_full or not self._connection.is_writable
        return at

    def _take_requests(self, data: bytes, at: int, began_s: float) -> int:
        """Notes the requests from position `at` on; returns where those end that are taken."""
        end, outstanding, seen = len(data), self._outstanding, None
        for _ in range(MOST_AT_ONCE):
            if at == end:
                break
            if len(outstanding) >= MOST_IN_FLIGHT:
                self.is_full = True
                break
            kind = self._find_kind(data, at)
            if kind is None:
                break
            size, correlation_id = _SIZE_AND_ID.unpack_from(data, at)
            if not _ID_END - SIZE.size + len(kind.start) <= size <= kind.most_bytes:
                self.refuses = True
                break
            if kind.is_answered:
                outstanding.append(PassedRequest(correlation_id, kind, began_s))
            else:
                kind.meter.observe_handling(0, 0.0, 0.0)
            if seen is None:
                seen = self._find_seen(kind.key)
            seen.count_request((kind.key, kind.version), began_s)
            request_end = at + SIZE.size + size
            at = min(request_end, end)
            self._request_left = request_end - at
        return at

    def _may_take_more(self) -> bool:
        """Whether a login need not be renewed first, neither the client's here nor the one at the cluster."""
        sasl = self._peer.sasl if self._peer is not None else None
        if sasl is not None and sasl.has_expired:
            return False
        return not self._tools.swaps or self._tools.clock.monotonic_ms() < self._connection.log_in_at_ms

    def _find_seen(self, key: int) -> SeenClient:
        peer = self._peer
        assert peer is not None
        seen = peer.seen
        if not seen.is_kept or seen.client_id != peer.client_id:
            seen = self._tools.clients.client_of(peer, key)
        return seen

    def _find_kind(self, data: bytes, at: int) -> RequestKind | None:
        """The kind of the request at that position; None: it is not taken, or not enough of it has come."""
        kind = self._latest
        if (
            kind is not None
            and data.startswith(kind.api_bytes, at + SIZE.size)
            and data.startswith(kind.start, at + _ID_END)
        ):
            return kind
        api_bytes = data[at + SIZE.size : at + _VERSION_END]
        kind = self._kinds.get(api_bytes)
        if kind is None or not data.startswith(kind.start, at + _ID_END):
            kind = self._make_kind(data, at)
            if kind is not None:
                self._kinds[api_bytes] = kind
        self._latest = kind or self._latest
        return kind

    def _make_kind(self, data: bytes, at: int) -> RequestKind | None:
        """Reads the beginning of a request."""
        begun = memoryview(data)[at + SIZE.size : at + SIZE.size + MOST_START_BYTES]
        known_bytes = HEAD.size + len(self.client_id_bytes)
        if len(begun) < known_bytes:
            self._need_more(data, at)
            return None
        key, version, _ = HEAD.unpack_from(begun)
        end = known_bytes
        if begun[HEAD.size : end] != self.client_id_bytes or not self._is_unchanged(key, version):
            self.refuses = True
            return None
        is_answered = True
        if key == ApiKey.PRODUCE:
            try:
                end = find_acks(begun, version) + INT16.size
            except MalformedFrame:
                self._need_more(data, at)
                return None
            is_answered = INT16.unpack_from(begun, end - INT16.size)[0] != 0
        return RequestKind(
            key,
            version,
            bytes(begun[:4]),
            bytes(begun[HEAD.size : end]),
            self._most_bytes[key == ApiKey.PRODUCE],
            is_answered,
            has_broker_addresses(key, version),
            self._tools.metrics.meter_of(key, version, version),
        )

    def _need_more(self, data: bytes, at: int) -> None:
        """The beginning of a request cannot be read: waits for more of it, unless there is none or it is too long."""
        left = len(data) - at
        size = SIZE.unpack_from(data, at)[0] if left >= SIZE.size else MOST_START_BYTES
        if left < min(size + SIZE.size, MOST_START_BYTES) and size >= 0:
            self.needs_more = True
        else:
            self.refuses = True

    def _is_unchanged(self, key: int, version: int) -> bool:
        """Whether requests of that version, and their answers, are passed on as they come."""
        low, high = self.link.versions_to_offer(key)
        if not low <= version <= min(high, LOWERED.get(key, high)) or key in NEVER_TAKEN:
            return False
        if is_translated(key, version, self.link.versions.get(key, NOT_OFFERED)):
            return False
        if self._tools.swaps and key in TOKEN_REQUESTS:
            return False
        return key == ApiKey.PRODUCE or not has_broker_addresses(key, version)

    # Answers

    def take_answers(self, data: bytes) -> int:
        if self.has_stalled or self._wire is None:
            return 0
        end, now_s, outstanding = len(data), perf_counter(), self._outstanding
        at = min(self._answer_left, end)
        if at:
            self._count_answer_bytes(at, now_s)
        while end - at >= _ANSWER_HEAD.size and outstanding:
            size, correlation_id = _ANSWER_HEAD.unpack_from(data, at)
            first = outstanding[0]
            answer_end = at + SIZE.size + size
            if correlation_id != first.correlation_id or size < SIZE.size:
                self.has_stalled = True  # its fault is found where it is read
                break
            if first.kind.may_name_leaders and not _names_no_leaders(first.kind.version, data, at, answer_end):
                self.has_stalled = True
                break
            self._answer_left = answer_end - at
            self._count_answer_bytes(min(answer_end, end) - at, now_s)
            at = min(answer_end, end)
        if at:
            self._tools.metrics.upstream_bytes.add(at)
            self._send(data if at == end else memoryview(data)[:at])
        if (
            self.has_stalled
            or (self.is_full and len(outstanding) <= FEW_IN_FLIGHT)
            or (self.is_finishing and not outstanding)
        ):
            self.note_room()
        return at

    def _count_answer_bytes(self, size_bytes: int, now_s: float) -> None:
        self._answer_left -= size_bytes
        if not self._answer_left:
            done = self._outstanding.popleft()
            done.kind.meter.observe_handling(0, now_s - done.began_s, 0.0)

    def _send(self, data: bytes | memoryview) -> None:
        assert self._wire is not None
        try:
            sent = self._wire.try_send(data)
        except OSError:
            sent = 0  # raised again when the rest is sent
        if sent < len(data):
            self._unsent, self.has_stalled = bytes(data[sent:]), True

    def note_room(self) -> None:
        self.is_full = len(self._outstanding) > FEW_IN_FLIGHT or not self._connection.is_writable
        if self._on_event is not None:
            self._on_event()

    def note_loss(self) -> bool:
        self._is_lost = self.has_stalled = self.is_busy
        if self._is_lost:
            self.note_room()
        return self._is_lost

    async def next_pieces(self) -> tuple[list[Piece], Claim | None]:
        if self._unsent:
            unsent, self._unsent = self._unsent, b""
            return [unsent], None
        if self._is_lost:
            raise self._make_loss_fault(self._connection.make_loss_error())
        first = self._outstanding[0]
        head = RequestHead(first.kind.key, first.kind.version, first.correlation_id)
        self._connection.taker = None
        try:
            reply = await self._passer.read_and_rewrite_answer(self.link, head, first.began_s, head.version)
        except ConnectionResetError as fault:
            raise self._make_loss_fault(fault) from None
        self._outstanding.popleft()
        return reply.pieces or [], reply.claim

    def _make_loss_fault(self, fault: ConnectionResetError) -> Exception:
        """What ends the client's connection, with a line unless the client has ended it."""
        if self._connection.was_closed_here:
            return fault
        self._links.note_lost_brokers()
        return CloseConnection(str(fault))

    def resume(self) -> None:
        self.has_stalled = self._is_lost
        self._connection.taker = self
        self._connection.offer_received_bytes()
        self.note_room()


def _names_no_leaders(version: int, data: bytes, at: int, end: int) -> bool:
    """Whether a whole answer to Produce at that position has no brokers; a long one is not looked at."""
    if end > len(data) or end - at > INLINE_BYTES:
        return False
    try:
        return not names_leaders(version, memoryview(data)[at + _ANSWER_HEAD.size : end])
    except (MalformedFrame, IndexError):
        return False


def _close_if_busy(outstanding: deque[PassedRequest], links: BrokerLinks) -> None:
    """The client has left: no one waits for the answers."""
    if outstanding:
        links.close()
