"""Sends responses, by `outflow.py`, and does what it cannot: waits, and has chunks made in a worker.

Memory while a reader stalls: nothing for bytes of files (they stay in the page cache), at most one converted chunk,
charged to the conversion budget. When others wait for that budget the chunk is dropped and made again once the reader
takes more: conversion is a function of the stored bytes, so the second making equals the first.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TypeVar, cast

from ...protocol.primitives import BUFFER_TYPES
from ...protocol.schema import Piece
from ..metrics.metrics import Metrics
from ..scheduling.worker_threads import in_worker
from .buffer_pool import STANDARD_BYTES, BufferPool
from .held_chunk import HeldChunk
from .lazy_piece import Chunks
from .memory_budget import Claim, MemoryBudget
from .outflow import TURN_BYTES, Outflow
from .transport import PlainWire

FILE_BUFFER_SHARE = 5 / 8
"""Of the grown send buffer, for what is not converted: a quick peer empties a larger one before `sendfile` has filled
it, sleeps each time, and is woken for every 64 KiB."""

_Done = TypeVar("_Done")


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
        flow = Outflow(self._wire, self._budget, self._buffers, pieces, sent)
        has_waited = False
        try:
            while True:
                if is_full or not flow.push():
                    await self._wire.drive(flow.push, buffer_share=1 if flow.converts else FILE_BUFFER_SHARE)
                    is_full, has_waited = False, True
                if flow.is_over:
                    if not has_waited:  # the peer may have asked for a thousand more: others have their turn in between
                        await asyncio.sleep(0)
                    return
                await self._help_on(flow, cast(Chunks, flow.chunks))
        finally:
            self._wire.rest()
            flow.close()
            self._metrics.sendfile_bytes.add(flow.file_bytes)
            self._metrics.copied_bytes.add(flow.converted_bytes)

    async def _help_on(self, flow: Outflow, chunks: Chunks) -> None:
        """Does what the flow halts for, and no more of it than one turn."""
        if flow.unsent_bytes:
            flow.resume(await self._make(chunks, await self._hold(chunks)))
        elif flow.held is not None:
            flow.take_up(0, await self._make(chunks, flow.held))
            await asyncio.sleep(0)
        elif chunks.needs_worker:
            if not self._wire.has_room():
                await self._wire.room()
            await self._send_by_worker(flow, chunks)
        else:
            flow.take_up(0, await self._hold(chunks))

    async def _send_by_worker(self, flow: Outflow, chunks: Chunks) -> None:
        """A turn's chunks, since the way to a worker and back takes as long as 30 kB of LZ4.

        Nothing is sent of a large chunk: what making it took is to be given back before.
        """
        held, done = await self._hold(chunks), 0
        if chunks.buffer_bytes <= STANDARD_BYTES:
            run = partial(chunks.run, held.buffer, self._wire, flow.remaining_bytes, TURN_BYTES)
            done, data, held.sent = await self._in_worker(held, run)
            if data:
                held.keep_only(data)
        if not held.data and not done:
            if not held.is_for(chunks.claim_bytes, chunks.buffer_bytes):
                held.drop()
                held = await self._hold(chunks)
            held = await self._make(chunks, held)
        flow.take_up(done, held)

    async def _hold(self, chunks: Chunks) -> HeldChunk:
        """What the next chunk takes, charged to the budget."""
        return HeldChunk(await self._claim(chunks.claim_bytes), self._buffers, chunks.buffer_bytes)

    async def _make(self, chunks: Chunks, held: HeldChunk) -> HeldChunk:
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

    async def _in_worker(self, held: HeldChunk, work: Callable[[], _Done]) -> _Done:
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


def _make_here(chunks: Chunks, held: HeldChunk) -> memoryview | None:
    try:
        return chunks.make(held.buffer)
    except BaseException:
        held.drop()
        raise
