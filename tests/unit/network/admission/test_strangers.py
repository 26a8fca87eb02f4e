"""Connections that ask for nothing, or stop in their login."""

from typing import Any, cast

from stepdown.network.admission.strangers import Strangers
from stepdown.network.connection import Connection
from stepdown.network.peer import Peer

NOW_MS = 100_000


class _Connection:
    def __init__(self, host: str, asked_ms: int | None = None, *, is_restricted: bool = False) -> None:
        self.peer = Peer(host=host, port=1, listener="SSL")
        self.asked_ms = asked_ms
        self.last_active_ms = NOW_MS
        self.is_restricted = is_restricted


def strangers(*connections: _Connection) -> Strangers:
    found = Strangers()
    for each in connections:
        found.add(cast("Connection", each))
    return found


def surplus(found: Strangers, most: int) -> list[Any]:
    return list(found.remove_surplus(most))


def test_the_oldest_of_the_address_with_most_are_closed() -> None:
    """The oldest of all were closed: who opened connections fast closed those of everybody else."""
    honest = _Connection("10.0.0.1")
    hostile = [_Connection("10.0.0.2") for _ in range(5)]
    assert surplus(strangers(honest, *hostile), 3) == hostile[:3]


def test_a_network_of_ipv6_is_one_address() -> None:
    honest = [_Connection("10.0.0.1"), _Connection("10.0.0.1")]
    hostile = [_Connection(f"2001:db8::{number}") for number in range(1, 4)]
    assert surplus(strangers(*honest, *hostile), 4) == hostile[:1]


def test_a_login_that_goes_on_is_kept_and_one_that_stops_is_closed() -> None:
    """A connection that had asked for the API versions was kept for all of the time that a login may take."""
    going_on = _Connection("10.0.0.1", is_restricted=True)
    stopped = _Connection("10.0.0.1", is_restricted=True)
    found = strangers(going_on, stopped)
    going_on.asked_ms = NOW_MS + 1
    assert surplus(found, 1) == [stopped]
    assert surplus(found, 0) == [going_on]


def test_a_new_one_is_kept_beside_those_that_have_just_stopped() -> None:
    """Beside a thousand that stopped after their handshake less than a second ago, each new login was closed."""
    stopped = [_Connection("10.0.0.1", NOW_MS - number, is_restricted=True) for number in range(5)]
    assert surplus(strangers(*stopped, _Connection("10.0.0.1", is_restricted=True)), 5) == stopped[:1]


def test_those_that_have_become_clients_are_left_alone() -> None:
    client = _Connection("10.0.0.1", NOW_MS + 1)
    found = strangers(client, _Connection("10.0.0.1"))
    assert surplus(found, 1) == []
    assert surplus(found, 1) == []


def test_one_that_has_ended_counts_no_more() -> None:
    ended, other = _Connection("10.0.0.1"), _Connection("10.0.0.1")
    found = strangers(ended, other)
    found.discard(cast("Connection", ended))
    found.discard(cast("Connection", ended))
    assert surplus(found, 1) == []
