"""Memory that is shared by the addresses of peers, so that one address cannot take it all.

    served next       the address that holds least; if several do, the one that was served longest ago. Of its claims
                      the newest and the oldest alternate: even if an attacker reconnects all the time, a real login is
                      rarely behind all of its claims, and is always served in the end
    reclaimed         the claim that stalled first, of the address that holds most
    when              after 100 ms, if the waiting address will still hold less; otherwise after `patience_ms`, which
                      shrinks as more claims wait: to half for 64, to a tenth for 576
    refused           if more than 128 waiting claims hold bytes: the oldest of the address that has most of them

Many claims of one address are often many clients (NAT, a proxy), so they get the time that an answer takes on a slow
network.
"""

from collections import Counter

from ..clock import Clock
from ..memory_budget import Claim, MemoryBudget, NoRoomToWait, Waiter, stalled_since_ms

OTHERS_PATIENCE_MS = 100
HALVED_BY = 64
"""The number of waiting claims that halves the patience: with a thousand idle ones each place has to serve fifteen."""
MOST_WAITING_WITH_BYTES = 128


class AddressBudget(MemoryBudget):
    """A `MemoryBudget` shared by addresses: the `owner` of a claim is an address."""

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

    def _add_waiter(self, waiter: Waiter) -> None:
        super()._add_waiter(waiter)
        self._waiting_of.setdefault(waiter.owner, {})[waiter] = None

    def _remove_waiter(self, waiter: Waiter) -> None:
        own = self._waiting_of.get(waiter.owner, {})
        if waiter in own:
            super()._remove_waiter(waiter)
            self._is_oldest_next = not self._is_oldest_next
            del own[waiter], self._waiting_of[waiter.owner]
            if own:
                self._waiting_of[waiter.owner] = own  # after the others that hold as little

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
        patience_ms = self._patience_ms * HALVED_BY // (HALVED_BY + self.waiting_count - 1)
        return self._choose_if_stalled_for(claim, min(patience_ms, OTHERS_PATIENCE_MS) if is_unfair else patience_ms)
