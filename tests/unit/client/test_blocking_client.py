"""A client that another thread interrupts."""

import socket
from typing import Any

import pytest
from stepdown.client.blocking_client import BlockingClient
from stepdown.client.errors import ConnectionBroken
from stepdown.config.keys.endpoints import parse_host_port
from support.silent_broker import SilentBroker


def test_who_is_interrupted_while_it_connects_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited half a minute for an answer."""
    connect = socket.create_connection
    with SilentBroker(greets=False) as broker:
        client = BlockingClient([parse_host_port(broker.address)], client_id="c")

        def interrupt_while_connecting(*given: Any) -> socket.socket:
            client.interrupt()
            return connect(*given)

        monkeypatch.setattr(socket, "create_connection", interrupt_while_connecting)
        with pytest.raises(ConnectionBroken):
            client.connect()
    assert broker.waited_on == 0
