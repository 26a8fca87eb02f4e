"""The memory of answers that are not read yet. Those that wait for it are written already, and count as well.

Above WAITING_SHARE times the limit the answers of the network that has most of them give way, the oldest first: 1,200
connections that read nothing held 76 kB each in a container of 64 MiB.
"""

from collections import Counter
from typing import Final

from ..clock import Clock
from ..memory_budget import MemoryBudget, NoRoomToWait, Waiter

WAITING_SHARE: Final = 4
"""Many clients that ask at once, and read, wait for milliseconds: they have room for as much."""


class AnswerBudget(MemoryBudget):
    """A `MemoryBudget` whose claims are of networks: `owner` of `claim`."""

    def __init__(self, limit_bytes: int, *, clock: Clock, patience_ms: int) -> None:
        super().__init__(limit_bytes, clock=clock, patience_ms=patience_ms)
        self._waiting_of: dict[str, dict[Waiter, None]] = {}
        self._bytes_of: Counter[str] = Counter()

    @property
    def waiting_bytes(self) -> int:
        return self._bytes_of.total()

    def _join(self, waiter: Waiter) -> None:
        super()._join(waiter)
        self._waiting_of.setdefault(waiter.owner, {})[waiter] = None
        self._bytes_of[waiter.owner] += waiter.size_bytes
        self._make_room()

    def _leave(self, waiter: Waiter) -> None:
        own = self._waiting_of.get(waiter.owner, {})
        if waiter in own:
            super()._leave(waiter)
            del own[waiter]
            self._bytes_of[waiter.owner] -= waiter.size_bytes
            if not own:
                del self._waiting_of[waiter.owner], self._bytes_of[waiter.owner]

    def _make_room(self) -> None:
        while self.waiting > 1 and self.waiting_bytes > WAITING_SHARE * self.limit_bytes:
            network, _ = self._bytes_of.most_common(1)[0]
            oldest = next(iter(self._waiting_of[network]))
            self._leave(oldest)
            if not oldest.turn.done():
                oldest.turn.set_exception(
                    NoRoomToWait(
                        f"its answer of {oldest.size_bytes} bytes, and {self.waiting} others, wait for clients that do "
                        "not read theirs; see stepdown.request.memory.bytes"
                    )
                )
