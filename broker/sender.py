"""The one place that sends pieces: bytes, a slice of a file, a slice that is converted chunk by chunk as it goes out.

Memory while a reader stalls: nothing for bytes of files (they stay in the page cache), at most one converted chunk,
charged to the conversion budget. When others wait for that budget the chunk is dropped and made again once the reader
takes more: conversion is a function of the stored bytes, so the second making equals the first.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Protocol, cast

from ..protocol.schema import Piece
from ..storage.slices import FileSlice
from .budget import Claim, MemoryBudget
from .buffers import BufferPool
from .metrics import Metrics
from .wire import PlainWire

FILE_TURN_BYTES = 1 << 20


class Chunks(Protocol):
    """One pass over a lazily converted slice."""

    @property
    def needs_worker(self) -> bool:
        """Whether making the next chunk takes a codec, and so too long for the event loop."""
        ...

    @property
    def claim_bytes(self) -> int:
        """Memory that making and holding the next chunk takes."""
        ...

    def make(self, out: bytearray) -> memoryview | None:
        """The next chunk, the same until `advance`; None when `out` is too small (`claim_bytes` has grown then)."""
        ...

    def advance(self) -> None:
        """The chunk has been sent."""
        ...


class LazyPiece(Protocol):
    """A piece whose size was promised before its bytes exist."""

    @property
    def size_bytes(self) -> int: ...

    def chunks(self) -> Chunks: ...

    def done(self) -> None:
        """Nothing more of it will be asked for, whether all was sent or the peer has gone."""
        ...


class Sender:
    """Sends one connection's responses, one at a time."""

    def __init__(
        self, wire: PlainWire, budget: MemoryBudget, buffers: BufferPool, workers: Executor, metrics: Metrics
    ) -> None:
        self._wire = wire
        self._budget = budget
        self._buffers = buffers
        self._workers = workers
        self._metrics = metrics

    async def send(self, pieces: Sequence[Piece]) -> None:
        """Sends all of `pieces`, in order. Raises OSError when the peer has gone."""
        last = len(pieces) - 1
        index = -1
        try:
            for index, piece in enumerate(pieces):
                if isinstance(piece, bytes | bytearray | memoryview):
                    await self._send_bytes(piece, more=index < last)
                elif isinstance(piece, FileSlice):
                    await self._send_file(piece)
                else:
                    await self._send_lazy(cast(LazyPiece, piece))
        finally:
            self._wire.rest()
            for unsent in pieces[index + 1 :]:
                if not isinstance(unsent, bytes | bytearray | memoryview | FileSlice):
                    cast(LazyPiece, unsent).done()

    async def _send_bytes(self, data: bytes | bytearray | memoryview, *, more: bool) -> None:
        sent = self._wire.try_send(data, more=more)
        if sent == len(data):
            return
        view = memoryview(data)
        while sent < len(view):
            await self._wire.room()
            sent += self._wire.try_send(view[sent:], more=more)

    async def _send_file(self, piece: FileSlice) -> None:
        position, end = piece.position, piece.position + piece.size_bytes
        turn_end = position + FILE_TURN_BYTES
        file_fd = piece.fileno()
        while position < end:
            sent = self._wire.try_send_file(file_fd, position, min(end - position, FILE_TURN_BYTES))
            position += sent
            if sent == 0:
                await self._wire.room()
            elif position >= turn_end:
                await asyncio.sleep(0)
            else:
                continue
            turn_end = position + FILE_TURN_BYTES
        self._metrics.sendfile_bytes.add(piece.size_bytes)

    async def _send_lazy(self, piece: LazyPiece) -> None:
        chunks = piece.chunks()
        remaining = piece.size_bytes
        try:
            while remaining > 0:
                if not self._wire.has_room():
                    await self._wire.room()
                remaining -= await self._send_chunk(chunks, remaining)
                chunks.advance()
        finally:
            self._metrics.copied_bytes.add(piece.size_bytes - remaining)
            piece.done()

    async def _send_chunk(self, chunks: Chunks, most_bytes: int) -> int:
        """Bytes sent: the whole next chunk, or as much of it as was promised."""
        sent, size = 0, 1
        while sent < size:
            held = await self._make(chunks)
            try:
                held.data = held.data[:most_bytes]
                size = len(held.data)
                sent = await self._send_held(held, sent)
            finally:
                held.drop()
        return size

    async def _make(self, chunks: Chunks) -> "_Held":
        """The next chunk in a buffer of its own, charged to the budget."""
        while True:
            held = _Held(await self._claim(chunks.claim_bytes), self._buffers, chunks.claim_bytes)
            if chunks.needs_worker:
                made = await self._make_in_worker(chunks, held)
            else:
                made = _make_here(chunks, held)
            if made is not None:
                held.data = made
                return held
            held.drop()

    async def _make_in_worker(self, chunks: Chunks, held: "_Held") -> memoryview | None:
        """As `Chunks.make`. The buffer is the worker's until it is done, even if nobody waits for it any more."""
        self._wire.rest()
        making = asyncio.get_running_loop().run_in_executor(self._workers, chunks.make, held.buffer)
        try:
            return await asyncio.shield(making)
        except BaseException:
            making.add_done_callback(lambda _: held.drop())
            raise

    async def _claim(self, size_bytes: int) -> Claim:
        claim = self._budget.try_claim(size_bytes)
        if claim is None:
            self._wire.rest()
            claim = await self._budget.claim(size_bytes)
        return claim

    async def _send_held(self, held: "_Held", sent: int) -> int:
        """How far into the chunk the peer has got; less than all when the chunk was dropped for others.

        Only `held` looks at the bytes while the peer stalls: dropping it frees them.
        """
        stalled = False
        while True:
            sent += self._wire.try_send(held.data[sent:])
            if sent == len(held.data):
                break
            stalled = True
            held.offer()
            await self._wire.room()
            if held.was_dropped:
                return sent
            held.keep()
        if not stalled:
            await asyncio.sleep(0)
        return sent


def _make_here(chunks: Chunks, held: "_Held") -> memoryview | None:
    try:
        return chunks.make(held.buffer)
    except BaseException:
        held.drop()
        raise


class _Held:
    """A converted chunk while it is being sent."""

    def __init__(self, claim: Claim, buffers: BufferPool, size_bytes: int) -> None:
        self._claim = claim
        self._buffers = buffers
        try:
            self.buffer = buffers.take(size_bytes)
        except MemoryError:
            claim.release()
            raise
        self.data = memoryview(b"")
        self.was_dropped = False

    def offer(self) -> None:
        """The peer stalls: others may have the memory."""
        self._claim.reclaimable(self.drop)

    def keep(self) -> None:
        self._claim.in_use()

    def drop(self) -> None:
        """Gives buffer and claim back; again is harmless."""
        if not self.was_dropped:
            self.was_dropped = True
            self.data = memoryview(b"")
            self._buffers.give(self.buffer)
            self.buffer = bytearray()
            self._claim.release()
