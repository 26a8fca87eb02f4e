"""Lines about what peers do."""

import logging

import pytest
from stepdown.network.admission.peer_log_limit import (
    MOST_OF_A_NETWORK,
    MOST_OF_ALL,
    WINDOW_MS,
    PeerLogLimit,
)
from support.clock import ManualClock

log = logging.getLogger("stepdown.test")


def test_a_thousand_failures_of_an_address_have_a_few_lines_and_others_have_theirs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each failed login had a line: who tries passwords filled the disk. The eleventh line said "1 more in the last
    minute, most of them left out"."""
    lines = PeerLogLimit(ManualClock())
    for _ in range(1_000):
        lines.warn(log, "10.0.0.1", "closing 10.0.0.1:1: no")
    said = [each.getMessage() for each in caplog.records]
    assert said[:MOST_OF_A_NETWORK] == ["closing 10.0.0.1:1: no"] * MOST_OF_A_NETWORK
    assert [each.split("(")[1] for each in said[MOST_OF_A_NETWORK:]] == [
        "of more in this minute, some are logged)",
        "8 lines of this minute left out)",
        "97 lines of this minute left out)",
    ]
    lines.warn(log, "10.0.0.2", "closing 10.0.0.2:1: no")
    assert caplog.records[-1].getMessage() == "closing 10.0.0.2:1: no"


def test_many_addresses_have_a_limit_together(caplog: pytest.LogCaptureFixture) -> None:
    lines = PeerLogLimit(ManualClock())
    for number in range(10_000):
        lines.warn(log, f"10.0.{number // 250}.{number % 250}", "closing one")
    assert MOST_OF_ALL <= len(caplog.records) <= MOST_OF_ALL + 4


async def test_the_next_minute_has_its_own(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    lines = PeerLogLimit(clock)
    for _ in range(50):
        lines.warn(log, "10.0.0.1", "closing one")
    before = len(caplog.records)
    await clock.advance(WINDOW_MS)
    lines.warn(log, "10.0.0.1", "closing one")
    assert len(caplog.records) == before + 1
    assert "left out" not in caplog.records[-1].getMessage()


def test_the_first_line_of_a_cause_is_said_whatever_came_before(caplog: pytest.LogCaptureFixture) -> None:
    """After ten refused certificates of an address, its first wrong password was in no line for a minute."""
    lines = PeerLogLimit(ManualClock())
    for number in range(99):
        lines.warn(log, "10.0.0.1", "closing one", f"TLS handshake failed: 00 {number}")
    before = len(caplog.records)
    for _ in range(2):
        lines.warn(log, "10.0.0.1", "closing another", "wrong password")
    assert [each.getMessage().split(" (")[0] for each in caplog.records[before:]] == ["closing another"]


def test_as_many_causes_as_a_peer_likes_have_a_limit(caplog: pytest.LogCaptureFixture) -> None:
    lines = PeerLogLimit(ManualClock())
    for number in range(10_000):
        lines.warn(log, "10.0.0.1", "closing one", "x" * (number % 5_000))
    assert len(caplog.records) <= 2 * MOST_OF_A_NETWORK + 4
