"""Memory before authentication: who is next, and who gives way."""

import asyncio

import pytest
from stepdown.network.admission.address_budget import (
    HALVED_BY,
    MOST_WAITING_WITH_BYTES,
    OTHERS_PATIENCE_MS,
    AddressBudget,
)
from stepdown.network.memory_budget import Claim, NoRoomToWait
from support.clock import ManualClock, settle

PLACE = 10
PLACES = 4
PATIENCE_MS = 1_000


class Storm:
    """A budget of `PLACES`, and what became of those that wanted one."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.budget = AddressBudget(PLACES * PLACE, clock=self.clock, patience_ms=PATIENCE_MS)
        self.held: dict[str, Claim] = {}
        self.given_up: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    def want(self, address: str, name: str) -> None:
        self.tasks.append(asyncio.ensure_future(self._hold(address, name)))

    async def _hold(self, address: str, name: str) -> None:
        claim = self.held[name] = await self.budget.claim(PLACE, address)
        claim.allow_reclaim(lambda: self._give_up(name))

    def _give_up(self, name: str) -> None:
        self.given_up.append(name)
        self.held.pop(name).release()

    async def fill(self, address: str, count: int) -> None:
        """`a0`, `a1` … a millisecond apart."""
        for number in range(count):
            self.want(address, f"{address}{number}")
            await self.clock.advance(1)


async def test_the_oldest_of_the_address_with_most_gives_way_to_another_address() -> None:
    """Handshakes were served in the order of their coming: 1,000 of one address kept everybody out."""
    storm = Storm()
    await storm.fill("a", PLACES)
    storm.want("b", "b0")
    await storm.clock.advance(OTHERS_PATIENCE_MS)
    assert storm.given_up == ["a0"]
    assert set(storm.held) == {"a1", "a2", "a3", "b0"}


async def test_a_thousand_of_one_address_give_way_to_another_one_by_one() -> None:
    storm = Storm()
    await storm.fill("a", 1_000)
    before = len(storm.given_up)
    storm.want("b", "b0")
    await storm.clock.advance(OTHERS_PATIENCE_MS)
    assert "b0" in storm.held
    assert len(storm.given_up) - before <= 2 * PLACES


async def test_the_newest_and_the_oldest_of_an_address_are_next_by_turns() -> None:
    storm = Storm()
    await storm.fill("a", 20)
    await storm.clock.advance(PATIENCE_MS)
    assert storm.given_up[:PLACES] == ["a0", "a1", "a2", "a3"]
    assert set(storm.held) == {"a19", "a4", "a18", "a5"}


async def test_the_more_wait_the_sooner_one_gives_way() -> None:
    storm = Storm()
    await storm.fill("a", PLACES)
    for number in range(HALVED_BY + 1):
        storm.want("a", f"later{number}")
    await storm.clock.advance(PATIENCE_MS // 2 - PLACES - 1)
    assert storm.given_up == []
    await storm.clock.advance(PLACES)
    assert "a0" in storm.given_up


async def test_what_goes_on_is_kept_and_what_does_nothing_gives_way() -> None:
    storm = Storm()
    await storm.fill("a", PLACES)
    await storm.clock.advance(OTHERS_PATIENCE_MS)
    storm.held["a0"].note_progress(float("inf"))
    storm.want("b", "b0")
    await storm.clock.advance(0)
    assert storm.given_up == ["a1"]


async def test_an_address_with_as_much_as_another_waits_for_its_patience() -> None:
    storm = Storm()
    for address in ("a", "b", "c", "d"):
        storm.want(address, address)
    await settle()
    storm.want("e", "e")
    await storm.clock.advance(PATIENCE_MS - 1)
    assert storm.given_up == []
    await storm.clock.advance(1)
    assert storm.given_up == ["a"]
    assert "e" in storm.held


async def test_of_too_many_that_wait_with_bytes_one_of_the_address_with_most_is_refused() -> None:
    """The next was refused, whoever it was: 128 half tokens of one address refused all others."""
    storm = Storm()
    await storm.fill("a", PLACES)
    waiting = [
        asyncio.ensure_future(storm.budget.claim(PLACE, "a", holds_bytes=True)) for _ in range(MOST_WAITING_WITH_BYTES)
    ]
    await settle()
    other = asyncio.ensure_future(storm.budget.claim(PLACE, "b", holds_bytes=True))
    await settle()
    with pytest.raises(NoRoomToWait, match="others wait for memory before their login"):
        await waiting[0]
    storm.held.pop("a0").release()
    await settle()
    assert other.done()
    for each in waiting:
        each.cancel()


async def test_all_is_given_back() -> None:
    storm = Storm()
    await storm.fill("a", 10)
    for each in storm.tasks:
        each.cancel()
    await settle()
    for claim in storm.held.values():
        claim.release()
    assert storm.budget.in_use_bytes == 0
    assert not storm.budget._held_bytes
    assert not storm.budget._waiting_of
    assert storm.budget.waiting_count == 0


async def test_addresses_that_hold_as_little_are_served_by_turns() -> None:
    """An address whose claims took the whole budget, one after the other, was always served before another one."""
    clock = ManualClock()
    budget = AddressBudget(PLACE, clock=clock, patience_ms=PATIENCE_MS)
    served: list[str] = []

    async def hold(address: str) -> None:
        with await budget.claim(PLACE, address):
            served.append(address)

    first = await budget.claim(PLACE, "many")
    waiting = [asyncio.ensure_future(hold(each)) for each in ("many",) * 4 + ("one",)]
    await settle()
    first.release()
    await asyncio.gather(*waiting)
    assert served.index("one") <= 1
