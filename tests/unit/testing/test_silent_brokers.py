"""What a test is told of brokers, and of a control port, that do not answer."""

import asyncio
import socket
from collections.abc import Iterator
from inspect import signature
from typing import Any

import pytest
from stepdown.client.errors import NoAnswer
from stepdown.testing import AsyncKafka, Kafka, running
from stepdown.testing.control_client import ControlFailed, ControlPortUnreachable, HttpControl
from stepdown.testing.elsewhere import connect
from stepdown.testing.wire import waiting

TIMEOUT_S = 0.05
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "produce": ("orders", "x"),
    "records": ("orders",),
    "wait_for_records": ("orders", 1),
    "assert_produces": ("orders", "x"),
    "wait_for_leader": ("orders",),
    "wait_for_isr": ("orders", 0, [1]),
    "wait_for_epoch": ("orders", 0, 1),
    "wait_for_high_watermark": ("orders", 0, 1),
    "wait_for_controller": (),
    "wait_for_group": ("g",),
    "wait_for_offset_lag": ("g",),
    "wait_for_log_end": ("orders", 0, 1),
    "wait_for_coordinator": ("g",),
    "wait_for_consumers": ("g",),
}
"""Of every method that takes a timeout."""
OF_CONTROL = ("wait_for_log_end", "wait_for_coordinator", "wait_for_consumers")
OF_CLIENTS = ("produce", "records", "wait_for_records", "assert_produces", "wait_for_group", "wait_for_offset_lag")


@pytest.fixture(autouse=True)
def _short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the given timeout counts."""
    monkeypatch.setattr(waiting, "LOOK_S", 0.0)
    monkeypatch.setattr(waiting, "GRACE_S", 0.0)


@pytest.fixture
def silent_port() -> Iterator[str]:
    """Connections are accepted, and nothing is ever answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_each_method_with_a_timeout_is_walked() -> None:
    """A method that was added had no part in these tests."""
    public = [name for name in dir(AsyncKafka) if not name.startswith("_") and callable(getattr(AsyncKafka, name))]
    assert {name for name in public if "timeout" in signature(getattr(AsyncKafka, name)).parameters} == set(ARGUMENTS)


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name not in OF_CONTROL])
def test_a_timeout_is_kept_at_a_port_that_never_answers(silent_port: str, name: str) -> None:
    """It took the client's own thirty seconds, whatever was given."""
    with connect(silent_port) as kafka, pytest.raises((AssertionError, NoAnswer), match=r"0\.05 s"):
        getattr(kafka, name)(*ARGUMENTS[name], timeout=TIMEOUT_S)


@pytest.fixture(scope="module")
def paused() -> Iterator[Kafka]:
    with running(topics={"orders": 1}) as kafka:
        kafka.cluster.pause(1)
        yield kafka


@pytest.mark.parametrize("name", OF_CLIENTS)
def test_a_broker_that_the_test_paused_is_named(paused: Kafka, name: str) -> None:
    """It was "did not answer Metadata in time" after half a minute."""
    with pytest.raises(
        (AssertionError, NoAnswer), match=r"broker 1 is paused by this test.*0\.05 s|0\.05 s.*paused by"
    ):
        getattr(paused, name)(*ARGUMENTS[name], timeout=TIMEOUT_S)


@pytest.mark.parametrize("name", OF_CONTROL)
def test_a_wait_of_the_control_is_kept(paused: Kafka, name: str) -> None:
    """What the control waited for was described by a broker that answers nobody."""
    with pytest.raises(AssertionError, match=r"0\.05 s"):
        getattr(paused, name)(*ARGUMENTS[name], timeout=TIMEOUT_S)


def test_a_broker_that_the_test_killed_is_named_until_it_starts() -> None:
    """It was "Connection refused" alone."""
    with running(brokers=2, topics={"orders": 1}) as kafka:
        kafka.cluster.kill(1)
        kafka.cluster.stop(2)
        with pytest.raises(
            ConnectionError, match="broker 1 was killed by this test, broker 2 was stopped by this test"
        ):
            kafka.records("orders", timeout=TIMEOUT_S)
        kafka.cluster.start()
        assert kafka.control.ask("GET", "brokers/silent") == {"silent": []}


def test_a_control_port_that_never_answers_is_told(silent_port: str) -> None:
    """It was silent for a minute, then a bare TimeoutError of concurrent.futures."""
    told = rf"no control port answers at {silent_port}: there was no answer in 0\.05 s; it may not be a control port"
    with pytest.raises(ControlPortUnreachable, match=told):
        asyncio.run(HttpControl(silent_port, look_s=TIMEOUT_S).ask("GET", "clock"))
    with pytest.raises(ControlPortUnreachable, match=r"no answer in 0\.15 s"):
        asyncio.run(HttpControl(silent_port, look_s=TIMEOUT_S).ask("POST", "groups/wait", {"timeout": 100}))


def test_without_a_control_port_no_more_is_told(silent_port: str) -> None:
    """A missing control port hid that the broker was silent."""
    with connect(silent_port) as kafka, pytest.raises(NoAnswer, match=r"no broker answered in 0\.05 s$"):
        kafka.records("orders", timeout=TIMEOUT_S)
    with connect(silent_port) as kafka, pytest.raises(ControlFailed):
        kafka.cluster.pause(1)
