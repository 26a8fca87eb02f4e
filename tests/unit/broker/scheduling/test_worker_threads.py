"""Work in threads: its result or its fault comes back to the loop, and it is over even if nobody waits."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, get_ident

import pytest
from stepdown.broker.scheduling.worker_threads import in_worker


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


async def test_what_the_work_returns_comes_from_a_thread(workers: ThreadPoolExecutor) -> None:
    assert await in_worker(workers, get_ident) != get_ident()


async def test_what_the_work_raises_is_raised_where_it_is_awaited(workers: ThreadPoolExecutor) -> None:
    with pytest.raises(ZeroDivisionError):
        await in_worker(workers, lambda: 1 // 0)


async def test_it_is_over_on_the_loop_before_the_waiter_goes_on(workers: ThreadPoolExecutor) -> None:
    heard: list[int] = []
    await in_worker(workers, lambda: None, lambda: heard.append(get_ident()))
    assert heard == [get_ident()]


async def test_it_is_over_once_the_thread_is_done_even_if_nobody_waits(workers: ThreadPoolExecutor) -> None:
    begun, go_on, over = asyncio.Event(), Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()

    waiting = in_worker(workers, work, over.set)
    await begun.wait()
    waiting.cancel()
    await asyncio.sleep(0)
    assert not over.is_set()
    go_on.set()
    await over.wait()


async def test_work_that_nobody_waits_for_any_more_is_left_out(workers: ThreadPoolExecutor) -> None:
    go_on, over, done = Event(), asyncio.Event(), []
    first = in_worker(workers, go_on.wait)
    second = in_worker(workers, lambda: done.append(1), over.set)
    second.cancel()
    go_on.set()
    await first
    await over.wait()
    assert not done
