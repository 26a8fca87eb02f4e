"""Faults and clock of a broker under control, by the page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker_with_control_port import ControlledBroker
from stepdown.broker.faults.kinds import KINDS
from stepdown.broker.page.fault_control import OPERATIONS
from stepdown.config import load
from support.http_page import get_json, post_json
from support.page_openapi import check_answer
from support.running import running_broker


@asynccontextmanager
async def controlled_broker(folder: Path, *settings: str) -> AsyncIterator[ControlledBroker]:
    loaded = load(overrides=["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={folder}", *settings])
    controlled = ControlledBroker(loaded.settings, loaded.layers)
    await controlled.start()
    try:
        yield controlled
    finally:
        await controlled.stop()


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[ControlledBroker]:
    async with controlled_broker(tmp_path) as controlled:
        yield controlled


async def act(broker: ControlledBroker, **fields: Any) -> Any:
    answer = await post_json(broker.http_address, "faults", fields)
    assert answer.status == 200, answer.body
    return answer.json()


async def test_a_fault_is_armed_seen_and_removed(broker: ControlledBroker) -> None:
    armed = await act(broker, do="arm", fields={"kind": "error", "api": "Produce", "code": "REQUEST_TIMED_OUT"})
    found = await get_json(broker.http_address, "faults")
    check_answer("/api/faults", found)
    (row,) = found["faults"]
    assert (found["is_controlled"], row["id"], row["state"], row["hits"]) == (True, armed["id"], "armed", 0)
    assert {each["kind"] for each in found["kinds"]} == {*KINDS} - {"hook"}
    assert (await act(broker, do="remove", id=armed["id"]))["state"] == "removed"
    assert "faults" in (await get_json(broker.http_address, "overview"))["views"]


async def test_the_clock_stops_and_moves(broker: ControlledBroker) -> None:
    await act(broker, do="pause")
    before = await get_json(broker.http_address, "faults")
    await act(broker, do="advance", fields={"by": "45s"})
    after = await get_json(broker.http_address, "faults")
    assert (after["now_ms"] - before["now_ms"], after["clock_stands"]) == (45_000, True)
    await act(broker, do="resume")
    assert (await get_json(broker.http_address, "faults"))["clock_stands"] is False


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "do: expected arm, remove"),
        ({"do": "brokers/kill"}, "do: expected arm, remove"),
        ({"do": "arm", "fields": {"kind": "none"}}, "expected a kind of fault"),
        ({"do": "arm", "fields": []}, "fields: expected an object"),
        ({"do": "remove", "id": "../reset"}, "there is no DELETE"),
        ({"do": "remove", "id": 7}, "7"),
        ({"do": "advance", "fields": {"by": "soon"}}, "by: expected"),
    ],
    ids=str,
)
async def test_what_is_wrong_is_said(broker: ControlledBroker, fields: dict[str, Any], told: str) -> None:
    answer = await post_json(broker.http_address, "faults", fields)
    assert (answer.status, told in answer.json()["error"]) == (400, True), answer.json()


async def test_a_broker_without_control_says_so(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "other") as broker:
        answer = await post_json(broker.http_address, "faults", {"do": "pause"})
        assert (answer.status, "no control port" in answer.json()["error"]) == (400, True)
        assert (await get_json(broker.http_address, "faults"))["is_controlled"] is False
        assert "faults" not in (await get_json(broker.http_address, "overview"))["views"]


async def test_the_page_does_nothing_for_which_the_control_port_asks_for_a_token(tmp_path: Path) -> None:
    """Who reached the page set faults and moved the clock without the token of the control port."""
    async with controlled_broker(tmp_path, "stepdown.control.token=secret") as broker:
        for operation in OPERATIONS:
            answer = await post_json(broker.http_address, "faults", {"do": operation, "id": 1})
            assert (answer.status, "asks for a token" in answer.json()["error"]) == (400, True)
        found = await get_json(broker.http_address, "faults")
        check_answer("/api/faults", found)
        assert (found["is_controlled"], found["faults"]) == (False, [])
        assert "faults" not in (await get_json(broker.http_address, "overview"))["views"]
        _, clock = await broker.control.handle("GET", "clock", {})
        assert clock["paused"] is False
