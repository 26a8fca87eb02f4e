"""The memory of long answers that are not read yet. Those that wait for it are written already, and are kept beside
those that nobody takes: 1,200 connections that read nothing held 76 kB each in a container of 64 MiB.
"""

from functools import partial

from ..clock import Clock
from ..memory_budget import MemoryBudget, NoRoomToWait, Waiter
from .kept_bytes import KeptBytes


class AnswerBudget(MemoryBudget):
    """A `MemoryBudget` whose claims are of networks: `owner` of `claim`. Who waits is counted in `unread`."""

    def __init__(self, limit_bytes: int, unread: KeptBytes, *, clock: Clock, patience_ms: int) -> None:
        super().__init__(limit_bytes, clock=clock, patience_ms=patience_ms)
        self._unread = unread

    def _join(self, waiter: Waiter) -> None:
        super()._join(waiter)
        self._unread.keep(waiter, waiter.owner, waiter.size_bytes, partial(self._refuse, waiter))

    def _leave(self, waiter: Waiter) -> None:
        super()._leave(waiter)
        self._unread.release(waiter, waiter.owner)

    def _refuse(self, waiter: Waiter) -> None:
        super()._leave(waiter)
        if not waiter.turn.done():
            waiter.turn.set_exception(
                NoRoomToWait(
                    f"its answer of {waiter.size_bytes} bytes, and {self.waiting} others, wait for clients that do "
                    "not read theirs; see stepdown.request.memory.bytes"
                )
            )
