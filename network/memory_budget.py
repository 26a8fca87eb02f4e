"""Limits the bytes of requests and responses in flight.

Every buffer for conversion, decompression or a large request is charged to a `MemoryBudget`. While it is used up,
claims wait in a queue (first come, first served). A claim larger than the whole budget is granted when nothing else is
held, so work always goes on. The peak is the larger of the limit and the largest single claim.

A holder that does not progress (a chunk converted for a reader that does not read) lets others have its memory
by `Claim.allow_reclaim`: when others wait, the budget asks the holder that stalled first to drop what it can make again
later, but only after it has stalled for `patience_ms`. Without this delay, a hundred readers slightly slower than the
broker would take memory from one another, and every chunk would be converted twice.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType

from .clock import Clock, Timer

PATIENCE_MS = 100
LONG_AGO = float("-inf")


class NoRoomToWait(Exception):
    """Too many claims wait for memory already; this one is refused."""


class Claim:
    """`size_bytes` of the budget, held until `release`; also a context manager. `owner`: the address or network that it
    is for."""

    __slots__ = ("_budget", "owner", "size_bytes", "stalled_since_ms")

    def __init__(self, budget: "MemoryBudget", size_bytes: int, owner: str) -> None:
        self._budget = budget
        self.owner = owner
        self.size_bytes = size_bytes
        self.stalled_since_ms: float | None = None

    def release(self) -> None:
        """Gives the bytes back; may be called again."""
        size, self.size_bytes = self.size_bytes, 0
        self._budget._reclaimable.pop(self, None)
        self._budget._leaving.discard(self)
        self._budget._give_back(self, size)

    def shrink_to(self, size_bytes: int) -> None:
        """Keeps `size_bytes` and gives the rest back."""
        surplus = self.size_bytes - size_bytes
        if surplus > 0:
            self.size_bytes = size_bytes
            self._budget._give_back(self, surplus)

    def try_grow_to(self, size_bytes: int) -> bool:
        """Grows to that many bytes if there is room and nobody waits. Returns whether it has that many."""
        more = size_bytes - self.size_bytes
        extra = self._budget.try_claim(more, self.owner) if more > 0 else None
        if extra is not None:
            self.size_bytes, extra.size_bytes = size_bytes, 0
        return self.size_bytes >= size_bytes

    def allow_reclaim(self, drop: Callable[[], None], *, at_once: bool = False) -> None:
        """Lets the budget call `drop`, once, when others wait; `drop` has to release this claim, soon if not at once.

        `at_once`: without the patience for stalled holders, since nothing is being sent yet.
        """
        budget = self._budget
        if at_once:
            self.stalled_since_ms = LONG_AGO
        elif self.stalled_since_ms is None:
            self.stalled_since_ms = budget._monotonic_ms()
        budget._reclaimable[self] = drop
        if budget.waiting_count:
            budget._serve_queue()

    def note_progress(self, forgiven_ms: float) -> None:
        """Takes note that the holder progressed: it counts as stalled `forgiven_ms` later than it would have."""
        self._budget._forgive(self, forgiven_ms)

    def forbid_reclaim(self) -> None:
        """Ends the permission of `allow_reclaim`."""
        if self.stalled_since_ms == LONG_AGO:
            self.stalled_since_ms = None
        self._budget._reclaimable.pop(self, None)

    def __enter__(self) -> "Claim":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@dataclass(slots=True, eq=False)
class Waiter:
    """A claim that waits. `holds_bytes`: its connection holds uncharged bytes meanwhile."""

    size_bytes: int
    owner: str
    holds_bytes: bool
    turn: asyncio.Future[Claim]


class MemoryBudget:
    """A limit in bytes that all its users share.

    `is_full`: all of it is claimed. `waiting_count`: claims that wait. `waits`: claims that had to wait. `on_wait` is
    called at the end of each wait with its seconds. With a `clock`, a stalled holder keeps its memory for
    `patience_ms`.
    """

    def __init__(
        self,
        limit_bytes: int,
        on_wait: Callable[[float], None] | None = None,
        *,
        clock: Clock | None = None,
        patience_ms: int = PATIENCE_MS,
    ) -> None:
        self.limit_bytes = limit_bytes
        self._on_wait = on_wait
        self._clock = clock
        self._patience_ms = patience_ms
        self._timer: Timer | None = None
        self.in_use_bytes = 0
        self.is_full = False
        self.peak_bytes = 0
        self.waits = self.waiting_count = 0
        self._queue: dict[Waiter, None] = {}  # by age
        self._reclaimable: dict[Claim, Callable[[], None]] = {}
        self._leaving: set[Claim] = set()  # were asked to release, and do so when they can
        self._reclaiming = False

    def try_claim(self, size_bytes: int, owner: str = "") -> Claim | None:
        """A claim if there is room and nobody waits, otherwise None."""
        if self._queue or not self._has_room_for(size_bytes):
            return None
        return self._make_claim(size_bytes, owner)

    def claim_unconditionally(self, size_bytes: int) -> Claim:
        """A claim for bytes that are in memory already, even above the limit."""
        return self._make_claim(size_bytes, "")

    async def claim(self, size_bytes: int, owner: str = "", *, holds_bytes: bool = False) -> Claim:
        """Waits until there is room for `size_bytes`. `holds_bytes`: see `Waiter`.

        Raises: NoRoomToWait if the budget limits how many wait.
        """
        taken = self.try_claim(size_bytes, owner)
        if taken is not None:
            return taken
        self.waits += 1
        began = perf_counter()
        waiter = Waiter(size_bytes, owner, holds_bytes, asyncio.get_running_loop().create_future())
        self._add_waiter(waiter)
        self._serve_queue()
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled():
                waiter.turn.result().release()
            raise
        finally:
            self._remove_waiter(waiter)
            self._serve_queue()
            if self._on_wait is not None:
                self._on_wait(perf_counter() - began)

    def _has_room_for(self, size_bytes: int) -> bool:
        return self.in_use_bytes == 0 or self.in_use_bytes + size_bytes <= self.limit_bytes

    def _make_claim(self, size_bytes: int, owner: str) -> Claim:
        self.in_use_bytes += size_bytes
        self.is_full = self.in_use_bytes >= self.limit_bytes
        self.peak_bytes = max(self.peak_bytes, self.in_use_bytes)
        return Claim(self, size_bytes, owner)

    def _give_back(self, claim: Claim, size_bytes: int) -> None:
        self.in_use_bytes -= size_bytes
        self.is_full = self.in_use_bytes >= self.limit_bytes
        if self.waiting_count:
            self._serve_queue()

    def _add_waiter(self, waiter: Waiter) -> None:
        self._queue[waiter] = None
        self.waiting_count = len(self._queue)

    def _remove_waiter(self, waiter: Waiter) -> None:
        """May be called again."""
        self._queue.pop(waiter, None)
        self.waiting_count = len(self._queue)

    def _first_waiter(self) -> Waiter | None:
        """The waiter to serve next, or None."""
        return next(iter(self._queue), None)

    def _serve_queue(self) -> None:
        while (first := self._first_waiter()) is not None:
            if first.turn.done():
                self._remove_waiter(first)
            elif self._has_room_for(first.size_bytes):
                self._remove_waiter(first)
                first.turn.set_result(self._make_claim(first.size_bytes, first.owner))
            elif not self._ask_a_holder_to_release(first):
                return

    def _forgive(self, claim: Claim, ms: float) -> None:
        if claim.stalled_since_ms is not None:
            claim.stalled_since_ms = min(self._monotonic_ms(), claim.stalled_since_ms + ms)

    def _monotonic_ms(self) -> int:
        return 0 if self._clock is None else self._clock.monotonic_ms()

    def _ask_a_holder_to_release(self, first: Waiter) -> bool:
        """Asks a stalled holder to release its memory for the first waiter. Returns whether one was asked."""
        if self._reclaiming or sum(each.size_bytes for each in self._leaving) >= first.size_bytes:
            return False
        found = self._choose_holder(first)
        if found is None:
            return False
        self._reclaiming = True
        try:
            self._reclaimable.pop(found)()
            if found.size_bytes:
                self._leaving.add(found)
        finally:
            self._reclaiming = False
        return True

    def _choose_holder(self, first: Waiter) -> Claim | None:
        """The holder to ask for its memory; None if there is none yet: then a timer tries again."""
        if not self._reclaimable:
            return None
        return self._choose_if_stalled_for(min(self._reclaimable, key=stalled_since_ms), self._patience_ms)

    def _choose_if_stalled_for(self, claim: Claim, patience_ms: int) -> Claim | None:
        if self._clock is None:
            return claim
        left_ms = stalled_since_ms(claim) + patience_ms - self._clock.monotonic_ms()
        if left_ms <= 0:
            return claim
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_later(left_ms, self._serve_queue_on_timer)
        return None

    def _serve_queue_on_timer(self) -> None:
        self._timer = None
        self._serve_queue()


def stalled_since_ms(claim: Claim) -> float:
    return claim.stalled_since_ms or 0
