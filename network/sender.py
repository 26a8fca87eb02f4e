"""Sends responses: bytes, slices of files, and slices that are converted while they are sent.

What takes a worker is sent by it as well, as far as the peer takes it at once; the event loop waits for room.

Memory while a reader stalls: nothing for bytes of files (they stay in the page cache), one filled buffer of a converted
slice, and what was converted to promise the sizes of others, charged to the conversion budget. When others wait for
that budget it is dropped and filled again once the reader takes more: conversion is a function of the stored bytes, so
it holds the same then.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import cast

from ..protocol.primitives import BUFFER_TYPES
from ..protocol.schema import Piece
from .conversion_buffer import ClaimedBuffer
from .instruments import SentBytes
from .memory_budget import Claim, MemoryBudget
from .output_buffer_pool import BufferPool
from .pieces import FilePiece, FilledPiece, PieceStream
from .transport import PlainWire
from .worker_threads import WorkerThreads

TURN_BYTES = 1 << 20
"""Sent in one go while the peer takes all: then others have their turn."""

WORKER_TURN_S = 0.004
"""For so long a worker goes on with one slice: the way there and back takes 0.1 to 0.2 ms of both processors."""

SLICE_BYTES = 16 * 1024
"""What a slice counts for in a turn beside its bytes: ten thousand small ones, 20 µs each, would be one turn else."""


class Sender:
    """Sends one connection's responses, one at a time."""

    def __init__(
        self, wire: PlainWire, budget: MemoryBudget, buffers: BufferPool, workers: WorkerThreads, metrics: SentBytes
    ) -> None:
        self._wire = wire
        self._budget = budget
        self._buffers = buffers
        self._workers = workers
        self._metrics = metrics
        self._file_bytes = metrics.sendfile_bytes if wire.sends_files else metrics.copied_bytes
        self._turn_left = TURN_BYTES

    async def send(self, pieces: Sequence[Piece], on_sent: Callable[[int], None] | None = None) -> None:
        """Sends all of `pieces`, in order; `on_sent` hears of bytes that a peer took which had to be waited for.

        Raises OSError when the peer has gone, EOFError when a file has shrunk.
        """
        at, last = 0, len(pieces) - 1
        try:
            for at, piece in enumerate(pieces):
                if type(piece) in BUFFER_TYPES:
                    await self._send_bytes(cast(bytes, piece), on_sent, more=at < last)
                elif cast(FilePiece | FilledPiece, piece).is_in_file:
                    await self._send_file(cast(FilePiece, piece))
                else:
                    await self._send_converted(cast(FilledPiece, piece))
        finally:
            self._wire.rest()
            for unsent in pieces[at + 1 :]:
                if type(unsent) not in BUFFER_TYPES and not cast(FilePiece | FilledPiece, unsent).is_in_file:
                    cast(FilledPiece, unsent).done()

    async def _send_bytes(
        self, data: bytes | bytearray | memoryview, on_sent: Callable[[int], None] | None, *, more: bool
    ) -> None:
        sent = self._wire.try_send(data, more=more)
        while sent < len(data):
            await self._wire.room()
            taken = self._wire.try_send(memoryview(data)[sent:], more=more)
            sent += taken
            if on_sent is not None:
                on_sent(taken)

    async def _send_file(self, piece: FilePiece) -> None:
        sent = 0
        while sent < piece.size_bytes:
            size = min(piece.size_bytes - sent, TURN_BYTES)
            try:
                taken = self._wire.try_send_file(piece.fileno(), piece.position + sent, size)
            except OSError as error:
                piece.note_failure(error, piece.position + sent)
                raise
            sent += taken
            self._file_bytes.add(taken)
            if taken < size:
                await self._wire.room()
            else:
                await self._count(taken)
        await self._count(SLICE_BYTES)

    async def _send_converted(self, piece: FilledPiece) -> None:
        try:
            sent = self._send_whole(piece)
            if sent < piece.size_bytes:
                await self._send_in_parts(piece, sent)
        finally:
            piece.done()
        await self._count(SLICE_BYTES)

    def _send_whole(self, piece: FilledPiece) -> int:
        """How much the peer takes at once of a slice that was converted as a whole for its promise."""
        first = cast(ClaimedBuffer | None, piece.first)
        if first is None or len(first.data) < piece.size_bytes:
            return 0
        sent = self._wire.try_send(first.data)
        if sent == piece.size_bytes:
            self._metrics.copied_bytes.add(sent)
            self._turn_left -= sent
        return sent

    async def _send_in_parts(self, piece: FilledPiece, sent: int) -> None:
        """One filled buffer after the other; so much was sent of the first."""
        stream, left = piece.open(), piece.size_bytes
        held, is_filled = _first_of(piece, stream)
        try:
            while left:
                passed = 0
                if held is None or not is_filled:
                    held, passed, sent = await self._filled(stream, held, left)
                size, is_filled = len(held.data), False
                left -= passed + size
                while sent < size and (sent := sent + self._wire.try_send(held.data[sent:])) < size:
                    held.offer()
                    await self._wire.room()
                    if held.was_dropped:
                        held = await self._filled_again(stream, size)
                    else:
                        held.keep()
                self._metrics.copied_bytes.add(passed + size)
                if self._budget.waiting:  # who stalls at each buffer would keep the same memory to its end
                    held.drop()
                    held = None
                await self._count(passed + size)
        finally:
            if held is not None:
                held.drop()

    async def _filled_again(self, stream: PieceStream, size: int) -> ClaimedBuffer:
        """What was dropped. Raises EOFError when it has become less, since its file has changed."""
        stream.step_back()
        held, _, _ = await self._filled(stream, None, 0)
        if len(held.data) < size:
            held.drop()
            raise EOFError(f"{len(held.data)} converted bytes of which {size} had been promised")
        held.data = held.data[:size]
        return held

    async def _filled(
        self, stream: PieceStream, held: ClaimedBuffer | None, may_send_bytes: int
    ) -> tuple[ClaimedBuffer, int, int]:
        """The next bytes of the stream in `held`, if that is as large as they take, or in another.

        With it how many bytes a worker sent before these, and how many of these: at most `may_send_bytes` in all.
        """
        passed = 0
        while True:
            sent = 0
            if held is None or stream.needs_worker or not held.is_for(stream.claim_bytes, stream.buffer_bytes):
                if held is not None:
                    held.drop()
                held = ClaimedBuffer(await self._claim(stream.claim_bytes), self._buffers, stream.buffer_bytes)
            try:
                if stream.needs_worker:
                    size, before, sent = await self._in_worker(stream, held, may_send_bytes - passed)
                    passed += before
                else:
                    size = stream.fill(held.buffer)
                    if not size:
                        await asyncio.sleep(0)
            except BaseException:
                held.drop()
                raise
            if size:
                held.keep_only(size)
                return held, passed, sent

    async def _in_worker(self, stream: PieceStream, held: ClaimedBuffer, may_send_bytes: int) -> tuple[int, int, int]:
        """As `_fill_and_send`. Buffer and wire are the worker's until it is done, even if nobody waits any more."""
        wire = self._wire
        wire.rest()
        work = partial(_fill_and_send, stream, held, wire, may_send_bytes if wire.sends_in_threads else 0)

        def take_back() -> None:
            held.take_back()
            wire.take_back()

        filling = self._workers.run(work, take_back)
        held.lend()
        wire.lend()
        return await filling

    async def _claim(self, size_bytes: int) -> Claim:
        claim = self._budget.try_claim(size_bytes)
        if claim is None:
            self._wire.rest()
            claim = await self._budget.claim(size_bytes)
        return claim

    async def _count(self, size_bytes: int) -> None:
        """So much was sent: others have their turn when it is enough for one."""
        self._turn_left -= size_bytes
        if self._turn_left <= 0:
            self._turn_left = TURN_BYTES
            await asyncio.sleep(0)


def _fill_and_send(
    stream: PieceStream, held: ClaimedBuffer, wire: PlainWire, may_send_bytes: int
) -> tuple[int, int, int]:
    """Fills the buffer in a worker, sends it, and goes on with the next bytes as long as the peer takes all.

    Returns: the bytes in the buffer, the bytes sent from it before these, and how many of these were sent.
    """
    passed, until_s = 0, perf_counter() + WORKER_TURN_S
    while True:
        size, sent = stream.fill(held.buffer), 0
        if size and may_send_bytes:
            sent = wire.try_send(memoryview(held.buffer)[:size])
        is_over = sent < size or passed + size >= may_send_bytes or perf_counter() > until_s
        if is_over or not size or not stream.needs_worker or not held.is_for(stream.claim_bytes, stream.buffer_bytes):
            return size, passed, sent
        passed += size


def _first_of(piece: FilledPiece, stream: PieceStream) -> tuple[ClaimedBuffer | None, bool]:
    """What was filled when the size was promised, and whether it is still there."""
    held, piece.first = cast(ClaimedBuffer | None, piece.first), None
    if held is None:
        return None, False
    if held.was_dropped:
        stream.step_back()
        return None, False
    held.keep()
    return held, True
