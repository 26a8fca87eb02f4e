"""One client's connection: frames in, answers out, one request at a time.

The next request is not looked at before the last one is answered, as Kafka mutes a channel; what a client pipelines
meanwhile is read ahead up to `READ_AHEAD_BYTES` and then stays with the kernel. So a peer costs its own unfinished
frame, what was read ahead, and one response.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Protocol

from ..protocol.errors import MalformedFrame
from ..protocol.frame import FrameParser
from ..protocol.schema import Piece
from .budget import Claim, MemoryBudget
from .clock import Clock
from .sender import Sender
from .wire import PlainWire

READ_BYTES = 128 * 1024
READ_AHEAD_BYTES = 256 * 1024

log = logging.getLogger(__name__)


class CloseConnection(Exception):
    """The only answer left is to hang up; the message says why."""


@dataclass(slots=True, kw_only=True)
class Peer:
    """Who is at the other end, as far as it has said so."""

    host: str
    port: int
    listener: str
    client_id: str = ""
    software_name: str = "unknown"
    software_version: str = "unknown"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Answerer(Protocol):
    """Turns a frame into the pieces of its response; None when none is due."""

    async def answer(self, frame: memoryview, peer: Peer) -> list[Piece] | None: ...

    def answered(self) -> None: ...


class Connection:
    """Serves one accepted socket until it ends.

    `is_busy`: a request is being answered; `is_waiting`: and it is the broker's turn, not the peer's.
    """

    def __init__(
        self,
        wire: PlainWire,
        peer: Peer,
        parser: FrameParser,
        sender: Sender,
        clock: Clock,
        request_memory: MemoryBudget,
    ) -> None:
        self.peer = peer
        self.last_active_ms = clock.now_ms()
        self.is_busy = False
        self.is_waiting = False
        self._wire = wire
        self._parser = parser
        self._sender = sender
        self._clock = clock
        self._request_memory = request_memory
        self._claim: Claim | None = None
        self._at_end = False
        self._is_draining = False
        self._arrival: asyncio.Future[None] | None = None

    async def serve(self, answerer: Answerer) -> str:
        """Answers frames until the peer leaves or breaks the protocol; says why it ended."""
        try:
            while True:
                frame = self._parser.next_frame()
                if frame is None:
                    if self._at_end or self._is_draining:
                        return "end"
                    await self._more()
                    continue
                await self._serve_frame(frame, answerer)
                del frame
        except (MalformedFrame, CloseConnection) as fault:
            log.warning("closing %s (client %r): %s", self.peer, self.peer.client_id, fault)
            return "fault"
        except OSError:
            return "lost"
        except Exception:  # the boundary of a connection: a fault of ours ends it, and no other
            log.exception("closing %s (client %r): unexpected failure", self.peer, self.peer.client_id)
            return "failure"
        finally:
            self.close()

    def close(self) -> None:
        """Hangs up now."""
        self._wire.close()
        self._release()
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_exception(ConnectionResetError("closed"))

    def drain(self) -> None:
        """Finishes the request at hand, then hangs up."""
        self._is_draining = True
        if not self.is_busy:
            self.close()

    async def _serve_frame(self, frame: memoryview, answerer: Answerer) -> None:
        self.is_busy = True
        try:
            self.last_active_ms = self._clock.now_ms()
            self.is_waiting = True
            pieces = await answerer.answer(frame, self.peer)
            self.is_waiting = False
            self._release()
            if pieces is not None:
                await self._sender.send(pieces)
                answerer.answered()
            self.last_active_ms = self._clock.now_ms()
        finally:
            self.is_busy = self.is_waiting = False

    async def _more(self) -> None:
        """Returns when bytes have been fed to the parser, or the stream has ended."""
        await self._charge_frame()
        if self._read():
            return
        self._arrival = asyncio.get_running_loop().create_future()
        self._wire.watch(self._on_readable)
        try:
            await self._arrival
        finally:
            self._arrival = None

    async def _charge_frame(self) -> None:
        """Charges an unfinished large frame to `queued.max.request.bytes` before more of it is read."""
        size = self._parser.pending_frame_bytes
        if size > READ_AHEAD_BYTES and self._claim is None:
            self._wire.unwatch()
            self._claim = await self._request_memory.claim(size)

    def _release(self) -> None:
        if self._claim is not None:
            self._claim.release()
            self._claim = None

    def _read(self) -> bool:
        """Feeds what has arrived to the parser; False when nothing has."""
        data = self._wire.try_receive(READ_BYTES)
        if data is None:
            return False
        if data:
            self.last_active_ms = self._clock.now_ms()
            self._parser.feed(data)
        else:
            self._at_end = True
            self._wire.unwatch()
        return True

    def _on_readable(self) -> None:
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
        """While a request is being answered: takes a little more, then leaves the rest to the kernel."""
        if self._parser.buffered_bytes >= READ_AHEAD_BYTES or self._parser.pending_frame_bytes > READ_AHEAD_BYTES:
            self._wire.unwatch()
            return
        try:
            self._read()
        except (OSError, MalformedFrame):
            self._wire.unwatch()
