"""A client that another thread interrupts."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from stepdown.client.blocking_client import BlockingClient
from stepdown.client.connection import Connection
from stepdown.client.errors import ClientError, ConnectionBroken, Unreachable
from stepdown.config.keys.endpoints import HostPort, parse_host_port
from support.clients_raw import wait_until
from support.deadline import DEADLINE_S
from support.silent_broker import SilentBroker


def test_who_is_interrupted_while_it_connects_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited half a minute for an answer."""
    connect = Connection.connect
    with SilentBroker(greets=False) as broker:
        client = BlockingClient([parse_host_port(broker.address)], client_id="c")

        def interrupt_when_connected(connection: Connection, address: Any) -> Connection:
            connect(connection, address)
            client.interrupt()
            return connection

        monkeypatch.setattr(Connection, "connect", interrupt_when_connected)
        with pytest.raises(ConnectionBroken):
            client.connect()
    assert broker.waited_on == 0


SYN_SENT = "02"


@contextmanager
def full_listener() -> Iterator[int]:
    """The port of a listener that answers no SYN, since its queue is full."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listener.getsockname()
        while not sockets_in(SYN_SENT, address[1]):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        yield address[1]


def sockets_in(state: str, port: int) -> int:
    """How many sockets that connect or are connected to a port of 127.0.0.1 are in a state."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return sum(row[2:4] == [f"0100007F:{port:04X}", state] for row in rows)


def test_who_is_interrupted_while_tcp_connects_waits_for_nothing() -> None:
    """It waited half a minute for a host that answers nothing."""
    with full_listener() as port:
        before = sockets_in(SYN_SENT, port)
        client = BlockingClient([HostPort("127.0.0.1", port)], client_id="c", timeout_s=100 * DEADLINE_S)
        faults: list[ClientError] = []

        def connect() -> None:
            try:
                client.connect()
            except ClientError as fault:
                faults.append(fault)

        connecting = Thread(target=connect, daemon=True)
        connecting.start()
        wait_until(lambda: sockets_in(SYN_SENT, port) > before, "a SYN")
        client.interrupt()
        connecting.join(DEADLINE_S)
        assert [type(fault) for fault in faults] == [Unreachable]
