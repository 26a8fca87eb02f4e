"""The control port: JSON in and out, and who may use it."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from stepdown.config import ConfigError, load
from stepdown.testing.control_client import ControlFailed, HttpControl
from stepdown.testing.elsewhere import connect
from stepdown.testing.running_brokers import Running


def running_with_port(**config: str) -> Running:
    return Running(
        config={"stepdown.control.listen": "127.0.0.1:0", **{k.replace("_", "."): v for k, v in config.items()}}
    )


@pytest.fixture
def running() -> Iterator[Running]:
    started = running_with_port()
    with started as kafka:
        kafka.create_topic("t")
        yield started


def asked(address: str, method: str, path: str, body: str, headers: dict[str, str]) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(address)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


def test_the_same_can_be_asked_over_http(running: Running) -> None:
    with connect(running.bootstrap, HttpControl(running.control_address)) as kafka:
        with kafka.faults.error("Produce", 6, optional=True) as fault:
            assert [each["id"] for each in kafka.faults] == [fault.number]
        before = kafka.clock.now_ms
        kafka.clock.pause()
        kafka.clock.advance("1h")
        assert kafka.clock.now_ms >= before + 3_600_000
        kafka.clock.resume()
        with pytest.raises(ControlFailed, match="has no field 'tims'"):
            kafka.faults.drop(tims=1)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("POST", "/faults", "{", 400, "no JSON"),
        ("POST", "/faults", "[]", 400, "expected a JSON object"),
        ("POST", "/faults", "[" * 60_000, 400, "no JSON"),
        ("GET", "/nothing", "", 404, "there is no GET /nothing"),
        ("GET", "/faults/x", "", 404, "expected the number of a fault"),
    ],
)
def test_what_is_wrong_is_said(running: Running, method: str, path: str, body: str, status: int, said: str) -> None:
    found, answer = asked(running.control_address, method, path, body, {})
    assert found == status
    assert said in answer["error"]


def test_a_page_of_another_name_is_refused(running: Running) -> None:
    assert asked(running.control_address, "GET", "/faults", "", {"host": "evil.example:80"})[0] == 403


def test_a_page_that_posts_to_the_loopback_is_refused(running: Running) -> None:
    """A browser lets any page do so, and says whose it is."""
    for path in ("/clock/pause", "/faults/reset"):
        assert asked(running.control_address, "POST", path, "", {"origin": "http://evil.example"})[0] == 403
    assert asked(running.control_address, "POST", "/faults/reset", "", {})[0] == 200


def test_a_body_without_end_is_not_kept(running: Running) -> None:
    with pytest.raises((json.JSONDecodeError, OSError)):  # 413 without a body, or hung up in the middle
        asked(running.control_address, "POST", "/faults", "x" * 1_000_000, {})


async def test_a_token_is_asked_for_where_there_is_one() -> None:
    running = running_with_port(stepdown_control_token="secret")
    async with running:
        with pytest.raises(ControlFailed, match="send the token"):
            await HttpControl(running.control_address, "wrong").ask("GET", "faults")
        assert await HttpControl(running.control_address, "secret").ask("GET", "faults") == {"faults": []}


def test_others_reach_it_only_with_a_token() -> None:
    with pytest.raises(ConfigError, match=r"stepdown\.control\.token"):
        load(overrides=["stepdown.control.listen=0.0.0.0:0"])
    load(overrides=["stepdown.control.listen=0.0.0.0:0", "stepdown.control.token=x"])
