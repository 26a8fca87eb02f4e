"""Turns: how long work holds the loop, and who goes on first."""

import asyncio

import pytest
from stepdown.network.admission.kept_bytes import KeptBytes
from stepdown.network.admission.long_requests import LongRequests
from stepdown.network.turn import MOST_STEPS, TURN_S, TURNS_A_PASS, Turn, Turns
from support.clock import ManualClock


class Watch:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


async def test_a_loop_over_items_gives_the_loop_away_when_its_time_is_over() -> None:
    watch, others = Watch(), 0
    turn = Turns(watch).begin()

    def work(item: int) -> int:
        watch.now_s += TURN_S / 4
        return others

    async def other() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    assert await turn.map(work, range(12)) == [0] * 5 + [1] * 5 + [2] * 2
    task.cancel()


async def test_a_turn_ends_although_the_clock_stands_still() -> None:
    turn = Turns(Watch()).begin()
    assert [turn.is_over() for _ in range(MOST_STEPS + 1)] == [False] * MOST_STEPS + [True]


async def test_few_go_on_in_one_pass_of_the_loop_and_all_in_their_order() -> None:
    turns, passes, went_on = Turns(Watch()), 0, []

    async def work(number: int) -> None:
        await turns.wait()
        went_on.append((number, passes))

    tasks = [asyncio.create_task(work(number)) for number in range(3 * TURNS_A_PASS)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        passes += 1
    assert [number for number, _ in went_on] == list(range(3 * TURNS_A_PASS))
    for found in {at for _, at in went_on}:
        assert sum(at == found for _, at in went_on) <= TURNS_A_PASS


async def test_what_begins_while_many_wait_has_a_shorter_turn() -> None:
    turns = Turns(Watch())
    tasks = [asyncio.create_task(turns.wait()) for _ in range(500)]
    await asyncio.sleep(0)
    assert turns.first_turn_s < TURN_S / 20
    await asyncio.gather(*tasks)
    assert turns.first_turn_s == TURN_S


@pytest.mark.parametrize("others", [0, TURNS_A_PASS, 3 * TURNS_A_PASS])
async def test_one_who_gives_up_loses_nobody_a_turn(others: int) -> None:
    turns = Turns(Watch())
    tasks = [asyncio.create_task(turns.wait()) for _ in range(others + 5)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for _ in range(3 * TURNS_A_PASS):
        await turns.wait()
    assert turns._granted == 0


async def test_work_that_goes_on_for_long_takes_a_place_until_it_leaves() -> None:
    watch = Watch()
    places = LongRequests(1, KeptBytes(1 << 20, 1 << 20, ManualClock()))
    first, second = Turn(Turns(watch), places), Turn(Turns(watch), places)
    for turn in (first, second):
        turn.begin()
    for _ in range(2):
        watch.now_s += 2 * TURN_S
        await first.next()
    assert first.has_place
    watch.now_s += 2 * TURN_S
    await second.next()
    watch.now_s += 2 * TURN_S
    waiting = asyncio.create_task(second.next())
    await asyncio.sleep(0)
    assert not second.has_place
    first.release_place()
    await waiting
    assert second.has_place
    second.release_place()
    assert not places.is_full
