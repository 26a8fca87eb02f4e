"""A piece of a response whose bytes are made while it is sent: its stream, the buffer that its next bytes are in, and
the claim that pays for the buffer.

| state | holds | is left by |
|---|---|---|
| empty | nothing: the next bytes have to be made | claim |
| held | a claim and a buffer for the next bytes | lend, keep, drop |
| lent | the same, while a thread fills the buffer | take back, drop |
| unwanted | the same, although nobody waits for the thread | take back |
| filled | a claim and the next bytes | offer, consume, drop |
| offered | the same, which others may take (drop) while the peer stalls, or it is not its turn | withdraw, drop |

What was filled and is dropped is made again: a stream that steps back gives the same bytes.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeVar
from weakref import ref

from .memory_budget import Claim, MemoryBudget
from .output_buffer_pool import STANDARD_BYTES, BufferPool
from .pieces import PieceStream
from .worker_threads import WorkerThreads

T = TypeVar("T")

KEPT_SURPLUS_BYTES = 64 * 1024
"""How much larger than its bytes a buffer may be that is kept until its turn comes."""
NOTHING = memoryview(b"")


class ConversionState(StrEnum):
    EMPTY = "empty"
    HELD = "held"
    LENT = "lent"
    UNWANTED = "unwanted"
    FILLED = "filled"
    OFFERED = "offered"


NEXT: Mapping[ConversionState, Mapping[str, ConversionState]] = {
    ConversionState.EMPTY: {
        "claim": ConversionState.HELD,
        "withdraw": ConversionState.EMPTY,
        "drop": ConversionState.EMPTY,
    },
    ConversionState.HELD: {"lend": ConversionState.LENT, "keep": ConversionState.FILLED, "drop": ConversionState.EMPTY},
    ConversionState.LENT: {"take back": ConversionState.HELD, "drop": ConversionState.UNWANTED},
    ConversionState.UNWANTED: {"take back": ConversionState.EMPTY, "drop": ConversionState.UNWANTED},
    ConversionState.FILLED: {
        "offer": ConversionState.OFFERED,
        "consume": ConversionState.HELD,
        "drop": ConversionState.EMPTY,
    },
    ConversionState.OFFERED: {"withdraw": ConversionState.FILLED, "drop": ConversionState.EMPTY},
}


@dataclass(frozen=True, slots=True)
class ConversionMemory:
    """What conversions share: the budget for their memory, the buffers that are used again, and the threads."""

    budget: MemoryBudget
    buffers: BufferPool
    workers: WorkerThreads

    @property
    def is_half_used(self) -> bool:
        return 2 * self.budget.in_use_bytes > self.budget.limit_bytes


class ConvertedPiece:
    """`size_bytes` bytes of `stream`, known after `learn_size`; `data` are the next of them, if they are there."""

    is_in_file = False

    __slots__ = ("__weakref__", "_claim", "_memory", "buffer", "data", "size_bytes", "state", "stream")

    def __init__(self, stream: PieceStream, memory: ConversionMemory) -> None:
        self.stream = stream
        self._memory = memory
        self._claim: Claim | None = None
        self.buffer = bytearray()
        self.data = NOTHING
        self.size_bytes = 0
        self.state = ConversionState.EMPTY

    async def learn_size(self, before_worker: Callable[[], None] | None = None) -> None:
        """Learn `size_bytes` by the first `fill`, and keep what that makes as long as half of the memory is free.

        `before_worker` is called each time before a thread is waited for. Raises what the stream does.
        """
        stream = self.stream
        while not stream.is_size_known:
            if not stream.needs_worker:
                self._learn_size_in_loop()
                continue
            if before_worker is not None:
                before_worker()
            await self._learn_size_in_worker()
        self.size_bytes = stream.size_bytes

    def _learn_size_in_loop(self) -> None:
        stream, memory = self.stream, self._memory
        buffer_bytes = stream.buffer_bytes
        claim = memory.budget.try_claim(stream.claim_bytes) if buffer_bytes and not memory.is_half_used else None
        if claim is None:
            stream.fill(None)
            return
        self._hold(claim, buffer_bytes)
        try:
            self._keep_first(stream.fill(self.buffer))
        finally:
            if self.state is ConversionState.HELD:
                self.drop()

    async def _learn_size_in_worker(self) -> None:
        stream, memory = self.stream, self._memory
        buffer_bytes = 0 if memory.is_half_used else stream.buffer_bytes
        self._hold(await memory.budget.claim(stream.claim_bytes), buffer_bytes)
        try:
            self._keep_first(await self.run_in_worker(partial(stream.fill, self.buffer or None)))
        finally:
            if self.state is not ConversionState.OFFERED or memory.is_half_used:
                self.drop()

    def _keep_first(self, size_bytes: int) -> None:
        """Keeps the bytes that the first `fill` made, until they are sent or others need the memory."""
        if size_bytes:
            self.keep(size_bytes, surplus_bytes=KEPT_SURPLUS_BYTES)
            self.offer(at_once=True)

    # Making the next bytes

    @property
    def has_room(self) -> bool:
        """Whether the claim has the size that the next bytes need, and the buffer is large enough for them."""
        stream, claim = self.stream, self._claim
        is_paid = claim is not None and claim.size_bytes == stream.claim_bytes
        return is_paid and len(self.buffer) >= stream.buffer_bytes

    async def claim(self, on_wait: Callable[[], None]) -> None:
        """Have memory for the next bytes; `on_wait` is called where it has to be waited for. Raises: MemoryError."""
        budget, size_bytes = self._memory.budget, self.stream.claim_bytes
        claim = budget.try_claim(size_bytes)
        if claim is None:
            on_wait()
            claim = await budget.claim(size_bytes)
        self._hold(claim, self.stream.buffer_bytes)

    def _hold(self, claim: Claim, buffer_bytes: int) -> None:
        try:
            self.buffer = self._memory.buffers.take(buffer_bytes) if buffer_bytes else bytearray()
        except MemoryError:
            claim.release()
            raise
        self._claim = claim
        self.state = NEXT[self.state]["claim"]

    def fill(self) -> None:
        """Make the next bytes, which may be none yet."""
        self.keep(self.stream.fill(self.buffer))

    def run_in_worker(self, work: Callable[[], T], on_over: Callable[[], None] | None = None) -> "asyncio.Future[T]":
        """Do `work` in a thread, which has the buffer until it is over, even if nobody waits for it any more."""

        def take_back() -> None:
            self.state = NEXT[self.state]["take back"]
            if self.state is ConversionState.EMPTY:
                self._release()
            if on_over is not None:
                on_over()

        working = self._memory.workers.run(work, take_back)
        self.state = NEXT[self.state]["lend"]
        return working

    def keep(self, size_bytes: int, *, surplus_bytes: int = STANDARD_BYTES) -> None:
        """`size_bytes` bytes are filled: hold no more than them and the surplus. 0: hold all.

        Raises: MemoryError; then nothing is held.
        """
        if not size_bytes:
            return
        self.data = memoryview(self.buffer)[:size_bytes]
        if len(self.buffer) - size_bytes > surplus_bytes:
            try:
                kept = bytearray(self.data)
            except MemoryError:
                self.drop()
                raise
            self._memory.buffers.give(self.buffer)
            self.buffer, self.data = kept, memoryview(kept)
        if self._claim is not None:
            self._claim.shrink(len(self.buffer))
        self.state = NEXT[self.state]["keep"]

    # While it is sent

    def offer(self, *, at_once: bool = False) -> None:
        """The peer stalls, or it is not its turn (`at_once`): others may have the memory."""
        self.state = NEXT[self.state]["offer"]
        if self._claim is not None:
            self._claim.allow_reclaim(partial(_drop, ref(self)), at_once=at_once)

    def withdraw(self) -> None:
        """The memory is in use again, if nobody took it: then there is `data`."""
        self.state = NEXT[self.state]["withdraw"]
        if self._claim is not None:
            self._claim.forbid_reclaim()

    def consume(self) -> None:
        """`data` was sent. The memory stays for the next bytes unless others wait for it."""
        self.state = NEXT[self.state]["consume"]
        self.data = NOTHING
        if self._memory.budget.waiting:  # a peer that stalls at each buffer would keep the same memory to its end
            self.drop()

    def drop(self) -> None:
        """Give buffer and claim back: at once, or when the thread is done that works with them."""
        before, self.state = self.state, NEXT[self.state]["drop"]
        if before is ConversionState.FILLED or before is ConversionState.OFFERED:
            self.stream.step_back()
        if self.state is ConversionState.EMPTY and before is not ConversionState.EMPTY:
            self._release()

    def close(self) -> None:
        """Nothing more will be asked for."""
        self.stream.close()
        self.drop()

    def __del__(self) -> None:
        if self._claim is not None:
            self.drop()  # of an answer that was never sent

    def _release(self) -> None:
        claim, self._claim = self._claim, None
        self.data = NOTHING
        self._memory.buffers.give(self.buffer)
        self.buffer = bytearray()
        if claim is not None:
            claim.release()


def _drop(conversion: "ref[ConvertedPiece]") -> None:
    """Called by the budget, which only holds a weak reference: it does not keep alive an answer that nobody sends."""
    found = conversion()
    if found is not None:
        found.drop()
