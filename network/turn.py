"""Cooperative time slices: how long a piece of work may use the event loop before it yields to others.

A loop over items asks its `Turn` after each item, a connection after each request. A turn lasts `TURN_S`. Work that has
used its turn up waits in one queue, first come first served; at most `TURNS_A_PASS` of the queue continue in one pass
of the event loop. So a pass takes a few milliseconds even if much work waits. A short request starts as soon as its
bytes arrive, and waits for one pass at most.

When many wait, new work gets a shorter first turn; otherwise 500 pieces of work that start in one pass would take 500
full turns.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from time import perf_counter
from typing import Protocol, TypeVar

TURN_S = 0.0005
TURNS_A_PASS = 16
MOST_STEPS = 512
"""A turn is also over after this many steps, since a clock that is moved by hand may stand still."""

T = TypeVar("T")
R = TypeVar("R")


class Turns:
    """The queue of work that waits for its next turn. `monotonic_s`: a clock in seconds, from any start."""

    def __init__(self, monotonic_s: Callable[[], float] = perf_counter) -> None:
        self.monotonic_s = monotonic_s
        self._queue: deque[asyncio.Future[None]] = deque()
        self._granted = 0

    @property
    def first_turn_s(self) -> float:
        """The length of a turn that begins now, without waiting in the queue."""
        return TURN_S * TURNS_A_PASS / (TURNS_A_PASS + len(self._queue)) if self._queue else TURN_S

    def begin(self) -> "Turn":
        """Begins the turn of new work."""
        turn = Turn(self)
        turn.begin()
        return turn

    async def wait(self) -> None:
        """Waits for a later pass of the loop, after all that wait already."""
        if self._granted < TURNS_A_PASS:
            self._granted += 1
            try:
                await asyncio.sleep(0)
            finally:
                self._grant_next()
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.cancelled():  # it was not granted, so there is nothing to pass on
                raise
            self._grant_next()
            raise
        self._grant_next()

    def _grant_next(self) -> None:
        """Passes the place in the pass on to the first in the queue."""
        while self._queue:
            granted = self._queue.popleft()
            if not granted.done():
                granted.set_result(None)
                return
        self._granted -= 1


class LongWorkPlaces(Protocol):
    """Places for long work, of which only few may run at once."""

    async def acquire(self, network: str) -> None:
        """Waits for a place for work of a client of that network."""

    def release(self) -> None: ...


class Turn:
    """The turns of one piece of work.

    With `places`, work that outlasts its second turn takes a place and holds it until `release_place`: what such work
    builds in memory adds up, so only few may run at once. (Earlier work may have used up the first turn.)
    """

    __slots__ = ("_ends_s", "_is_second", "_network", "_places", "_steps", "_turns", "has_place")

    def __init__(self, turns: Turns, places: LongWorkPlaces | None = None, network: str = "") -> None:
        self._turns = turns
        self._places = places
        self._network = network
        self._ends_s = 0.0
        self._steps = 0
        self.has_place = self._is_second = False

    def begin(self) -> None:
        """Begins a turn: the work starts, or continues after it has waited for something else."""
        turns = self._turns
        self._ends_s = turns.monotonic_s() + turns.first_turn_s
        self._steps = 0

    def is_over(self) -> bool:
        """Counts a step. Returns whether the turn is over."""
        self._steps += 1
        return self._turns.monotonic_s() > self._ends_s or self._steps > MOST_STEPS

    async def next(self) -> None:
        """Called after each item: yields to others if the turn is over."""
        if self.is_over():
            await self._yield_and_take_place()

    async def _yield_and_take_place(self) -> None:
        if self._is_second and not self.has_place and self._places is not None:
            await self._places.acquire(self._network)
            self.has_place = True
        self._is_second = True
        await self.yield_to_others()

    async def yield_to_others(self) -> None:
        """Yields to others until the next turn begins."""
        await self._turns.wait()
        self._ends_s = self._turns.monotonic_s() + TURN_S
        self._steps = 0

    def release_place(self) -> None:
        """Gives the place back, if it has one: the work is done."""
        self._is_second = False
        if self.has_place and self._places is not None:
            self.has_place = False
            self._places.release()

    async def each(self, items: Iterable[T]) -> AsyncIterator[T]:
        """Yields the items; after each item, lets others use the loop if the turn is over."""
        for item in items:
            yield item
            if self.is_over():
                await self._yield_and_take_place()

    async def map(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Calls `work` for each item, in turns; returns the results."""
        made: list[R] = []
        for item in items:
            if made and self.is_over():
                await self._yield_and_take_place()
            made.append(work(item))
        return made
