"""What a guard does with a fault of one item."""

import logging

import pytest
from stepdown.broker.scheduling.round_faults import RoundFaults
from stepdown.network.log_line_limit import MOST_REMEMBERED, SILENCE_MS
from stepdown.protocol.errors import DiskFault
from support.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def counted() -> list[str]:
    return []


@pytest.fixture
def guard(clock: ManualClock, counted: list[str]) -> RoundFaults:
    return RoundFaults(clock, counted.append)


def fail(guard: RoundFaults, name: str, fault: Exception) -> None:
    with guard.catch_item_fault("retention", name):
        raise fault


def test_the_items_after_one_that_fails_are_handled(guard: RoundFaults, counted: list[str]) -> None:
    handled = []
    for number in range(4):
        with guard.catch_item_fault("retention", number):
            handled.append(10 // (number - 1))
    assert handled == [-10, 10, 5]
    assert counted == ["retention"]


def test_an_unforeseen_fault_has_its_traceback_and_a_foreseen_one_has_none(
    guard: RoundFaults, caplog: pytest.LogCaptureFixture
) -> None:
    fail(guard, "a-0", OverflowError("too large"))
    fail(guard, "a-1", DiskFault("the disk is full"))
    assert [bool(record.exc_info) for record in caplog.records] == [True, False]
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert "retention of a-1 failed and is left out of this round: the disk is full" in caplog.text


async def test_an_item_that_fails_each_time_has_one_line_a_minute_with_the_count(
    guard: RoundFaults, clock: ManualClock, counted: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3 * SILENCE_MS // 1000):
        fail(guard, "a-0", DiskFault("the disk is full"))
        await clock.advance(1000)
    assert len(counted) == 180
    assert len(caplog.records) == 3
    assert "(59 times more since the last line)" in caplog.records[1].getMessage()


def test_what_it_remembers_does_not_grow(guard: RoundFaults) -> None:
    logging.getLogger("stepdown.broker.scheduling.round_faults").setLevel(logging.CRITICAL)
    try:
        for number in range(3 * MOST_REMEMBERED):
            fail(guard, f"a-{number}", DiskFault("the disk is full"))
    finally:
        logging.getLogger("stepdown.broker.scheduling.round_faults").setLevel(logging.NOTSET)
    assert len(guard._lines._said_ms) <= MOST_REMEMBERED
