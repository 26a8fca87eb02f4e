"""Work in threads: its result or its fault comes back to the loop, and it is over even if nobody waits."""

import asyncio
from collections.abc import Iterator
from threading import Event, get_ident

import pytest
from stepdown.network.clock import LoopClock
from stepdown.network.worker_threads import WorkerThreads


@pytest.fixture
def workers() -> Iterator[WorkerThreads]:
    threads = WorkerThreads(1, "test", LoopClock())
    yield threads
    threads.shutdown()


async def test_what_the_work_returns_comes_from_a_thread(workers: WorkerThreads) -> None:
    assert await workers.run(get_ident) != get_ident()


async def test_what_the_work_raises_is_raised_where_it_is_awaited(workers: WorkerThreads) -> None:
    with pytest.raises(ZeroDivisionError):
        await workers.run(lambda: 1 // 0)


async def test_it_is_over_on_the_loop_before_the_waiter_goes_on(workers: WorkerThreads) -> None:
    heard: list[int] = []
    await workers.run(lambda: None, lambda: heard.append(get_ident()))
    assert heard == [get_ident()]


async def test_it_is_over_once_the_thread_is_done_even_if_nobody_waits(workers: WorkerThreads) -> None:
    begun, go_on, over = asyncio.Event(), Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()

    waiting = workers.run(work, over.set)
    await begun.wait()
    waiting.cancel()
    await asyncio.sleep(0)
    assert not over.is_set()
    go_on.set()
    await over.wait()


async def test_work_that_nobody_waits_for_any_more_is_left_out(workers: WorkerThreads) -> None:
    go_on, over, done = Event(), asyncio.Event(), []
    first = workers.run(go_on.wait)
    second = workers.run(lambda: done.append(1), over.set)
    second.cancel()
    go_on.set()
    await first
    await over.wait()
    assert not done
