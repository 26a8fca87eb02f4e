"""network/page/openapi.json describes what is there: each path, and each answer to its last field."""

import jsonschema_rs
import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.page.broker_state import BrokerState
from stepdown.broker.page.views import views_of
from stepdown.network.page.page_query import MOST_ROWS, ROWS
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from support.client import RawClient
from support.http_page import get, get_json
from support.page_content import commit, write_values
from support.page_openapi import PATHS, check_answer

PARAMETERS: dict[str, dict[str, object]] = {
    "partitions": {"topic": "orders"},
    "records": {"topic": "orders"},
    "group": {"id": "g"},
    "offsets": {"id": "g"},
}


def test_every_view_is_described_and_no_other(broker: Broker) -> None:
    views = views_of(BrokerState(broker, lambda: 0, lambda: True))
    assert {f"/api/{name}" for name in views} == PATHS.keys()


@pytest.mark.parametrize("path", PATHS)
async def test_an_answer_is_as_described(path: str, broker: Broker, client: RawClient) -> None:
    await get(broker.http_address, "/api/requests")  # requests are shown from now on
    await write_values(client)
    await commit(client, "g", 1)
    await client.send(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=10_000), 0)
    name = path.removeprefix("/api/")
    found = await get_json(broker.http_address, name, **PARAMETERS.get(name, {}))
    check_answer(path, found)
    assert found.get("rows", True) or name == "group", "an answer without rows shows little"


@pytest.mark.parametrize("path", PATHS)
async def test_faults_are_as_described(path: str, broker: Broker) -> None:
    answer = await get(broker.http_address, f"{path}?%ff")
    assert answer.status == 400
    check_answer(path, answer.json(), "400")


@pytest.mark.parametrize("path", PATHS)
async def test_what_is_described_as_required_is(path: str, broker: Broker) -> None:
    required = [each["name"] for each in PATHS[path]["parameters"] if each["required"]]
    assert required == list(PARAMETERS.get(path.removeprefix("/api/"), {}))
    for name in required:
        answer = await get(broker.http_address, path)
        assert (answer.status, f"{name} is missing" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize("path", PATHS)
async def test_what_is_not_described_is_refused(path: str, broker: Broker) -> None:
    """`limt=3` gave fifty rows."""
    answer = await get(broker.http_address, f"{path}?limt=3")
    assert (answer.status, "no parameter 'limt'" in answer.json()["error"]) == (400, True)


def test_the_bounds_are_those_of_the_code() -> None:
    limits = [each["schema"] for get in PATHS.values() for each in get["parameters"] if each["name"] == "limit"]
    assert limits
    assert all((each["maximum"], each["default"]) == (MOST_ROWS, ROWS) for each in limits)


def test_the_check_of_answers_finds_a_field_that_is_not_described() -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        check_answer("/api/topics", {"error": "x", "more": 1}, "400")
