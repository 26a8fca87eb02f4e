"""Who held the event loop is named, and counted."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from stepdown.network.log_line_limit import LogLineLimit
from stepdown.network.loop_watch import OTHER, LoopHold, LoopWatch, locate_thread, read_processor_wait_s
from stepdown.network.metrics.instruments import CounterFamily
from stepdown.network.peer import Peer
from stepdown.protocol.api import ApiKey
from support.clock import ManualClock

SILENT = Peer(host="10.0.0.1", port=5, listener="PLAINTEXT")
GREEDY = Peer(
    host="10.0.0.1", port=5, listener="PLAINTEXT", client_id="greedy", latest_request=(ApiKey.METADATA, 4, 77)
)


def hold_the_loop(watch: LoopWatch) -> None:
    looking = threading.Thread(target=watch.check_loop)
    looking.start()
    looking.join()


def watch_of(
    held: Any, peer_of: Any, now: list[float], used: list[float], waited: list[float] | None = None
) -> LoopWatch:
    """One that is told the time, the processor time of the loop's thread, and how long that waited for a processor."""
    lines = LogLineLimit(ManualClock())
    holds: dict[str, LoopHold] = {}
    waits = waited or [0.0]
    return LoopWatch(held, holds, peer_of, lines, lambda: 7, lambda: now[0], lambda: used[0], lambda: waits[0])


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
    watch = watch_of(held, lambda task: peer if task is here else None, now, now)
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
    watch = watch_of(held, lambda _: GREEDY, now, now)
    watch.start()
    watch.on_timer(0.0, 0.1)
    now[0] = 0.15
    hold_the_loop(watch)
    watch.on_timer(0.05, 0.2)
    watch.stop()
    assert not caplog.records


async def test_a_process_without_a_processor_blames_nobody_and_says_so_once_a_minute(
    held: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A busy machine brought seven lines a minute, each with a request's client and a place in Python's own files.

    Then it was a warning in tests that failed for other reasons."""
    caplog.set_level("INFO")
    now, used = [0.0], [0.0]
    watch = watch_of(held, lambda _: GREEDY, now, used)
    watch.start()
    for _ in range(3):
        watch.on_timer(0.0, now[0] + 0.1)
        now[0] += 1.0
        hold_the_loop(watch)
        watch.on_timer(0.9, now[0] + 0.1)
    watch.stop()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "the event loop was held for 900 ms: the process did not get a processor")
    ]
    assert (held.of("METADATA").value, held.of(OTHER).value) == (0, 3)


@pytest.mark.parametrize(
    ("used_s", "waited_s", "holds"),
    [(0.02, 0.85, {}), (0.9, 0.05, {"METADATA": LoopHold(900, 7)}), (0.0, 0.0, {"METADATA": LoopHold(900, 7)})],
    ids=["no processor", "work", "a slow disk"],
)
async def test_a_request_is_not_blamed_for_a_processor_that_it_did_not_get(
    used_s: float, waited_s: float, holds: dict[str, LoopHold], held: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a Fetch of 42 bytes held the loop for 290 ms, since it stood in a function of stepdown."""
    now, used, waited = [0.0], [0.0], [5.0]
    monkeypatch.setattr("stepdown.network.loop_watch.locate_thread", lambda _: ("in try_send", True))
    watch = watch_of(held, lambda _: GREEDY, now, used, waited)
    watch.start()
    watch.on_timer(0.0, 0.1)
    now[0] = 1.0
    hold_the_loop(watch)
    used[0] += used_s
    waited[0] += waited_s
    watch.on_timer(0.9, 1.1)
    watch.stop()
    assert watch.latest_holds == holds
    assert (held.of("METADATA").value, held.of(OTHER).value) == (len(holds), 1 - len(holds))


def test_where_the_system_does_not_count_waiting_it_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> bytes:
        raise FileNotFoundError

    assert read_processor_wait_s() >= 0
    for read in (refused, lambda _: b"", lambda _: b"1 x 3"):
        monkeypatch.setattr(Path, "read_bytes", read)
        assert read_processor_wait_s() == 0


def test_the_place_is_the_innermost_function_of_the_thread() -> None:
    inside, may_end = threading.Event(), threading.Event()

    def stand_still() -> None:
        inside.set()
        may_end.wait()

    standing = threading.Thread(target=stand_still)
    standing.start()
    inside.wait()
    assert standing.ident is not None
    place, is_ours = locate_thread(standing.ident)
    may_end.set()
    standing.join()
    assert (place.startswith("in wait ("), is_ours) == (True, False)
    assert locate_thread(1) == ("in an unknown place", True)


def test_without_a_descriptor_the_place_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError("too many open files")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    assert locate_thread(threading.get_ident()) == ("in an unknown place", True)
