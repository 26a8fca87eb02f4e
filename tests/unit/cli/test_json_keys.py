"""`--json` and the JSON of the page have one name for one thing, with one value."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from support.admin import create
from support.cli_steps import commands_for
from support.client import RawClient
from support.http_page import get_json
from support.page_content import commit, write_values
from support.running import running_broker


def whole(value: Any) -> Any:
    return value


def first(value: Any) -> Any:
    return value[0]


def first_row(value: Any) -> Any:
    return value["rows"][0]


class Pair(NamedTuple):
    """A command and a view of the page that show one thing; `own` are the keys that only the command has."""

    command: tuple[str, ...]
    of_command: Callable[[Any], Any]
    view: str
    parameters: dict[str, object]
    of_view: Callable[[Any], Any]
    own: set[str]


PAIRS = (
    Pair(("cluster",), whole, "overview", {}, whole, set()),
    Pair(("cluster",), lambda it: it["brokers"][0], "overview", {}, lambda it: it["brokers"][0], {"host", "port"}),
    Pair(("topics", "list"), first, "topics", {}, first_row, {"error"}),
    Pair(
        ("topics", "describe", "orders"), lambda it: it[0]["partitions"][0],
        "partitions", {"topic": "orders"}, first_row, {"error"},
    ),
    Pair(("offsets", "orders"), first, "partitions", {"topic": "orders"}, first_row, {"topic"}),
    Pair(
        ("log-dirs", "orders"), lambda it: it[0]["partitions"][0],
        "partitions", {"topic": "orders"}, first_row, {"topic", "offset_lag", "is_future"},
    ),
    Pair(("groups", "list"), first, "groups", {}, first_row, set()),
    Pair(("groups", "describe", "g"), first, "group", {"id": "g"}, whole, {"protocol", "offsets"}),
    Pair(("groups", "describe", "g"), lambda it: it[0]["offsets"][0], "offsets", {"id": "g"}, first_row, {"member_id"}),
    Pair(("transactions", "list"), first, "transactions", {}, first_row, set()),
    Pair(("transactions", "describe", "tx"), first, "transactions", {}, first_row, {"start_ms"}),
)  # fmt: skip


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    few = {"offsets_topic_num_partitions": 1, "transaction_state_log_num_partitions": 1}
    async with running_broker(tmp_path / "data", **few) as broker:
        yield broker


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{' '.join(pair.command)} and {pair.view}" for pair in PAIRS])
async def test_one_thing_has_one_name(broker: Broker, pair: Pair) -> None:
    async with await RawClient.connect(broker.address.host, broker.address.port) as client:
        await create(client, "orders", 1)
        await write_values(client)
        await commit(client, "g", 1)
        await client.send(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=10_000), 0)
    ended = await commands_for(broker)(*pair.command, "--json")
    assert ended.exit_code == 0, ended.stderr
    ours = pair.of_command(json.loads(ended.stdout))
    theirs = pair.of_view(await get_json(broker.http_address, pair.view, **pair.parameters))
    assert ours.keys() - theirs.keys() == pair.own
    same = (ours.keys() & theirs.keys()) - {"brokers", "members", "partitions"}  # shown in full, or counted
    assert same
    assert {key: ours[key] for key in same} == {key: theirs[key] for key in same}
