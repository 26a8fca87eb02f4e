"""Who held the event loop is named, and counted."""

import threading
from typing import Any

import pytest
from stepdown.broker.metrics.instruments import CounterFamily
from stepdown.broker.network.call import Call
from stepdown.broker.network.connection import Peer
from stepdown.broker.network.loop_watch import OTHER, LoopWatch
from stepdown.protocol.api import ApiKey
from stepdown.protocol.frame import RequestHeader


def a_call() -> Call:
    peer = Peer(host="10.0.0.1", port=5, listener="PLAINTEXT")
    header = RequestHeader(3, 4, 1, "greedy")
    return Call(key=ApiKey.METADATA, version=4, header=header, peer=peer, request=None, request_bytes=77)


def looked_at_from_another_thread(watch: LoopWatch) -> None:
    looking = threading.Thread(target=watch.look)
    looking.start()
    looking.join()


def handle(call: Call | None, watch: LoopWatch) -> None:
    """As a handler that holds the loop."""
    looked_at_from_another_thread(watch)


@pytest.fixture
def held() -> CounterFamily:
    return CounterFamily("held", "", ("request",))


@pytest.mark.parametrize(
    ("call", "api", "told"),
    [(a_call(), "METADATA", "METADATA v4 from 10.0.0.1:5 (client 'greedy', 77 bytes)"), (None, OTHER, "in ")],
    ids=["a request", "something else"],
)
def test_what_holds_the_loop_is_named(
    call: Call | None, api: str, told: str, held: Any, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    watch = LoopWatch(held, lambda: now[0])
    watch.start()
    watch.rang(0.0, 0.1)
    now[0] = 1.0
    handle(call, watch)
    watch.rang(0.9, 1.1)
    watch.stop()
    assert held.of(api).value == 1
    assert "held for 900 ms" in caplog.text
    assert told in caplog.text


def test_a_loop_in_time_is_left_alone(held: Any, caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    watch = LoopWatch(held, lambda: now[0])
    watch.start()
    watch.rang(0.0, 0.1)
    now[0] = 0.15
    handle(a_call(), watch)
    watch.rang(0.05, 0.2)
    watch.stop()
    assert not caplog.records
