"""Requests that wait for something to happen to a partition, or for their time to run out.

Each event on a key that a `Waiter` watches makes it check whether it is satisfied (Kafka: DelayedOperationPurgatory). A
waiter is woken at most once, and forgotten then.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

from ...network.clock import Clock

IsSatisfied = Callable[[Hashable | None], bool]
"""Whether what is waited for is there, after an event on one key; None: look at everything."""


class WaitingPeer(Protocol):
    """The peer of a waiting request. `on_leave`, if set, is called when it hangs up; `has_left`: it has done so."""

    on_leave: Callable[[], None] | None
    has_left: bool

    @property
    def allow_frame_reclaim(self) -> Callable[[Callable[[], None]], None]:
        """Allows others to take the memory of the request; its argument is called then, to end the wait."""
        ...


class Waiter:
    """One parked request."""

    __slots__ = ("_is_satisfied", "done", "is_late")

    def __init__(self, is_satisfied: IsSatisfied) -> None:
        self.is_late = False
        self._is_satisfied = is_satisfied
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def try_complete(self, key: Hashable) -> None:
        """Wakes the request if what it waits for is there, after an event on `key`."""
        if self.done.done():
            return
        try:
            if self._is_satisfied(key):
                self.done.set_result(None)
        except Exception as fault:  # it is the waiter's, not that of the caller of `notify`
            self.done.set_exception(fault)

    def expire(self) -> None:
        """Wakes the request because its time is up."""
        self.is_late = not self.done.done()
        self.wake()

    def wake(self) -> None:
        """Wakes the request if nothing has woken it yet."""
        if not self.done.done():
            self.done.set_result(None)


class Purgatory:
    """Waiters by what they watch, woken in the order in which they came.

    `watched`: the waiters of each key. A single waiter is there without a dict: a dict for each of thousands of
    partitions was most of the memory of a waiting fetch.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.watched: dict[Hashable, Waiter | dict[Waiter, None]] = {}
        self._parked: dict[Waiter, None] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._parked)

    async def wait(
        self,
        keys: Iterable[Hashable],
        is_satisfied: IsSatisfied,
        timeout_ms: float,
        *,
        peer: WaitingPeer | None = None,
    ) -> bool:
        """True when `is_satisfied` turned true, at once or after an event on one of `keys`; or when `peer` has left.

        False when time ran out first. What `is_satisfied` raises is raised here, not where the event came from.
        """
        if is_satisfied(None) or (peer is not None and peer.has_left):
            return True
        if self._is_closed or timeout_ms <= 0:
            return False
        waiter = Waiter(is_satisfied)
        watched = tuple(keys)
        for key in watched:
            self._watch(waiter, key)
        self._parked[waiter] = None
        if peer is not None:
            peer.on_leave = waiter.wake
            peer.allow_frame_reclaim(waiter.expire)
        timer = self._clock.call_later(timeout_ms, waiter.expire)
        try:
            await waiter.done
            return not waiter.is_late
        finally:
            timer.cancel()
            if peer is not None:
                peer.on_leave = None
            self._parked.pop(waiter, None)
            self._forget(waiter, watched)

    def notify(self, key: Hashable) -> None:
        """Checks the waiters of `key`, after something happened to it."""
        watchers = self.watched.get(key)
        if isinstance(watchers, Waiter):
            watchers.try_complete(key)
        elif watchers:
            for waiter in tuple(watchers):
                waiter.try_complete(key)

    def close(self) -> None:
        """Wakes all waiters; nobody waits after that."""
        self._is_closed = True
        for waiter in tuple(self._parked):
            waiter.wake()

    def _watch(self, waiter: Waiter, key: Hashable) -> None:
        watchers = self.watched.setdefault(key, waiter)
        if isinstance(watchers, dict):
            watchers[waiter] = None
        elif watchers is not waiter:
            self.watched[key] = {watchers: None, waiter: None}

    def _forget(self, waiter: Waiter, keys: tuple[Hashable, ...]) -> None:
        for key in keys:
            watchers = self.watched.get(key)
            if isinstance(watchers, dict):
                watchers.pop(waiter, None)
            if watchers is waiter or not watchers:
                self.watched.pop(key, None)
