"""Entries of `allow` that have ended are named: at the start, when the list is replaced, and when they end."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from stepdown.gateway.allow_list import EndedEntriesWarnings, parse_allowed_network
from stepdown.network.metrics.instruments import Instruments
from stepdown.network.turn import Turns
from support.clock import ManualClock

DAY_MS = 86_400_000
LAST_DAY_MS = 20_634 * DAY_MS  # 2026-06-30
NETWORKS = [
    parse_allowed_network(text) for text in ("10.0.0.0/8", "10.1.0.0/16 until 2026-06-29", "10.2.3.4 until 2026-06-30")
]
OVER, SOON = "allow: 10.1.0.0/16 until 2026-06-29 has ended", "allow: 10.2.3.4/32 until 2026-06-30 has ended"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(LAST_DAY_MS)


@pytest.fixture
async def warnings(clock: ManualClock) -> AsyncIterator[EndedEntriesWarnings]:
    warnings = EndedEntriesWarnings(NETWORKS, clock, Instruments())
    yield warnings
    warnings.stop()


async def test_what_has_ended_is_named_at_the_start(
    warnings: EndedEntriesWarnings, caplog: pytest.LogCaptureFixture
) -> None:
    warnings.start()
    assert OVER in caplog.text
    assert SOON not in caplog.text


async def test_what_ends_is_named_then_and_once(
    warnings: EndedEntriesWarnings, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    warnings.start()
    await asyncio.sleep(0)
    await clock.advance(DAY_MS)
    assert (caplog.text.count(OVER), caplog.text.count(SOON)) == (1, 1)
    await clock.advance(DAY_MS)
    assert caplog.text.count(SOON) == 1


async def test_a_list_that_is_read_again_is_looked_at_again(
    warnings: EndedEntriesWarnings, caplog: pytest.LogCaptureFixture
) -> None:
    warnings.start()
    warnings.replace(NETWORKS[:2])
    assert caplog.text.count(OVER) == 2


async def test_how_many_have_ended_is_a_metric(clock: ManualClock) -> None:
    instruments = Instruments()
    EndedEntriesWarnings(NETWORKS, clock, instruments)
    (family,) = await instruments.take_snapshot(Turns().begin())
    assert (family.name, family.rows) == ("stepdown_gateway_allow_ended", [((), 1)])
