"""Who may connect, and until when."""

import pytest
from stepdown.gateway.allow_list import AllowList, parse_allowed_network
from support.clock import ManualClock

DAY_MS = 86_400_000
LAST_DAY_MS = 20_634 * DAY_MS  # 2026-06-30


def allow_list(clock: ManualClock, *texts: str) -> AllowList:
    return AllowList([parse_allowed_network(text) for text in texts], clock)


def test_an_empty_list_allows_everybody() -> None:
    assert allow_list(ManualClock()).refusal_delay_ms("203.0.113.5") == 0


def test_addresses_outside_are_refused_with_a_line(caplog: pytest.LogCaptureFixture) -> None:
    allowed = allow_list(ManualClock(), "10.0.0.0/8", "2001:db8::/32")
    assert [allowed.refusal_delay_ms(each) for each in ("10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1")] == [0, 0, 0]
    assert allowed.refusal_delay_ms("203.0.113.5") > 0
    assert "refusing 203.0.113.5: it is in no network that is allowed" in caplog.text


def test_a_network_may_connect_until_its_last_day_is_over(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock(LAST_DAY_MS + DAY_MS - 1)
    allowed = allow_list(clock, "10.0.0.0/8 until 2026-06-30")
    assert allowed.refusal_delay_ms("10.1.2.3") == 0
    assert allow_list(ManualClock(LAST_DAY_MS + DAY_MS), "10.0.0.0/8 until 2026-06-30").refusal_delay_ms("10.1.2.3") > 0
    assert "it was allowed until 2026-06-30" in caplog.text


@pytest.mark.parametrize("text", ["10.0.0.1/8", "somewhere", "10.0.0.0/8 until tomorrow", ""])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_allowed_network(text)
