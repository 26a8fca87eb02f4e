"""Hands the bytes of one connection to a `FramePasser` as they come, until a request comes that it does not take.

The usual bytes need no task: they are passed on by the callback of the event loop that has read them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from ..protocol.errors import MalformedFrame
from ..protocol.frame import FrameParser
from ..protocol.schema import Piece
from .memory_budget import Claim
from .peer import Peer
from .transport import PlainTransport

READ_BYTES = 128 * 1024
"""The most that is read at a time, and so is held while the other end takes no more."""


class FramePasser(Protocol):
    """Sends requests on elsewhere, and the answers to the client.

    `is_busy`: answers are outstanding. `is_full`: it takes nothing for now. `refuses`: the first byte that it has not
    taken begins a request that has to be answered in another way. `needs_more`: it takes the request only when more of
    it has come. `has_stalled`: answers wait until `next_pieces` was sent and `resume` called. `is_finishing`, which is
    set from outside: it has to say when no answer is outstanding any more.
    """

    is_full: bool
    refuses: bool
    needs_more: bool
    has_stalled: bool
    is_finishing: bool

    @property
    def is_busy(self) -> bool: ...

    def begin(self, wire: PlainTransport, peer: Peer, on_event: Callable[[], None]) -> None:
        """`on_event` is called when it has stalled, is full no more, or has finished."""
        ...

    def end(self) -> None:
        """Lets go of what `begin` was given."""
        ...

    def take(self, data: bytes) -> int:
        """Passes bytes on, the first of a request or those after the ones it has taken before; returns how many.

        Raises: OSError."""
        ...

    async def next_pieces(self) -> tuple[list[Piece], Claim | None]:
        """What is to be sent before `resume`, and the memory that it is charged with. Raises: CloseConnection,
        MalformedFrame, OSError."""
        ...

    def resume(self) -> None:
        """Goes on with the answers."""
        ...


class BytePassage:
    """One use of a `FramePasser`. `receive` reads from the client, `send` sends to it; `is_over` returns whether no
    more requests are to be taken. `claim_read_ahead` counts bytes that wait. `watch` has `on_readable`
    called."""

    def __init__(
        self,
        passer: FramePasser,
        parser: FrameParser,
        receive: Callable[[], bytes | None],
        send: Callable[[list[Piece], Claim | None], Awaitable[None]],
        is_over: Callable[[], bool],
        claim_read_ahead: Callable[[int], Claim],
        watch: Callable[[], None],
    ) -> None:
        self.is_reading = False
        self._passer = passer
        self._parser = parser
        self._receive = receive
        self._send = send
        self._is_over = is_over
        self._claim_read_ahead = claim_read_ahead
        self._watch = watch
        self._left_bytes = 0  # that the passer has left in the parser; more may be read while an answer is sent
        self._event: asyncio.Future[None] | None = None

    @property
    def is_busy(self) -> bool:
        return self._passer.is_busy

    async def run(self, yield_if_turn_is_over: Callable[[], Awaitable[None]]) -> None:
        """Returns when a request has come that is not taken, or no more are to be. Raises: CloseConnection,
        MalformedFrame, OSError."""
        passer = self._passer
        while True:
            if passer.has_stalled:
                await self._send_next_pieces()
            elif passer.is_full:
                claim = self._claim_read_ahead(READ_BYTES)
                try:
                    await self._wait()
                finally:
                    claim.release()
            elif self._is_over():
                return
            elif self._parser.buffered_bytes > (self._left_bytes if passer.needs_more else 0):
                self._pass(b"")
                if passer.refuses:
                    return
                await yield_if_turn_is_over()
            else:
                self.is_reading = True
                self._watch()
                try:
                    await self._wait()
                finally:
                    self.is_reading = False

    async def finish(self, has_left: Callable[[], bool]) -> None:
        """Returns when all answers were sent, or the client has left. Raises: as `run`."""
        self._passer.is_finishing = True
        while self._passer.is_busy and not has_left():
            if self._passer.has_stalled:
                await self._send_next_pieces()
            else:
                await self._wait()

    def on_readable(self) -> None:
        """Passes on what the client has sent."""
        try:
            data = self._receive()
            if data:
                self._pass(data)
                self._watch()  # TLS may know of the end already
            elif data is not None:
                self.wake()
        except (OSError, MalformedFrame) as fault:
            self.fail(fault)

    def wake(self) -> None:
        """Has `run` look again what there is to do."""
        if self._event is not None and not self._event.done():
            self._event.set_result(None)

    def fail(self, fault: Exception) -> None:
        """Ends `run` with that exception."""
        if self._event is not None and not self._event.done():
            self._event.set_exception(fault)

    def _pass(self, data: bytes) -> None:
        if self._parser.buffered_bytes:
            self._parser.feed(data)
            data = self._parser.take_all()
        taken = self._passer.take(data)
        if taken < len(data):
            self._parser.feed(memoryview(data)[taken:])
            self.wake()
        self._left_bytes = len(data) - taken

    async def _send_next_pieces(self) -> None:
        await self._send(*await self._passer.next_pieces())
        self._passer.resume()

    async def _wait(self) -> None:
        self._event = asyncio.get_running_loop().create_future()
        try:
            await self._event
        finally:
            self._event = None
