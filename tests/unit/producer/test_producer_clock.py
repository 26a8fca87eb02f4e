"""The clock of producers that run, compiled and as its readable twin."""

import asyncio
import time

import pytest
import stepdown.producer
from stepdown.producer import producer_clock
from stepdown.producer.clock import Clock
from support.twin import load_twin


@pytest.fixture(params=["compiled", "twin"])
def clock(request: pytest.FixtureRequest) -> Clock:
    module = producer_clock if request.param == "compiled" else load_twin("producer_clock", stepdown.producer)
    made: Clock = module.ProducerClock()
    return made


def test_it_tells_the_time_since_1970_by_the_clock_that_never_goes_back(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier_ms, before, later_ms = time.time_ns() // 1_000_000, clock.now_ms(), time.time_ns() // 1_000_000
    assert earlier_ms - 1000 <= before <= later_ms + 1000
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert clock.now_ms() >= before


async def test_its_timers_are_those_of_the_loop(clock: Clock) -> None:
    rang = asyncio.Event()
    clock.call_later(3_600_000, lambda: pytest.fail("it was cancelled")).cancel()
    clock.call_later(0, rang.set)
    await rang.wait()
