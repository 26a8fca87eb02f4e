"""One client's connection: frames in, answers out, one request at a time.

The next request is not handled before the answer to the current one is made, as Kafka mutes a channel. One read takes
up to `READ_BYTES` and may bring later requests, too; while a request is answered, more is read only up to
`READ_AHEAD_BYTES`, and the rest stays in the kernel. So a peer costs one incomplete frame, the bytes read ahead and one
response.

Small answers to requests that were read ahead are sent together, in one system call: when there are many, before a
handler waits, when no complete frame is left, or when the connection's turn ends (turn.py).

A gateway passes most requests on as they came: from `let_pass` on, their bytes do not become frames (byte_passage.py).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from time import perf_counter

from ..protocol.errors import MalformedFrame, TlsInFrame
from ..protocol.frame import FrameParser
from ..protocol.schema import Piece
from .admission.request_claims import (
    CHARGED_FRAME_BYTES,
    FREE_PARSED_BYTES,
    RESTRICTED_BYTES,
    RequestClaims,
    memory_bytes_of,
)
from .admission.shared_by_connections import SharedByConnections
from .admission.unread_answer import UnreadAnswer
from .answerer import Answerer, CloseConnection, Reply
from .byte_passage import READ_BYTES, BytePassage, FramePasser
from .memory_budget import Claim, MemoryBudget
from .peer import Peer, do_nothing_with_frame
from .sender import Sender
from .transport import PlainTransport
from .worker_threads import drop_traceback

READ_AHEAD_BYTES = 64 * 1024
MOST_NAME_LOGGED = 100
SMALL_ANSWER_BYTES = 4 * 1024
MOST_HELD = 16

log = logging.getLogger(__name__)


class Connection:
    """Serves one accepted socket until it ends.

    `asked_ms`: when its latest complete request came, or a TLS handshake before a login ended. `is_busy`: a request is
    being answered. `first` is awaited before the first request is read;
    its errors end `serve` like those of a request. `at_end` is called at the end. `is_restricted`: the peer is not
    authenticated.
    """

    def __init__(
        self,
        wire: PlainTransport,
        peer: Peer,
        parser: FrameParser,
        sender: Sender,
        shared: SharedByConnections,
    ) -> None:
        self.peer = peer
        self.asked_ms: int | None = None
        self.last_active_ms = shared.clock.monotonic_ms()
        self.is_busy = False
        self._is_answering = False
        self.is_restricted = False
        self.first: Callable[[], Awaitable[None]] | None = None
        self.at_end: Callable[[], None] | None = None
        self._wire = wire
        self._parser = parser
        self._sender = sender
        self._shared = shared
        self._clock = shared.clock
        self._claims = claims = RequestClaims(wire, peer, parser, shared, self._close_with_line)
        self._unrestricted_frame_bytes = parser.max_bytes
        self._read_ahead_bytes = READ_AHEAD_BYTES
        peer.release_frame, peer.release_parsed_request = claims.release, claims.release_parsed_request
        peer.allow_frame_reclaim = claims.allow_reclaim
        self._seen_sent_bytes = 0
        self._unread = UnreadAnswer(wire, peer, shared, self._close_for_unread_answer)
        self._turn = peer.turn
        self._at_end = False
        self._is_draining = False
        self._arrival: asyncio.Future[None] | None = None
        self._passer: FramePasser | None = None
        self._passage: BytePassage | None = None
        self._muted: asyncio.Future[None] | None = None
        self._held: list[Reply] = []  # answers to send together
        self._unsent = b""  # the rest of answers that are held no more

    @property
    def has_unanswered_request(self) -> bool:
        """Whether a request has come whose answer is not made yet."""
        return self._is_answering or (self._passage is not None and self._passage.is_busy)

    def let_pass(self, passer: FramePasser) -> None:
        """Lets `passer` take the requests after this one, until it does not take one."""
        self._passer = passer

    async def serve(self, answerer: Answerer) -> str:
        """Answers frames until the peer closes or breaks the protocol. Returns why it ended: end, fault, lost or
        failure.
        """
        try:
            if self.first is not None:
                await self.first()
                self.first = None
            while True:
                if self._passer is not None:
                    await self._let_bytes_pass(self._passer)
                frame = None if self._is_draining else self._parser.next_frame()
                if frame is None:
                    if await self._send_held_replies():
                        continue  # meanwhile more may have been read
                    if self._at_end or self._is_draining:
                        return "end"
                    await self._await_bytes()
                    continue
                if self._turn.is_over():
                    await self._send_held_replies()
                    await self._turn.yield_to_others()
                if self._claims.frame is not None:
                    self._claims.frame.forbid_reclaim()
                self.is_busy = self._is_answering = True
                self.asked_ms = self.last_active_ms
                if len(frame) > FREE_PARSED_BYTES and not self.is_restricted and (cost := memory_bytes_of(frame)):
                    await self._claim_for_parsed_request(cost)
                answer = answerer.answer(frame, self.peer)
                del frame  # frees the request while a handler waits, or the peer does not read
                if isinstance(answer, Reply):
                    reply = answer
                else:
                    self._try_to_send_held_replies()
                    reply = await answer
                self._is_answering = False
                del answer
                if self._claims.frame is not None or self._claims.parsed is not None:
                    self._claims.release()
                pieces = reply.pieces
                # The first piece is bytes: the size of the answer and its header.
                if pieces is None or (len(pieces) == 1 and len(pieces[0]) <= SMALL_ANSWER_BYTES):  # type: ignore[arg-type]
                    self._held.append(reply)
                    if len(self._held) >= MOST_HELD:
                        await self._send_held_replies()
                else:
                    await self._send_pieces(pieces, reply.claim)
                    self._count_sent_replies((reply,))
                if reply.throttle_ms:
                    await self._send_held_replies()
                    await self._mute(reply.throttle_ms)
                # An idle connection must not hold its last answer: slices of files that may be deleted.
                del reply, pieces
        except (MalformedFrame, CloseConnection) as fault:
            self._log_close(str(fault), is_refusal=isinstance(fault, TlsInFrame))
            self._is_answering = False
            self._claims.release()
            drop_traceback(fault)  # its frames hold the request while the held answers are sent
            with suppress(OSError):
                await self._send_held_replies()
                if isinstance(fault, CloseConnection) and fault.last:
                    await self._sender.send((fault.last,), self._unread.wait_for_room)
            return "fault"
        except OSError:
            return "lost"
        except Exception:  # a fault of ours ends this connection and no other
            log.exception("closing %s (client %r): unexpected failure", self.peer, self.peer.client_id)
            return "failure"
        finally:
            self.close()
            if self.at_end is not None:
                self.at_end()
            self.peer.release_frame = self.peer.release_parsed_request = do_nothing_with_frame
            self.peer.allow_frame_reclaim = do_nothing_with_frame
            self._unread.give_up = do_nothing_with_frame
            self._claims.close = do_not_close
            self.first = self.at_end = None  # breaks the cycle through these, so that memory is freed now

    def restrict(self, most_frame_bytes: int | None, memory: MemoryBudget) -> None:
        """Until `unrestrict`, reads little at a time and charges all but small frames to `memory`."""
        self.is_restricted = True
        self._read_ahead_bytes = RESTRICTED_BYTES
        self._claims.restrict(memory)
        if most_frame_bytes is not None:
            self._parser.max_bytes = min(most_frame_bytes, self._unrestricted_frame_bytes)

    def unrestrict(self) -> None:
        """Lifts the restrictions once the peer is authenticated."""
        self.is_restricted = False
        self._read_ahead_bytes = READ_AHEAD_BYTES
        self._claims.unrestrict()
        self._parser.max_bytes = self._unrestricted_frame_bytes

    def close(self) -> None:
        """Closes now, and frees what was read of a request together with its claim."""
        self._wire.close()
        self._parser.clear()
        self._claims.release()
        self._claims.release_read_ahead()
        self._unread.release()
        self._unsent = b""
        self._shared.half_frames.release(self, self.peer.network)
        if self._muted is not None and not self._muted.done():
            self._muted.set_exception(ConnectionResetError("closed"))
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_exception(ConnectionResetError("closed"))
        if self._passage is not None:
            self._passage.fail(ConnectionResetError("closed"))

    async def _mute(self, duration_ms: int) -> None:
        """Reads nothing from the peer for that time (KIP-219). Raises: ConnectionResetError when it is closed."""
        self._wire.unwatch()
        self._muted = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(duration_ms, self._unmute)
        try:
            await self._muted
        finally:
            timer.cancel()
            self._muted = None

    def _unmute(self) -> None:
        if self._muted is not None and not self._muted.done():
            self._muted.set_result(None)

    def abort(self) -> None:
        """Closes with a reset, which may drop what was sent last."""
        self._wire.reset_on_close()
        self.close()

    def note_progress(self) -> None:
        """Marks the connection as active if the peer has read anything since the last call."""
        if self._wire.sent_bytes != self._seen_sent_bytes:
            self._seen_sent_bytes = self._wire.sent_bytes
            self.last_active_ms = self._clock.monotonic_ms()

    def drain(self) -> None:
        """Finishes the current request, then closes."""
        self._is_draining = True
        if self._passage is not None:
            self._passage.wake()
        elif not self.is_busy:
            self.close()

    async def _let_bytes_pass(self, passer: FramePasser) -> None:
        """Returns when a request has come that `passer` does not take, or no more come, and all answers were sent."""
        await self._send_held_replies()
        passage = self._passage = BytePassage(
            passer,
            self._parser,
            self._receive_to_pass,
            self._send_pieces,
            lambda: self._at_end or self._is_draining,
            self._shared.read_ahead.claim_unconditionally,
            lambda: self._wire.watch(self._on_readable),
        )
        passer.begin(self._wire, self.peer, passage.wake)
        try:
            await passage.run(self._yield_if_turn_is_over)
            await passage.finish(lambda: self._at_end)
        finally:
            passer.end()
            self._passer = self._passage = None
            self.is_busy = False
        self._turn.begin()

    def _receive_to_pass(self) -> bytes | None:
        data = self._wire.try_receive(RESTRICTED_BYTES if self._shared.read_ahead.is_full else READ_BYTES)
        if data:
            self.last_active_ms = self.asked_ms = self._clock.monotonic_ms()
        elif data is not None:
            self._note_end()
        return data

    async def _yield_if_turn_is_over(self) -> None:
        if self._turn.is_over():
            await self._turn.yield_to_others()

    def _send_pieces(self, pieces: list[Piece], claim: Claim | None) -> Awaitable[None]:
        """Returns what to await until all is sent, and the claim released. Raises, when awaited: OSError."""
        if claim is not None or self._held or self._unsent:
            return self._send_after_held_replies(pieces, claim)
        return self._sender.send(pieces, self._unread.wait_for_room)

    async def _send_after_held_replies(self, pieces: list[Piece], claim: Claim | None) -> None:
        try:
            await self._send_held_replies()
            self.is_busy = True
            if claim is not None:
                self._unread.begin_long_answer(claim)
            await self._sender.send(pieces, self._unread.wait_for_room)
        finally:
            if claim is not None:
                claim.release()
                self._unread.release()

    async def _send_held_replies(self) -> bool:
        """Sends all held answers. Returns whether it waited for the peer, and more may have been read meanwhile.

        Raises: OSError when the peer has gone.
        """
        waits = False
        if self._held or self._unsent:
            data, held = self._take_held_replies()
            sent = self._wire.try_send(data) if data else 0
            waits = sent < len(data)
            if waits:
                data = data[sent:]  # keeps only the rest while the peer does not read
                await self._sender.send((data,), self._unread.wait_for_room)
            self._count_sent_replies(held)
        return waits

    def _try_to_send_held_replies(self) -> None:
        """Sends held answers as far as the socket takes them now, so that a handler need not wait for this peer."""
        if not self._held:
            return
        data, held = self._take_held_replies()
        with suppress(OSError):  # raised again when the handler's own answer is sent
            self._unsent = data[self._wire.try_send(data) :] if data else b""
            if self._unsent:
                self._unread.count_unread(len(self._unsent) + self._wire.unsent_bytes)
        self._count_sent_replies(held)
        self.is_busy = True

    def _take_held_replies(self) -> tuple[bytes, list[Reply]]:
        held, self._held = self._held, []
        parts = [self._unsent]
        for reply in held:
            parts += reply.pieces or ()  # type: ignore[arg-type]  # bytes, or they would not be held
            reply.pieces = None
        if self._unsent:
            self._unsent = b""
            self._unread.release()
        return b"".join(parts), held

    def _count_sent_replies(self, replies: Iterable[Reply]) -> None:
        """Counts how long sending took, conversion while sending included, and notes that the connection is active."""
        now_s = perf_counter()
        for reply in replies:
            reply.meter.observe_sending(now_s - reply.ready_s, now_s - reply.began_s)
            if reply.throttle_ms:
                reply.meter.count_throttling(reply.throttle_ms)
        self._seen_sent_bytes = self._wire.sent_bytes
        self.last_active_ms = self._clock.monotonic_ms()
        self.is_busy = False

    async def _await_bytes(self) -> None:
        """Waits for bytes that may complete a frame, or for the end of the stream."""
        held_bytes = len(self._parser.partial)
        if held_bytes:
            await self._claims.claim_for_pending_frame()
        if self._claims.read_ahead is not None:
            self._claims.release_read_ahead()
        if not self._turn.is_over() and self._read():
            return
        is_half = self._claims.frame is None and held_bytes > 0
        self._arrival = asyncio.get_running_loop().create_future()
        self._wire.watch(self._on_readable)
        if is_half:
            self._shared.half_frames.keep(self, self.peer.network, held_bytes, self._close_for_half_frame_memory)
        try:
            await self._arrival
        finally:
            self._arrival = None
            if is_half:
                self._shared.half_frames.release(self, self.peer.network)
        self._turn.begin()

    async def _claim_for_parsed_request(self, size_bytes: int) -> None:
        """Claims memory for the parsed request. Raises: ConnectionResetError if the connection was closed meanwhile."""
        if not self._claims.try_claim_for_parsed_request(size_bytes):
            await self._send_held_replies()
            self.is_busy = True
            await self._claims.claim_for_parsed_request(size_bytes)
            self._turn.begin()

    def _close_for_half_frame_memory(self) -> None:
        """Closes: incomplete requests hold too many bytes."""
        self._close_with_line(
            f"{self._parser.held_bytes} bytes of a request have come, and unfinished requests hold too much memory; "
            "see stepdown.request.memory.bytes"
        )

    def _close_for_unread_answer(self) -> None:
        """Closes: others need the memory of an answer that is read too slowly."""
        self.peer.note_departure()
        self._close_with_line(
            "it reads its answer too slowly while others need the memory of answers; see "
            "stepdown.request.min.bytes.per.second and stepdown.request.memory.bytes"
        )

    def _close_with_line(self, why: str) -> None:
        self._log_close(why)
        self.close()

    def _log_close(self, why: str, *, is_refusal: bool = False) -> None:
        name = self.peer.client_id[:MOST_NAME_LOGGED]
        self._shared.lines.warn(log, self.peer.network, f"closing {self.peer} (client {name!r}): {why}", why)
        if is_refusal or self.is_restricted or (self.peer.sasl is not None and self.peer.sasl.refusal is not None):
            self._shared.on_refusal(f"{self.peer.host} (client {name!r}): {why}")

    def _read(self, most_bytes: int = READ_BYTES) -> bool:
        """Reads what has arrived and feeds it to the parser; returns False if nothing has.

        Reads little while others wait for request memory, unless this request has its claim.
        """
        if self.is_restricted or (self._claims.frame is None and self._shared.read_ahead.is_full):
            most_bytes = min(most_bytes, RESTRICTED_BYTES)
        elif self._claims.frame is None and self._shared.request_memory.waiting_count:
            most_bytes = min(most_bytes, CHARGED_FRAME_BYTES)
        data = self._wire.try_receive(most_bytes)
        if data is None:
            return False
        if data:
            self.last_active_ms = self._clock.monotonic_ms()
            held_bytes = self._parser.feed(data)
            if held_bytes > RESTRICTED_BYTES or self._claims.frame is not None:
                self._claims.note_progress(len(data), held_bytes)
        else:
            self._note_end()
        return True

    def _note_end(self) -> None:
        """The peer sends no more."""
        self._at_end = True
        self._wire.unwatch()
        self.peer.note_departure()
        if self._passage is not None:
            self._passage.wake()

    def _on_readable(self) -> None:
        if self._passage is not None and self._passage.is_reading:
            self._passage.on_readable()
            return
        if self._arrival is None:
            self._read_ahead()
            return
        try:
            if self._read() and not self._arrival.done():
                self._arrival.set_result(None)
        except (OSError, MalformedFrame) as fault:
            self._wire.unwatch()
            if not self._arrival.done():
                self._arrival.set_exception(fault)

    def _read_ahead(self) -> None:
        """Reads a little more while a request is being answered; the rest stays in the kernel."""
        buffered, most = self._parser.buffered_bytes, self._read_ahead_bytes
        if self._shared.read_ahead.is_full:
            most = min(most, RESTRICTED_BYTES)
        if buffered >= most or self._parser.pending_frame_bytes > self._claims.free_frame_bytes:
            self._wire.unwatch()
            return
        try:
            self._read(most - buffered)
        except (OSError, MalformedFrame):
            self._wire.unwatch()
            self.peer.note_departure()


def do_not_close(why: str) -> None:
    """Does nothing: the connection has ended."""
