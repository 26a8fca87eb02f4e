import asyncio

import pytest
from stepdown.network.memory_budget import Claim, MemoryBudget
from support.clock import ManualClock, settle


async def test_claims_are_served_first_come_first_served() -> None:
    budget = MemoryBudget(100)
    first = await budget.claim(80)
    order: list[str] = []

    async def take(name: str, size: int) -> None:
        with await budget.claim(size):
            order.append(name)

    tasks = [asyncio.create_task(take("large", 90)), asyncio.create_task(take("small", 10))]
    await settle()
    assert order == []
    assert budget.waiting_count == 2
    first.release()
    await asyncio.gather(*tasks)
    assert order == ["large", "small"]
    assert budget.in_use_bytes == 0


async def test_a_claim_above_the_limit_passes_alone() -> None:
    budget = MemoryBudget(100)
    small = await budget.claim(10)
    large = asyncio.create_task(budget.claim(500))
    await settle()
    assert not large.done()
    small.release()
    held = await large
    assert budget.peak_bytes == 500
    assert budget.try_claim(1) is None
    held.release()
    assert budget.try_claim(1) is not None


async def test_releasing_twice_gives_back_once() -> None:
    budget = MemoryBudget(100)
    claim = await budget.claim(60)
    claim.release()
    claim.release()
    assert budget.in_use_bytes == 0


async def test_shrinking_lets_the_next_one_in() -> None:
    budget = MemoryBudget(100)
    claim = await budget.claim(90)
    waiting = asyncio.create_task(budget.claim(50))
    await settle()
    claim.shrink_to(40)
    assert (await waiting).size_bytes == 50
    assert budget.in_use_bytes == 90


async def test_who_gives_up_waiting_does_not_block_the_line() -> None:
    budget = MemoryBudget(100)
    held = await budget.claim(60)
    large = asyncio.create_task(budget.claim(90))
    await settle()
    small = asyncio.create_task(budget.claim(30))
    await settle()
    large.cancel()
    with pytest.raises(asyncio.CancelledError):
        await large
    assert (await small).size_bytes == 30
    held.release()


async def test_a_stalled_holder_is_asked_to_let_go_when_others_wait() -> None:
    budget = MemoryBudget(100)
    stalled = [await budget.claim(40), await budget.claim(40)]
    dropped: list[Claim] = []

    def drop_of(claim: Claim):  # type: ignore[no-untyped-def]
        return lambda: (dropped.append(claim), claim.release())

    for claim in stalled:
        claim.allow_reclaim(drop_of(claim))
    assert dropped == []
    taken = await budget.claim(50)
    assert dropped == stalled[:1]
    assert budget.in_use_bytes == 90
    taken.release()


async def test_a_holder_that_moves_again_keeps_its_claim() -> None:
    budget = MemoryBudget(100)
    claim = await budget.claim(90)
    claim.allow_reclaim(claim.release)
    claim.forbid_reclaim()
    waiting = asyncio.create_task(budget.claim(50))
    await settle()
    assert not waiting.done()
    claim.release()
    (await waiting).release()
    assert budget.in_use_bytes == 0


async def test_who_had_to_wait_is_told_for_how_long() -> None:
    waits: list[float] = []
    budget = MemoryBudget(100, waits.append)
    held = await budget.claim(90)
    waiting = asyncio.create_task(budget.claim(50))
    await settle()
    assert waits == []
    held.release()
    (await waiting).release()
    assert len(waits) == 1
    assert waits[0] >= 0


async def test_a_holder_that_stalled_a_moment_ago_is_left_alone() -> None:
    clock = ManualClock()
    budget = MemoryBudget(100, clock=clock, patience_ms=50)
    stalled = await budget.claim(90)
    stalled.allow_reclaim(stalled.release)
    waiting = asyncio.create_task(budget.claim(50))
    await clock.advance(49)
    assert not waiting.done()
    await clock.advance(1)
    assert (await waiting).size_bytes == 50


async def test_a_holder_that_crawls_is_asked_as_one_that_stands() -> None:
    clock = ManualClock()
    budget = MemoryBudget(100, clock=clock, patience_ms=50)
    crawling = await budget.claim(90)
    crawling.allow_reclaim(crawling.release)
    await clock.advance(40)
    crawling.forbid_reclaim()
    crawling.allow_reclaim(crawling.release)
    waiting = asyncio.create_task(budget.claim(50))
    await clock.advance(10)
    assert (await waiting).size_bytes == 50


async def test_what_is_kept_for_its_turn_is_given_up_at_once_until_the_turn_comes() -> None:
    clock = ManualClock()
    budget = MemoryBudget(100, clock=clock, patience_ms=50)
    kept = await budget.claim(90)
    kept.allow_reclaim(kept.release, at_once=True)
    taken = await budget.claim(50)
    assert (kept.size_bytes, taken.size_bytes) == (0, 50)
    taken.release()
    stalled = await budget.claim(90)
    stalled.allow_reclaim(stalled.release, at_once=True)
    stalled.forbid_reclaim()
    stalled.allow_reclaim(stalled.release)
    waiting = asyncio.create_task(budget.claim(50))
    await clock.advance(49)
    assert not waiting.done()
    await clock.advance(1)
    assert (await waiting).size_bytes == 50


async def test_of_several_that_stalled_only_those_are_asked_that_are_needed() -> None:
    clock = ManualClock()
    budget = MemoryBudget(100, clock=clock, patience_ms=50)
    first, second = await budget.claim(40), await budget.claim(40)
    second.allow_reclaim(second.release)
    await clock.advance(20)
    first.allow_reclaim(first.release)
    waiting = asyncio.create_task(budget.claim(50))
    await clock.advance(200)
    assert waiting.done()
    assert (first.size_bytes, second.size_bytes) == (40, 0)


async def test_a_claim_grows_where_there_is_room_and_nobody_waits() -> None:
    budget = MemoryBudget(100)
    claim = await budget.claim(50)
    assert claim.try_grow_to(80)
    assert claim.try_grow_to(20)
    assert not claim.try_grow_to(101)
    assert budget.in_use_bytes == claim.size_bytes == 80
    waiting = asyncio.create_task(budget.claim(30))
    await settle()
    assert not claim.try_grow_to(90)
    claim.release()
    (await waiting).release()
    assert budget.in_use_bytes == 0
