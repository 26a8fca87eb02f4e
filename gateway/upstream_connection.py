"""One connection to a broker of the cluster, for one client: requests out, answers in as bytes.

An answer is read as far as it is wanted: what the client has not taken yet stays with the kernel, and so stops the
broker, beyond `HELD_BYTES`. Raises, from what waits: ConnectionResetError when the broker has closed the connection.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from math import inf
from struct import Struct
from typing import Protocol, cast

from ..client.security.settings import SaslSettings
from ..config.keys.endpoints import HostPort
from ..protocol.errors import MalformedFrame
from ..protocol.schema import Piece

HELD_BYTES = 128 * 1024
_SIZE, _HEAD = Struct(">i"), Struct(">ii")


class AnswerTaker(Protocol):
    """Takes the bytes of answers when they come."""

    def take_answers(self, data: bytes) -> int:
        """How many of the bytes it has taken; the others are kept until `offer_received_bytes`."""

    def note_room(self) -> None:
        """The broker takes more."""

    def note_loss(self) -> bool:
        """The connection is closed. Returns whether answers were outstanding."""


class UpstreamConnection(asyncio.Protocol):
    """`on_lost` is called when the broker at `address` closes the connection. `logged_in_by`: the login that it
    has, to be renewed at `log_in_at_ms` of the monotonic clock. `taker`, if set, gets the answers, which are not read
    then."""

    def __init__(self, address: HostPort, on_lost: Callable[[], None]) -> None:
        self.is_lost = False
        self.taker: AnswerTaker | None = None
        self.logged_in_by: SaslSettings | None = None
        self.log_in_at_ms = inf
        self._address = address
        self._on_lost: Callable[[], None] | None = on_lost
        self._transport: asyncio.Transport | None = None
        self._received: deque[bytes] = deque()
        self._held_bytes = 0
        self._is_paused = False
        self._arrival: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()

    @property
    def was_closed_here(self) -> bool:
        """Whether `close` was called."""
        return self._on_lost is None

    @property
    def is_writable(self) -> bool:
        """Whether the broker takes more."""
        return self._writable.is_set()

    def write(self, data: bytes | memoryview) -> None:
        """Hands bytes to the broker; they are kept if it does not take them. Raises: ConnectionResetError."""
        if self.is_lost or self._transport is None:
            raise self.make_loss_error()
        self._transport.write(data)

    async def send(self, pieces: Iterable[Piece]) -> None:
        """Hands the pieces of a request to the broker; waits while it takes no more."""
        if not self._writable.is_set():
            await self._writable.wait()
        if self.is_lost or self._transport is None:
            raise self.make_loss_error()
        self._transport.writelines(cast("Iterable[bytes]", pieces))
        if not self._writable.is_set():
            await self._writable.wait()

    async def read_frame_if_whole(self) -> bytes | None:
        """The next answer as it came, its size in front, where it came in one piece and nothing with it; else None."""
        while not self._received:
            await self._await_arrival()
        data = self._received[0]
        if len(data) < _HEAD.size or _SIZE.unpack_from(data)[0] + _SIZE.size != len(data):
            return None
        self._received.popleft()
        self._count_taken_bytes(len(data))
        return data

    async def read_head(self) -> tuple[int, int]:
        """The bytes of the next answer after its correlation id, and that id.

        Raises: MalformedFrame for a size that no answer has.
        """
        size, correlation_id = _HEAD.unpack(await self.read(_HEAD.size))
        if size < 4:
            raise MalformedFrame(f"an answer of {size} bytes has no whole header")
        return size - 4, correlation_id

    async def read(self, size_bytes: int, on_progress: Callable[[int], None] = lambda count: None) -> bytes:
        """The next `size_bytes` bytes; `on_progress` gets the number of bytes that have just come."""
        first = await self.read_some(size_bytes)
        if len(first) == size_bytes:
            return first
        parts, left = [first], size_bytes - len(first)
        on_progress(len(first))
        while left:
            parts.append(await self.read_some(left))
            on_progress(len(parts[-1]))
            left -= len(parts[-1])
        return b"".join(parts)

    async def read_some(self, most_bytes: int) -> bytes:
        """What has come, `most_bytes` at most; b"" only where nothing is asked for."""
        if not most_bytes:
            return b""
        while not self._received:
            await self._await_arrival()
        data = self._received.popleft()
        if len(data) > most_bytes:
            self._received.appendleft(data[most_bytes:])
            data = data[:most_bytes]
        self._count_taken_bytes(len(data))
        return data

    async def skip(self, size_bytes: int) -> None:
        """Drops the next `size_bytes` bytes."""
        while size_bytes:
            size_bytes -= len(await self.read_some(size_bytes))

    def close(self) -> None:
        """Hangs up; `on_lost` is not called any more."""
        self._on_lost = None
        if self._transport is not None:
            self._transport.abort()
        self._note_loss()
        if self.taker is not None:
            self.taker.note_loss()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._writable.set()
        if self.is_lost:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self._held_bytes += len(data)
        if self.taker is not None:
            self.offer_received_bytes()
        if self._held_bytes >= HELD_BYTES and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def offer_received_bytes(self) -> None:
        """Offers the received bytes to the taker, until it takes no more of them."""
        received = self._received
        while received and self.taker is not None:
            if len(received[0]) < _HEAD.size and len(received) > 1:
                received.appendleft(received.popleft() + received.popleft())
            data = received.popleft()
            taken = self.taker.take_answers(data)
            if taken < len(data):
                received.appendleft(data[taken:] if taken else data)
            self._count_taken_bytes(taken)
            if taken < len(data) and (len(received) == 1 or not taken):
                return

    def connection_lost(self, exc: Exception | None) -> None:
        is_waited_for = self._arrival is not None or (self.taker is not None and self.taker.note_loss())
        self._note_loss()
        if self._on_lost is not None and not is_waited_for:
            self._on_lost()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
        if self.taker is not None:
            self.taker.note_room()

    async def _await_arrival(self) -> None:
        if self.is_lost:
            raise self.make_loss_error()
        self._arrival = asyncio.get_running_loop().create_future()
        try:
            await self._arrival
        finally:
            self._arrival = None

    def _count_taken_bytes(self, size_bytes: int) -> None:
        """Counts what has been taken, so that the broker may send more."""
        self._held_bytes -= size_bytes
        if self._is_paused and self._held_bytes < HELD_BYTES and self._transport is not None and not self.is_lost:
            self._is_paused = False
            self._transport.resume_reading()

    def _note_loss(self) -> None:
        self.is_lost = True
        self._writable.set()
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_exception(self.make_loss_error())

    def make_loss_error(self) -> ConnectionResetError:
        """What the end of the connection by the broker raises."""
        return ConnectionResetError(f"the broker at {self._address} closed the connection")
