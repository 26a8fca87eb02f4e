"""Memory that is shared by the addresses of peers, so that one address cannot take it all.

    next in line      the address that holds least, of several the one that was served longest ago; of its claims the
                      newest and the oldest by turns: while many that do nothing come again and again, a login is seldom
                      behind all of them, and never for ever
    gives way         of the address that holds most: the claim that stalled first
    when              after 100 ms for an address that holds less even with its claim, else after `patience_ms`,
                      less the more wait: half of it for 64, a tenth for 576
    refused           of more than 128 that wait and hold bytes: the oldest of the address that has most of them

Many claims of one address are often many clients (NAT, a proxy): they are left alone for as long as a slow network
takes for an answer.
"""

from collections import Counter

from ..clock import Clock
from ..memory_budget import Claim, MemoryBudget, NoRoomToWait, Waiter, stalled_since_ms

OTHERS_PATIENCE_MS = 100
HALVED_BY = 64
"""Claims that wait: of a thousand that do nothing each place has to serve fifteen."""
MOST_WAITING_WITH_BYTES = 128


class AddressBudget(MemoryBudget):
    """A `MemoryBudget` whose claims are of addresses: `owner` of `claim`."""

    def __init__(self, limit_bytes: int, *, clock: Clock, patience_ms: int) -> None:
        super().__init__(limit_bytes, clock=clock, patience_ms=patience_ms)
        self._held_bytes: Counter[str] = Counter()
        self._waiting_of: dict[str, dict[Waiter, None]] = {}
        self._is_oldest_next = False

    async def claim(self, size_bytes: int, owner: str = "", *, holds_bytes: bool = False) -> Claim:
        """As `MemoryBudget.claim`. Raises: NoRoomToWait."""
        if holds_bytes:
            self._refuse_waiter_of_largest_owner(owner)
        return await super().claim(size_bytes, owner, holds_bytes=holds_bytes)

    def _refuse_waiter_of_largest_owner(self, owner: str) -> None:
        waiting = [each for each in self._queue if each.holds_bytes and not each.turn.done()]
        if len(waiting) < MOST_WAITING_WITH_BYTES:
            return
        ((most, _),) = Counter([*(each.owner for each in waiting), owner]).most_common(1)
        refused = next(each for each in waiting if each.owner == most)
        refused.turn.set_exception(NoRoomToWait(f"{len(waiting)} others wait for memory before their login"))

    def _join(self, waiter: Waiter) -> None:
        super()._join(waiter)
        self._waiting_of.setdefault(waiter.owner, {})[waiter] = None

    def _leave(self, waiter: Waiter) -> None:
        own = self._waiting_of.get(waiter.owner, {})
        if waiter in own:
            super()._leave(waiter)
            self._is_oldest_next = not self._is_oldest_next
            del own[waiter], self._waiting_of[waiter.owner]
            if own:
                self._waiting_of[waiter.owner] = own  # behind the others that hold as little

    def _make_claim(self, size_bytes: int, owner: str) -> Claim:
        self._held_bytes[owner] += size_bytes
        return super()._make_claim(size_bytes, owner)

    def _give_back(self, claim: Claim, size_bytes: int) -> None:
        self._held_bytes[claim.owner] -= size_bytes
        if not self._held_bytes[claim.owner]:
            del self._held_bytes[claim.owner]
        super()._give_back(claim, size_bytes)

    def _first_waiter(self) -> Waiter | None:
        if not self._waiting_of:
            return None
        own = self._waiting_of[min(self._waiting_of, key=self._held_bytes.__getitem__)]
        return next(iter(own) if self._is_oldest_next else reversed(own))

    def _choose_holder(self, first: Waiter) -> Claim | None:
        if not self._reclaimable:
            return None
        most = max(self._held_bytes[each.owner] for each in self._reclaimable)
        claim = min((each for each in self._reclaimable if self._held_bytes[each.owner] == most), key=stalled_since_ms)
        is_unfair = most > self._held_bytes[first.owner] + first.size_bytes
        patience_ms = self._patience_ms * HALVED_BY // (HALVED_BY + self.waiting - 1)
        return self._only_after_patience(claim, min(patience_ms, OTHERS_PATIENCE_MS) if is_unfair else patience_ms)
