"""A clock that a test moves: timers ring in order, each when all is done that the one before it has begun."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from stepdown.broker.scheduling.movable_clock import MOST_SWEEPS, MovableClock
from stepdown.broker.scheduling.periodic_task import Periodic
from stepdown.network.worker_threads import WorkerThreads
from stepdown.storage.files.clock import SystemClock


@pytest.mark.parametrize("is_busy", [False, True])
async def test_it_waits_for_threads_before_the_next_timer_rings(is_busy: bool) -> None:
    """How long a thread took decided when periodic work came again."""
    clock = MovableClock(0, turns=5)
    threads = WorkerThreads(1, "test", clock)
    rung: list[int] = []

    async def work() -> None:
        rung.append(clock.now_ms())
        await threads.run(lambda: threading.Event().wait(0.02 if is_busy else 0))

    task = Periodic("test", clock, work, 1000)
    clock.call_later(1500, lambda: rung.append(clock.now_ms()))
    await clock.advance(3000)
    assert rung == [1000, 1500, 2000, 3000]
    await task.stop()
    threads.shutdown()


async def test_what_a_thread_has_found_is_acted_on_before_the_next_timer_rings() -> None:
    clock = MovableClock(0, turns=5)
    threads = WorkerThreads(2, "test", clock)
    said: list[str] = []

    async def chain() -> None:
        await threads.run(lambda: threading.Event().wait(0.01))
        await asyncio.sleep(0)
        await threads.run(lambda: threading.Event().wait(0.01))
        said.append("done")

    await is_over_before_the_next_timer(chain, clock, said)
    threads.shutdown()


async def test_what_a_thread_has_found_in_the_last_turn_has_turns_of_its_own() -> None:
    clock = MovableClock(0, turns=5)
    threads = WorkerThreads(1, "test", clock)
    said: list[str] = []

    async def chain() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        done = threads.run(lambda: None)
        time.sleep(0.01)  # noqa: ASYNC251 - the thread is done when the turn is over
        await done
        for _ in range(3):
            await asyncio.sleep(0)
        said.append("done")

    await is_over_before_the_next_timer(chain, clock, said)
    threads.shutdown()


async def is_over_before_the_next_timer(
    chain: Callable[[], Coroutine[Any, Any, None]], clock: MovableClock, said: list[str]
) -> None:
    """Begins the chain by one timer; it says "done" before the next timer rings."""
    tasks: list[asyncio.Task[None]] = []
    clock.call_later(10, lambda: tasks.append(asyncio.create_task(chain())))
    clock.call_later(11, lambda: said.append("next"))
    await clock.advance(20)
    assert said == ["done", "next"]


async def test_a_sweep_rings_a_bounded_number_of_times_however_far_time_is_moved() -> None:
    """A week took ten minutes: all that a broker looks for each second was looked for 604,800 times."""
    clock = MovableClock(0, turns=5)
    rung: list[int] = []

    async def work() -> None:
        rung.append(clock.now_ms())

    task = Periodic("test", clock, work, 1000)
    await clock.advance(MOST_SWEEPS * 1000)
    assert rung == [1000 * number for number in range(1, MOST_SWEEPS + 1)]  # each second, as ever

    rung.clear()
    begin, week_ms = clock.now_ms(), 7 * 86_400_000
    await clock.advance(week_ms)
    assert len(rung) <= MOST_SWEEPS + 1
    assert rung[-1] == begin + week_ms

    rung.clear()
    await clock.advance(2000)
    assert rung == [begin + week_ms + 1000, begin + week_ms + 2000]
    await task.stop()


async def test_a_reset_gives_the_machine_time_back_and_timers_keep_what_was_left_to_them() -> None:
    """After a test that moved time on by a day, the next one on the same broker lived in tomorrow."""
    clock = MovableClock()
    rung: list[str] = []
    clock.call_later(100_000_000, lambda: rung.append("late"))
    await clock.advance(86_400_000)
    clock.pause()
    clock.reset()
    assert not clock.is_paused
    assert abs(clock.now_ms() - SystemClock().now_ms()) < 3_600_000
    await clock.advance(10_000_000)
    assert rung == []
    await clock.advance(3_600_000)
    assert rung == ["late"]
