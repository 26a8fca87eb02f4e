"""Sends responses: bytes, slices of files, and slices that are converted while they are sent.

A worker that converts a slice also sends it, as far as the socket takes it at once; the event loop waits for room.

While a reader stalls, bytes of files take no memory (they stay in the page cache). The converted slice
that is being sent holds one filled buffer. Those after it hold what was converted to find out their sizes. All of that
is charged to the conversion budget. If others wait for the budget, the buffer is dropped, and filled with the same
bytes once the reader takes more.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from ..protocol.primitives import BUFFER_TYPES
from .converted_piece import ConvertedPiece
from .instruments import SentBytes
from .pieces import UNCOUNTED_BYTES, FilePiece, bytes_in_memory
from .transport import PlainTransport

TURN_BYTES = 1 << 20
"""Sent at a time while the peer takes everything; then others have their turn."""

WORKER_TURN_S = 0.004
"""How long a worker stays with one slice: each hand-over costs 0.1 to 0.2 ms of CPU in both threads."""

SLICE_BYTES = 16 * 1024
"""What a slice adds to a turn beside its bytes; otherwise ten thousand small ones, 20 µs each, would be one turn."""


Wait = Callable[[int], Awaitable[None]]
"""Waits until the peer takes more, with the number of bytes kept meanwhile. Raises: ConnectionResetError."""
NOT_KNOWN = -1


class Sender:
    """Sends one connection's responses, one at a time."""

    def __init__(self, wire: PlainTransport, metrics: SentBytes) -> None:
        self._wire = wire
        self._metrics = metrics
        self._file_bytes = metrics.sendfile_bytes if wire.sends_files else metrics.copied_bytes
        self._turn_left = TURN_BYTES
        self._pieces: Sequence[Any] = ()
        self._wait: Wait | None = None
        self._kept_bytes = NOT_KNOWN

    async def send(self, pieces: Sequence[Any], wait: Wait | None = None) -> None:
        """Sends all of `pieces` (bytes, `FilePiece`, `ConvertedPiece`), in order. `wait`, if given, is awaited while
        the peer takes no more.

        Raises: OSError when the peer has gone, EOFError when a file has shrunk.
        """
        at, last = 0, len(pieces) - 1
        self._pieces, self._wait, self._kept_bytes = pieces, wait, NOT_KNOWN
        try:
            for at, piece in enumerate(pieces):
                if type(piece) in BUFFER_TYPES:
                    await self._send_bytes(piece, more=at < last)
                elif piece.is_in_file:
                    await self._send_file(piece)
                else:
                    await self._send_converted(piece)
        finally:
            self._wire.stop_watching_room()
            self._pieces, self._wait = (), None
            for unsent in pieces[at + 1 :]:
                if type(unsent) not in BUFFER_TYPES and not unsent.is_in_file:
                    unsent.close()

    def _wait_for_room(self) -> Awaitable[None]:
        """Returns what to await until the peer takes more. Raises: ConnectionResetError, as the wait does."""
        if self._kept_bytes == NOT_KNOWN:
            self._kept_bytes = bytes_in_memory(self._pieces)
        kept = self._kept_bytes + self._wire.unsent_bytes
        if self._wait is None or kept <= UNCOUNTED_BYTES:
            return self._wire.wait_for_room()
        return self._wait(kept)

    async def _send_bytes(self, data: bytes | bytearray | memoryview, *, more: bool) -> None:
        sent = self._wire.try_send(data, more=more)
        while sent < len(data):
            await self._wait_for_room()
            sent += self._wire.try_send(memoryview(data)[sent:], more=more)

    async def _send_file(self, piece: FilePiece) -> None:
        sent, file_fd = 0, piece.fileno()
        while sent < piece.size_bytes:
            size = min(piece.size_bytes - sent, TURN_BYTES)
            try:
                taken = self._wire.try_send_file(file_fd, piece.position + sent, size)
            except OSError as error:
                piece.report_send_failure(error, piece.position + sent)
                raise
            sent += taken
            self._file_bytes.add(taken)
            if taken < size:
                await self._wait_for_room()
            else:
                self._turn_left -= taken
                if self._turn_left <= 0:
                    await self._end_turn()
        self._turn_left -= SLICE_BYTES
        if self._turn_left <= 0:
            await self._end_turn()

    async def _send_converted(self, piece: ConvertedPiece) -> None:
        """Sends one filled buffer after the other."""
        left = piece.size_bytes
        try:
            piece.withdraw_offer()
            while left:
                passed, sent = (0, 0) if piece.data else await self._fill(piece, left)
                size = len(piece.data)
                left -= passed + size
                while sent < size and (sent := sent + self._wire.try_send(piece.data[sent:])) < size:
                    piece.offer_memory()
                    await self._wait_for_room()
                    piece.withdraw_offer()
                    if not piece.data:
                        await self._refill(piece, size)
                self._metrics.copied_bytes.add(passed + size)
                piece.forget_sent_data()
                self._turn_left -= passed + size
                if self._turn_left <= 0:
                    await self._end_turn()
        finally:
            piece.close()
        self._turn_left -= SLICE_BYTES
        if self._turn_left <= 0:
            await self._end_turn()

    async def _refill(self, piece: ConvertedPiece, size: int) -> None:
        """Makes dropped bytes again. Raises: EOFError if they have become fewer, since the file has changed."""
        await self._fill(piece, 0)
        if len(piece.data) < size:
            raise EOFError(f"{len(piece.data)} converted bytes of which {size} had been promised")
        piece.data = piece.data[:size]

    async def _fill(self, piece: ConvertedPiece, may_send_bytes: int) -> tuple[int, int]:
        """Makes the next bytes of `piece`.

        Returns the bytes of earlier fills that a worker sent, and those of this one: `may_send_bytes` at most in all.
        """
        passed = sent = 0
        while not piece.data:
            needs_worker = piece.stream.needs_worker
            if needs_worker or not piece.has_room:
                await piece.claim(self._wire.stop_watching_room)
            if needs_worker:
                before, sent = await self._fill_in_worker(piece, may_send_bytes - passed)
                passed += before
                continue
            piece.keep(piece.stream.fill(piece.buffer))
            if not piece.data:
                await asyncio.sleep(0)
        return passed, sent

    async def _fill_in_worker(self, piece: ConvertedPiece, may_send_bytes: int) -> tuple[int, int]:
        """Same as `_fill`. The worker owns buffer and wire until it is done, even if nobody waits for it any more."""
        wire = self._wire
        wire.stop_watching_room()
        most_bytes = may_send_bytes if wire.sends_in_threads else 0
        working = piece.run_in_worker(partial(_fill_and_send, piece, wire, most_bytes), wire.take_back_from_thread)
        wire.lend_to_thread()
        size, passed, sent = await working
        piece.keep(size)
        return passed, sent

    def _end_turn(self) -> Awaitable[None]:
        """Returns what to await, so that others have their turn before a new one begins."""
        self._turn_left = TURN_BYTES
        return asyncio.sleep(0)


def _fill_and_send(piece: ConvertedPiece, wire: PlainTransport, may_send_bytes: int) -> tuple[int, int, int]:
    """Fills the buffer in a worker, sends it, and repeats this as long as the peer takes everything.

    Returns three counts: the bytes in the buffer, the bytes of earlier fills, which were sent, and the bytes of the
    buffer that were sent.
    """
    stream, buffer = piece.stream, piece.buffer
    passed, until_s = 0, perf_counter() + WORKER_TURN_S
    while True:
        size, sent = stream.fill(buffer), 0
        if size and may_send_bytes:
            sent = wire.try_send(memoryview(buffer)[:size])
        is_over = sent < size or passed + size >= may_send_bytes or perf_counter() > until_s
        if is_over or not size or not stream.needs_worker or not piece.has_room:
            return size, passed, sent
        passed += size
