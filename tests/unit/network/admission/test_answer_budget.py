"""Answers that waited for their share of memory were written already, and counted nowhere: 1,200 ended a broker."""

import asyncio

import pytest
from stepdown.network.admission.answer_budget import AnswerBudget
from stepdown.network.admission.kept_bytes import KeptBytes
from stepdown.network.memory_budget import Claim, NoRoomToWait
from support.clock import ManualClock, settle

LIMIT = 100
MOST_WAITING = 4 * LIMIT


@pytest.fixture
def unread() -> KeptBytes:
    return KeptBytes(MOST_WAITING, MOST_WAITING, ManualClock())


@pytest.fixture
def budget(unread: KeptBytes) -> AnswerBudget:
    return AnswerBudget(LIMIT, unread, clock=ManualClock(), patience_ms=1_000)


async def wait_for(budget: AnswerBudget, network: str, *sizes: int) -> list[asyncio.Task[Claim]]:
    tasks = [asyncio.ensure_future(budget.claim(size, network)) for size in sizes]
    await settle()
    return tasks


def refused(tasks: list[asyncio.Task[Claim]]) -> list[int]:
    return [n for n, task in enumerate(tasks) if task.done() and isinstance(task.exception(), NoRoomToWait)]


async def test_of_the_network_with_most_the_oldest_give_way(budget: AnswerBudget, unread: KeptBytes) -> None:
    held = await budget.claim(LIMIT, "a")
    others = await wait_for(budget, "b", 50, 50)
    many = await wait_for(budget, "a", *[50] * 8)
    assert unread.in_use_bytes == MOST_WAITING
    assert (refused(others), refused(many)) == ([], [0, 1])
    held.release()
    await settle()
    assert [task.done() for task in others] == [True, True]
    for task in (*others, *many[2:]):
        (await task).release()
    assert (budget.in_use_bytes, unread.in_use_bytes, budget.waiting_count) == (0, 0, 0)


async def test_one_alone_waits_however_large_it_is(budget: AnswerBudget) -> None:
    held = await budget.claim(LIMIT, "a")
    (large,) = await wait_for(budget, "b", 10 * LIMIT)
    assert not large.done()
    held.release()
    assert (await large).size_bytes == 10 * LIMIT


async def test_who_gives_up_waiting_counts_no_more(budget: AnswerBudget, unread: KeptBytes) -> None:
    held = await budget.claim(LIMIT, "a")
    (waiting,) = await wait_for(budget, "b", 50)
    waiting.cancel()
    await settle()
    assert unread.in_use_bytes == 0
    held.release()
