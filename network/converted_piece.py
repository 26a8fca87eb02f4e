"""A piece of a response whose bytes are converted while it is sent: its stream, the buffer with its next bytes, and the
claim that the buffer is charged to.

| state | holds | is left by |
|---|---|---|
| empty | nothing: the next bytes have to be made | claim |
| held | a claim and a buffer for the next bytes | lend, keep, drop |
| lent | the same, while a thread fills the buffer | take back, drop |
| unwanted | the same, but nobody waits for the thread any more | take back |
| filled | a claim and the next bytes | offer, sent, drop |
| offered | the same, but the budget may reclaim it: the peer stalls, or waits for another piece | withdraw, drop |

Bytes that were filled and dropped are made again: a stream that steps back gives the same bytes.
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
"""How many unused bytes a buffer may have that waits to be sent; a larger one is copied."""
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
        "sent": ConversionState.HELD,
        "drop": ConversionState.EMPTY,
    },
    ConversionState.OFFERED: {"withdraw": ConversionState.FILLED, "drop": ConversionState.EMPTY},
}


@dataclass(frozen=True, slots=True)
class ConversionMemory:
    """What conversions share: the memory budget, the pool of buffers, and the threads."""

    budget: MemoryBudget
    buffers: BufferPool
    workers: WorkerThreads

    @property
    def is_half_used(self) -> bool:
        return 2 * self.budget.in_use_bytes > self.budget.limit_bytes


class ConvertedPiece:
    """The bytes of `stream`. `size_bytes` is known after `learn_size`; `data` has the next bytes, or is empty."""

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
        """Learns `size_bytes` by the first `fill`. Keeps the bytes made by it as long as half of the memory is free.

        Calls `before_worker` each time before it waits for a thread. Raises what the stream raises.
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
        claim = memory.budget.try_claim(stream.bytes_to_claim) if buffer_bytes and not memory.is_half_used else None
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
        self._hold(await memory.budget.claim(stream.bytes_to_claim), buffer_bytes)
        try:
            self._keep_first(await self.run_in_worker(partial(stream.fill, self.buffer or None)))
        finally:
            if self.state is not ConversionState.OFFERED or memory.is_half_used:
                self.drop()

    def _keep_first(self, size_bytes: int) -> None:
        """Keeps the bytes of the first `fill` until they are sent or others need the memory."""
        if size_bytes:
            self.keep(size_bytes, surplus_bytes=KEPT_SURPLUS_BYTES)
            self.offer_memory(at_once=True)

    # Making the next bytes

    @property
    def has_room(self) -> bool:
        """Whether claim and buffer are large enough for the next bytes."""
        stream, claim = self.stream, self._claim
        is_paid = claim is not None and claim.size_bytes == stream.bytes_to_claim
        return is_paid and len(self.buffer) >= stream.buffer_bytes

    async def claim(self, on_wait: Callable[[], None]) -> None:
        """Gives back what it holds, and claims memory for the next bytes; calls `on_wait` if it has to wait.

        Raises: MemoryError.
        """
        if self.state is not ConversionState.EMPTY:
            self.drop()
        budget, size_bytes = self._memory.budget, self.stream.bytes_to_claim
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

    def run_in_worker(self, work: Callable[[], T], on_over: Callable[[], None] | None = None) -> "asyncio.Future[T]":
        """Does `work` in a thread, which uses the buffer until the end, even if nobody waits for it any more."""

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
        """Makes the first `size_bytes` of the buffer `data`, and copies them if more than the surplus is unused. 0:
        does nothing.

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
        if self._claim is not None and self._claim.size_bytes > len(self.buffer):
            self._claim.shrink_to(len(self.buffer))
        self.state = NEXT[self.state]["keep"]

    # While it is sent

    def offer_memory(self, *, at_once: bool = False) -> None:
        """Lets others have the memory, since the peer stalls or (`at_once`) another piece is being sent."""
        self.state = NEXT[self.state]["offer"]
        if self._claim is not None:
            self._claim.allow_reclaim(partial(_drop, ref(self)), at_once=at_once)

    def withdraw_offer(self) -> None:
        """Ends the offer. `data` is empty if others have taken the memory."""
        self.state = NEXT[self.state]["withdraw"]
        if self._claim is not None:
            self._claim.forbid_reclaim()

    def forget_sent_data(self) -> None:
        """Empties `data`, which was sent. Keeps the memory for the next bytes unless others wait for it."""
        self.state = NEXT[self.state]["sent"]
        self.data = NOTHING
        if self._memory.budget.waiting_count:  # otherwise a slow peer would keep the same memory to the end
            self.drop()

    def drop(self) -> None:
        """Gives buffer and claim back, at once or when the thread that uses them is done."""
        before, self.state = self.state, NEXT[self.state]["drop"]
        if before is ConversionState.FILLED or before is ConversionState.OFFERED:
            self.stream.step_back()
        if self.state is ConversionState.EMPTY and before is not ConversionState.EMPTY:
            self._release()

    def close(self) -> None:
        """Frees everything; nothing more is sent."""
        self.stream.close()
        self.drop()

    def __del__(self) -> None:
        if self._claim is not None:
            self.drop()  # the answer was never sent

    def _release(self) -> None:
        claim, self._claim = self._claim, None
        self.data = NOTHING
        self._memory.buffers.give(self.buffer)
        self.buffer = bytearray()
        if claim is not None:
            claim.release()


def _drop(conversion: "ref[ConvertedPiece]") -> None:
    """For the budget, whose weak reference does not keep an answer alive that nobody sends."""
    found = conversion()
    if found is not None:
        found.drop()
