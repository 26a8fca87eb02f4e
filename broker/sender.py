"""The one place that sends pieces: bytes, a slice of a file, a slice that is converted chunk by chunk as it goes out.

Memory while a reader stalls: nothing for bytes of files (they stay in the page cache), at most one converted chunk,
charged to the conversion budget. When others wait for that budget the chunk is dropped and made again once the reader
takes more: conversion is a function of the stored bytes, so the second making equals the first.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Protocol, TypeVar, cast

from ..protocol.primitives import BUFFER_TYPES
from ..protocol.schema import Piece
from ..storage.slices import FileSlice, Outlet
from .budget import Claim, MemoryBudget
from .buffers import STANDARD_BYTES, BufferPool
from .metrics import Metrics
from .plain_run import PlainRun
from .wire import PlainWire
from .worker import in_worker

CHUNKS_TURN_BYTES = 1 << 20
"""Converted in one go, about 0.6 ms: looking at the loop after each chunk costs a tenth of the whole."""

WORKER_TURN_BYTES = 1 << 20
"""Converted by a worker before it comes back: the way there and back takes as long as 30 kB of LZ4."""

_NOTHING = memoryview(b"")

_Done = TypeVar("_Done")

Sent = tuple[int, memoryview, int]
"""Bytes of the chunks that were taken whole; the chunk that was not, empty if there is none, and how much of it was."""


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

    @property
    def buffer_bytes(self) -> int:
        """The part of it that the chunk itself is made in."""
        ...

    def make(self, out: bytearray) -> memoryview | None:
        """The next chunk, the same until `advance`; None when `out` is too small (`buffer_bytes` has grown then)."""
        ...

    def advance(self) -> None:
        """The chunk has been sent."""
        ...

    def run(self, out: bytearray, outlet: Outlet, most_bytes: int, turn_bytes: int) -> Sent:
        """Makes chunk after chunk in `out` and gives each to `outlet`, until `turn_bytes` are sent, or `most_bytes`, at
        which the last is cut; until one is not taken whole; or until the next is better made alone. Those that were
        taken whole are behind it then. Like `make` it belongs in a worker if `needs_worker`, and stays within the claim
        that it begins with."""
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
        sent, is_full = 0, False
        if len(pieces) == 1 and type(pieces[0]) in BUFFER_TYPES:  # most answers are
            data = cast(bytes, pieces[0])
            sent = self._wire.try_send(data)
            if sent == len(data):
                return
            is_full = True
        run = PlainRun(self._wire, pieces, sent)
        try:
            while True:
                if is_full or not run.push():
                    await self._wire.drive(run.push)
                    is_full = False
                if run.at == len(pieces):
                    return
                await self._send_lazy(cast(LazyPiece, run.take()))
        finally:
            self._wire.rest()
            self._metrics.sendfile_bytes.add(run.file_bytes)
            for unsent in pieces[run.at :]:
                if type(unsent) not in BUFFER_TYPES and not isinstance(unsent, FileSlice):
                    cast(LazyPiece, unsent).done()

    async def _send_lazy(self, piece: LazyPiece) -> None:
        remaining = piece.size_bytes
        try:
            chunks = piece.chunks()
            while remaining > 0:
                if not self._wire.has_room():
                    await self._wire.room()
                remaining -= await self._send_turn(chunks, remaining)
        finally:
            self._metrics.copied_bytes.add(piece.size_bytes - remaining)
            piece.done()

    async def _send_turn(self, chunks: Chunks, most_bytes: int) -> int:
        """Bytes sent: chunk after chunk while the socket takes each whole, then others have their turn."""
        held = await self._hold(chunks)
        if chunks.needs_worker:
            done = await self._run_in_worker(chunks, held, most_bytes)
        else:
            done = self._run(chunks, held, most_bytes)
        if not held.data and not done:
            held = await self._make(chunks, held)
        try:
            if len(held.data) > most_bytes:
                held.data = held.data[:most_bytes]
            size = len(held.data)
            if size and not held.sent:
                held.sent = self._wire.try_send(held.data)
            if held.sent == size:
                if size:
                    chunks.advance()
                await asyncio.sleep(0)
                return done + size
            sent = await self._send_stalled(held, held.sent)
        finally:
            held.drop()
        while sent < size:
            held = await self._make(chunks, await self._hold(chunks))
            try:
                held.data = held.data[:size]
                sent = await self._send_stalled(held, sent)
            finally:
                held.drop()
        chunks.advance()
        return done + size

    async def _hold(self, chunks: Chunks) -> "_Held":
        """What the next chunk takes, charged to the budget."""
        return _Held(await self._claim(chunks.claim_bytes), self._buffers, chunks.buffer_bytes)

    def _run(self, chunks: Chunks, held: "_Held", most_bytes: int) -> int:
        """Bytes of the chunks that the socket took whole; `held` then has what it did not, `held.sent` of it sent."""
        try:
            done, held.data, held.sent = chunks.run(held.buffer, self._wire, most_bytes, CHUNKS_TURN_BYTES)
        except BaseException:
            held.drop()
            raise
        return done

    async def _run_in_worker(self, chunks: Chunks, held: "_Held", most_bytes: int) -> int:
        """As `_run`. Nothing is sent of a large chunk: what making it took is to be given back before."""
        if chunks.buffer_bytes > STANDARD_BYTES:
            return 0
        run = partial(chunks.run, held.buffer, self._wire, most_bytes, WORKER_TURN_BYTES)
        done, data, held.sent = await self._in_worker(held, run)
        if data:
            held.keep_only(data)
        return done

    async def _make(self, chunks: Chunks, held: "_Held") -> "_Held":
        """The next chunk in `held`, or in a larger one in its place."""
        while True:
            if chunks.needs_worker:
                made = await self._in_worker(held, partial(chunks.make, held.buffer))
            else:
                made = _make_here(chunks, held)
            if made is not None:
                held.keep_only(made)
                return held
            held.drop()
            held = await self._hold(chunks)

    async def _in_worker(self, held: "_Held", work: Callable[[], _Done]) -> _Done:
        """What `work` returns. Buffer and socket are the worker's until it is done, even if nobody waits any more."""
        self._wire.rest()

        def over() -> None:
            self._wire.take_back()
            held.take_back()

        done = in_worker(self._workers, work, over)
        self._wire.lend()
        held.lend()
        try:
            return await done
        except BaseException:
            held.drop()
            raise

    async def _claim(self, size_bytes: int) -> Claim:
        claim = self._budget.try_claim(size_bytes)
        if claim is None:
            self._wire.rest()
            claim = await self._budget.claim(size_bytes)
        return claim

    async def _send_stalled(self, held: "_Held", sent: int) -> int:
        """How far into the chunk the peer has got; less than all when the chunk was dropped for others.

        Only `held` looks at the bytes while the peer stalls: dropping it frees them.
        """
        size = len(held.data)
        while sent < size:
            held.offer()
            await self._wire.room()
            if held.was_dropped:
                break
            held.keep()
            sent += self._wire.try_send(held.data[sent:])
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
        self.data = _NOTHING
        self.sent = 0
        self.was_dropped = False
        self._lent = False
        self._unwanted = False

    def lend(self) -> None:
        """A thread works with the buffer until `take_back`: dropped meanwhile, it is so then."""
        self._lent = True

    def take_back(self) -> None:
        self._lent = False
        if self._unwanted:
            self.drop()

    def offer(self) -> None:
        """The peer stalls: others may have the memory."""
        self._claim.reclaimable(self.drop)

    def keep(self) -> None:
        self._claim.in_use()

    def keep_only(self, made: memoryview) -> None:
        """The chunk is `made`: from here on only its bytes are held, not what making them took."""
        self.data = made
        if len(self.buffer) - STANDARD_BYTES > max(len(made), STANDARD_BYTES):
            kept = self._buffers.take(len(made))
            kept[: len(made)] = made
            self._buffers.give(self.buffer)
            self.buffer, self.data = kept, memoryview(kept)[: len(made)]
        self._claim.shrink(len(self.buffer))

    def drop(self) -> None:
        """Gives buffer and claim back; again is harmless."""
        if self._lent:
            self._unwanted = True
        elif not self.was_dropped:
            self.was_dropped = True
            self.data = _NOTHING
            self._buffers.give(self.buffer)
            self.buffer = bytearray()
            self._claim.release()
