"""The memory of long answers that are not read yet.

An answer that waits for this memory is encoded already, so it counts as unread, too: 1,200 connections that read
nothing held 76 kB each in a container of 64 MiB.
"""

from functools import partial

from ..clock import Clock
from ..memory_budget import MemoryBudget, NoRoomToWait, Waiter
from .kept_bytes import KeptBytes


class AnswerBudget(MemoryBudget):
    """A `MemoryBudget` shared by networks: the `owner` of a claim is a network. `unread` counts the waiting answers."""

    def __init__(self, limit_bytes: int, unread: KeptBytes, *, clock: Clock, patience_ms: int) -> None:
        super().__init__(limit_bytes, clock=clock, patience_ms=patience_ms)
        self._unread = unread

    def _add_waiter(self, waiter: Waiter) -> None:
        super()._add_waiter(waiter)
        self._unread.keep(waiter, waiter.owner, waiter.size_bytes, partial(self._refuse, waiter))

    def _remove_waiter(self, waiter: Waiter) -> None:
        super()._remove_waiter(waiter)
        self._unread.release(waiter, waiter.owner)

    def _refuse(self, waiter: Waiter) -> None:
        super()._remove_waiter(waiter)
        if not waiter.turn.done():
            waiter.turn.set_exception(
                NoRoomToWait(
                    f"its answer of {waiter.size_bytes} bytes, and {self.waiting_count} others, wait for clients that "
                    "do not read theirs; see stepdown.request.memory.bytes"
                )
            )
