"""How long one piece of work may have the event loop before the others have it.

Whatever loops over items asks its `Turn` after each of them; a connection asks it after each request. A turn lasts
`TURN_S`. Work that has used it up waits in one queue for its next turn, first come first served, and of that queue at
most `TURNS_A_PASS` go on in one pass of the event loop. So a pass takes a few milliseconds however much work waits. A
short request starts as soon as its bytes arrive, and waits for one pass at most.

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
"""A turn is over after as many steps, too: a clock that is moved by hand may stand still."""

T = TypeVar("T")
R = TypeVar("R")


class Turns:
    """The queue of those who wait for their next turn. `monotonic_s` counts seconds from anywhere."""

    def __init__(self, monotonic_s: Callable[[], float] = perf_counter) -> None:
        self.monotonic_s = monotonic_s
        self._queue: deque[asyncio.Future[None]] = deque()
        self._granted = 0

    @property
    def first_turn_s(self) -> float:
        """The length of a turn that begins now, without waiting in the queue."""
        return TURN_S * TURNS_A_PASS / (TURNS_A_PASS + len(self._queue)) if self._queue else TURN_S

    def begin(self) -> "Turn":
        """The turn of work that begins now."""
        turn = Turn(self)
        turn.begin()
        return turn

    async def wait(self) -> None:
        """Returns in a later pass of the loop, after those who wait already."""
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
            if granted.cancelled():  # it was not granted: nothing is to be handed on
                raise
            self._grant_next()
            raise
        self._grant_next()

    def _grant_next(self) -> None:
        """The place in the pass that is over goes to the first in the queue."""
        while self._queue:
            granted = self._queue.popleft()
            if not granted.done():
                granted.set_result(None)
                return
        self._granted -= 1


class Places(Protocol):
    """Few pieces of work have a place at once."""

    async def acquire(self, network: str) -> None:
        """Returns when there is one for work that a client of that network has asked for."""

    def release(self) -> None: ...


class Turn:
    """One turn after the other of one piece of work.

    With `places`, work that outlasts its second turn takes one of them, which it holds until `leave`: what it builds
    meanwhile adds up, so only few may go on at once. The first turn may have been used up by work before it.
    """

    __slots__ = ("_ends_s", "_is_second", "_network", "_places", "_steps", "_turns", "has_place")

    def __init__(self, turns: Turns, places: Places | None = None, network: str = "") -> None:
        self._turns = turns
        self._places = places
        self._network = network
        self._ends_s = 0.0
        self._steps = 0
        self.has_place = self._is_second = False

    def begin(self) -> None:
        """The work begins, or goes on after it has waited for something else."""
        turns = self._turns
        self._ends_s = turns.monotonic_s() + turns.first_turn_s
        self._steps = 0

    def is_over(self) -> bool:
        """Counts a step; whether the next one is for a later turn."""
        self._steps += 1
        return self._turns.monotonic_s() > self._ends_s or self._steps > MOST_STEPS

    async def next(self) -> None:
        """One item is done: others have the loop if the turn is over."""
        if self.is_over():
            await self._wait_for_next_turn()

    async def _wait_for_next_turn(self) -> None:
        if self._is_second and not self.has_place and self._places is not None:
            await self._places.acquire(self._network)
            self.has_place = True
        self._is_second = True
        await self.end()

    async def end(self) -> None:
        """Others have the loop; returns when the next turn begins."""
        await self._turns.wait()
        self._ends_s = self._turns.monotonic_s() + TURN_S
        self._steps = 0

    def leave(self) -> None:
        """The work is done: its place is somebody else's."""
        self._is_second = False
        if self.has_place and self._places is not None:
            self.has_place = False
            self._places.release()

    async def each(self, items: Iterable[T]) -> AsyncIterator[T]:
        """The items; others have the loop after one of them if the turn is over."""
        for item in items:
            yield item
            if self.is_over():
                await self._wait_for_next_turn()

    async def map(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """What `work` makes of each item."""
        made: list[R] = []
        for item in items:
            if made and self.is_over():
                await self._wait_for_next_turn()
            made.append(work(item))
        return made
