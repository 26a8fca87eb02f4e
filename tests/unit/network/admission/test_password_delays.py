"""The page's password could be tried without end, 600 times a second and without a line in the log."""

import asyncio

import pytest
from stepdown.network.admission.password_delays import LISTENER, MECHANISM, PasswordDelays
from stepdown.network.admission.peer_log_limit import MOST_OF_A_NETWORK, PeerLogLimit
from stepdown.network.metrics.instruments import Instruments
from support.clock import ManualClock, settle

DELAY_MS = 100
SECOND_MS = 1_000
MANY = 64


class Door:
    """Tries at it, and what was looked at."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.failed = Instruments().counter("failed", "", "listener", "mechanism")
        self._delays = PasswordDelays(self.clock, DELAY_MS, self.failed, PeerLogLimit(self.clock))
        self.looked_at: list[str] = []

    def give(self, password: str, address: str = "10.0.0.1") -> "asyncio.Task[bool]":
        def is_right() -> bool:
            self.looked_at.append(password)
            return password == "right"

        return asyncio.create_task(self._delays.check_with_delay(address, is_right))


async def test_a_wrong_password_is_answered_after_the_delay() -> None:
    door = Door()
    wrong = door.give("wrong")
    await settle()
    await door.clock.advance(DELAY_MS - 1)
    assert not wrong.done()
    await door.clock.advance(1)
    assert wrong.result() is False
    assert door.failed.of(LISTENER, MECHANISM).value == 1


async def test_by_many_connections_an_address_tries_no_faster_than_by_one() -> None:
    door = Door()
    for number in range(MANY):
        door.give(str(number))
    await settle()
    await door.clock.advance(SECOND_MS)
    assert door.looked_at == [str(number) for number in range(1 + SECOND_MS // DELAY_MS)]


async def test_who_hangs_up_before_the_answer_tries_no_faster() -> None:
    door = Door()
    for number in range(MANY):
        attempt = door.give(str(number))
        await settle()
        attempt.cancel()
        await settle()
    assert door.looked_at == ["0"]
    await door.clock.advance(SECOND_MS)
    assert await door.give("right")


async def test_other_addresses_do_not_wait_and_neither_does_who_is_right() -> None:
    door = Door()
    door.give("wrong", "10.0.0.1")
    await settle()
    for _ in range(MANY):
        assert await door.give("right", "10.0.0.2")


async def test_addresses_of_one_ipv6_network_are_one() -> None:
    door = Door()
    door.give("first", "2001:db8::1")
    door.give("second", "2001:db8::2")
    await settle()
    assert door.looked_at == ["first"]


async def test_under_attack_the_lines_are_few(caplog: pytest.LogCaptureFixture) -> None:
    door = Door()
    for _ in range(10 * MOST_OF_A_NETWORK):
        door.give("wrong")
        await door.clock.advance(DELAY_MS)
    assert MOST_OF_A_NETWORK < len(caplog.records) <= MOST_OF_A_NETWORK + 3
    assert "10.0.0.1" in caplog.text
