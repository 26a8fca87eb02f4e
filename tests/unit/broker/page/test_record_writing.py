"""A record that is written by the page, where that was allowed at the start."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from support.admin import create
from support.client import RawClient
from support.http_page import get_json, post_json
from support.running import running_broker


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, stepdown_page_produce="true") as started:
        async with await RawClient.connect(started.address.host, started.address.port) as client:
            await create(client, "orders", 2)
        yield started


async def test_a_record_is_written_and_shown(broker: Broker) -> None:
    fields = {
        "topic": "orders",
        "partition": 1,
        "key": "k\u00e9",
        "value": {"base64": "/wA="},
        "headers": [{"key": "h", "value": None}],
    }
    for offset in range(2):
        answer = await post_json(broker.http_address, "records", fields, Origin="http://127.0.0.1")
        assert (answer.status, answer.json()) == (200, {"topic": "orders", "partition": 1, "offset": offset})
    shown = (await get_json(broker.http_address, "records", topic="orders", partition=1))["rows"][1]
    assert (shown["key"]["text"], shown["value"]["base64"]) == ("k\u00e9", "/wA=")
    assert shown["headers"] == [{"key": "h", "value": None}]
    assert (await get_json(broker.http_address, "overview"))["may_produce"] is True


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({}, 400, "topic: expected a name"),
        ({"topic": "orders", "partition": "1"}, 400, "partition: expected a number"),
        ({"topic": "orders", "value": 5}, 400, "value: expected a text, null or"),
        ({"topic": "orders", "value": {"base64": "!"}}, 400, "value: "),
        ({"topic": "orders", "value": {"base64": 5}}, 400, "value: "),
        ({"topic": "orders", "key": "\ud800"}, 400, "key: "),
        ({"topic": "orders", "headers": [{"value": "v"}]}, 400, "headers: expected"),
        ({"topic": "orders", "headers": [{"key": "\ud800"}]}, 400, "key: "),
        ({"topic": "none", "value": "v"}, 404, ""),
        ({"topic": "orders", "partition": 7, "value": "v"}, 404, ""),
        ({"topic": "__consumer_offsets", "value": "v"}, 404, ""),
    ],
    ids=str,
)
async def test_what_is_wrong_is_said(broker: Broker, fields: dict[str, Any], status: int, told: str) -> None:
    answer = await post_json(broker.http_address, "records", fields)
    assert (answer.status, told in answer.json()["error"]) == (status, True), answer.json()


async def test_a_record_that_is_too_large_is_refused_as_produce_refuses_it(broker: Broker) -> None:
    broker.topics.configure_topic("orders", {"max.message.bytes": "1000"})
    answer = await post_json(broker.http_address, "records", {"topic": "orders", "value": "x" * 2000})
    assert (answer.status, answer.json()["code"]) == (503, "MESSAGE_TOO_LARGE")


async def test_other_sites_write_nothing(broker: Broker) -> None:
    record = {"topic": "orders", "value": "v"}
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
        assert (await post_json(broker.http_address, "records", record, **headers)).status == 403
    assert (await post_json(broker.http_address, "records", record, Content_Type="text/plain")).status == 400
    assert (await get_json(broker.http_address, "records", topic="orders"))["rows"] == []


async def test_without_the_setting_nothing_is_written(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "other") as broker:
        assert (await post_json(broker.http_address, "records", {"topic": "t", "value": "v"})).status == 405
        assert (await get_json(broker.http_address, "overview"))["may_produce"] is False
