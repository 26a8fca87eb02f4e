"""Who held the event loop is named, and counted."""

import asyncio
import threading
from typing import Any

import pytest
from stepdown.network.loop_watch import OTHER, LoopWatch, place_of
from stepdown.network.metrics.instruments import CounterFamily
from stepdown.network.peer import Peer
from stepdown.protocol.api import ApiKey

SILENT = Peer(host="10.0.0.1", port=5, listener="PLAINTEXT")
GREEDY = Peer(
    host="10.0.0.1", port=5, listener="PLAINTEXT", client_id="greedy", latest_request=(ApiKey.METADATA, 4, 77)
)


def hold_the_loop(watch: LoopWatch) -> None:
    looking = threading.Thread(target=watch.look)
    looking.start()
    looking.join()


@pytest.fixture
def held() -> CounterFamily:
    return CounterFamily("held", "", ("request",))


@pytest.mark.parametrize(
    ("peer", "api", "told"),
    [(GREEDY, "METADATA", "METADATA v4 from 10.0.0.1:5 (client 'greedy', 77 bytes), in "),
     (SILENT, OTHER, "ms: in "),
     (None, OTHER, "ms: in ")],
    ids=["a request", "before the first request", "something else"],
)  # fmt: skip
async def test_what_holds_the_loop_is_named(
    peer: Peer | None, api: str, told: str, held: Any, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    here = asyncio.current_task()
    watch = LoopWatch(held, lambda task: peer if task is here else None, lambda: now[0])
    watch.start()
    watch.on_timer(0.0, 0.1)
    now[0] = 1.0
    hold_the_loop(watch)
    watch.on_timer(0.9, 1.1)
    watch.stop()
    assert held.of(api).value == 1
    assert "held for 900 ms" in caplog.text
    assert told in caplog.text


async def test_a_loop_in_time_is_left_alone(held: Any, caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    watch = LoopWatch(held, lambda _: GREEDY, lambda: now[0])
    watch.start()
    watch.on_timer(0.0, 0.1)
    now[0] = 0.15
    hold_the_loop(watch)
    watch.on_timer(0.05, 0.2)
    watch.stop()
    assert not caplog.records


def test_the_place_is_the_innermost_function_of_the_thread() -> None:
    inside, may_end = threading.Event(), threading.Event()

    def stand_still() -> None:
        inside.set()
        may_end.wait()

    standing = threading.Thread(target=stand_still)
    standing.start()
    inside.wait()
    assert standing.ident is not None
    place = place_of(standing.ident)
    may_end.set()
    standing.join()
    assert place.startswith("in wait (")
    assert place_of(1) == "in an unknown place"


def test_without_a_descriptor_the_place_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError("too many open files")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    assert place_of(threading.get_ident()) == "in an unknown place"
