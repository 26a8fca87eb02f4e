"""The tape of requests: what it keeps, for whom, and for how long."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.page import request_tape
from stepdown.broker.page.request_tape import MOST_KEPT, MOST_NAME, MOST_TAPES, UNWATCHED_S, RequestTapes
from stepdown.network.page.page_query import PageQuery, QueryFault
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.admin import create, write
from support.client import RawClient
from support.clock import ManualClock
from support.page_content import write_values
from support.running import running_broker


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def broker(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, clock=clock) as started:
        yield started


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port, client_id="app") as connected:
        await create(connected, "orders")
        yield connected


async def ask(tapes: RequestTapes, query: str = "") -> dict[str, Any]:
    return await tapes.show(PageQuery(query))


async def test_it_begins_when_it_is_asked_for(broker: Broker, client: RawClient) -> None:
    tapes = RequestTapes(broker)
    assert broker.request_watcher is None
    since_ms = broker.clock.now_ms()
    assert await ask(tapes) == {"rows": [], "since_ms": since_ms, "total": 0, "missed": 0, "others": 0}
    await write_values(client)
    (row,) = (await ask(tapes))["rows"]
    assert (row["api"], row["client_id"], row["topics"], row["errors"]) == ("Produce", "app", ["orders"], [])
    assert (row["number"], row["request_bytes"] > 0, row["took_ms"] >= row["waited_ms"]) == (1, True, True)


async def test_errors_are_named(broker: Broker, client: RawClient) -> None:
    tapes = RequestTapes(broker)
    await ask(tapes)
    await client.send(MetadataRequest(topics=(MetadataRequestTopic(name="none"),), allow_auto_topic_creation=False), 4)
    (row,) = (await ask(tapes))["rows"]
    assert (row["topics"], row["errors"]) == (["none"], ["UNKNOWN_TOPIC_OR_PARTITION"])


async def test_a_filter_is_by_api_client_and_topic(broker: Broker, client: RawClient) -> None:
    tapes = RequestTapes(broker)
    queries = ("api=Fetch", "api=Produce&client=pp", "client=other", "topic=rder&api=Produce")
    for query in queries:
        await ask(tapes, query)
    await write_values(client)
    await client.send(ApiVersionsRequest(), 0)
    assert [(await ask(tapes, query))["total"] for query in queries] == [0, 1, 0, 1]


async def test_who_asks_again_gets_what_came_since(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    tapes = RequestTapes(broker)
    await ask(tapes)
    for _ in range(3):
        await client.send(ApiVersionsRequest(), 0)
    assert [row["number"] for row in (await ask(tapes))["rows"]] == [3, 2, 1]
    for _ in range(3):
        await client.send(ApiVersionsRequest(), 0)
    found = await ask(tapes, "after=3&limit=2")
    assert ([row["number"] for row in found["rows"]], found["total"], found["missed"]) == ([6, 5], 6, 1)
    nothing = await ask(tapes, "after=6")
    assert (nothing["rows"], nothing["total"], nothing["missed"], nothing["others"]) == ([], 6, 0, 0)
    assert (await ask(tapes, "after=99"))["rows"] == []


async def test_it_ends_when_nobody_asks(broker: Broker, client: RawClient, clock: ManualClock) -> None:
    tapes = RequestTapes(broker)
    await ask(tapes)
    await clock.advance(int(UNWATCHED_S * 1000) - 1)
    await client.send(ApiVersionsRequest(), 0)
    assert broker.request_watcher is tapes
    await clock.advance(2)
    await client.send(ApiVersionsRequest(), 0)
    assert broker.request_watcher is None
    assert (await ask(tapes))["total"] == 0


async def test_tapes_and_what_they_keep_are_bounded(broker: Broker, client: RawClient) -> None:
    tapes = RequestTapes(broker, now_s=count().__next__)
    for number in range(MOST_TAPES + 3):
        await ask(tapes, f"client={number}")
    assert len(tapes._tapes) == MOST_TAPES
    await ask(tapes)
    for _ in range(MOST_KEPT + 5):
        await client.send(ApiVersionsRequest(), 0)
    found = await ask(tapes, "limit=200&after=1")
    assert (len(found["rows"]), found["total"], found["missed"]) == (200, MOST_KEPT + 5, MOST_KEPT + 4 - 200)
    (tape,) = [each for wanted, each in tapes._tapes.items() if not wanted.client]
    assert len(tape.rows_after(0, 10 * MOST_KEPT)) == MOST_KEPT


async def test_of_a_stream_too_fast_to_be_read_few_requests_are_looked_at(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 10,000 requests a second an open tape made the 99th percentile of clients 1.4 times as long."""
    now_s = 100.0
    tapes = RequestTapes(broker, now_s=lambda: now_s)
    monkeypatch.setattr(request_tape, "ROWS_A_SECOND", 20)
    await ask(tapes)
    for _ in range(50):
        await client.send(ApiVersionsRequest(), 0)
    found = await ask(tapes)
    assert ([row["number"] for row in found["rows"]], found["total"]) == ([*range(20, 0, -1)], 50)
    now_s += 0.1
    for _ in range(5):
        await client.send(ApiVersionsRequest(), 0)
    found = await ask(tapes, "after=50")
    assert ([row["number"] for row in found["rows"]], found["total"], found["missed"]) == ([52, 51], 55, 3)


async def test_a_request_of_many_topics_costs_no_more_than_the_first_ones(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = []
    walk = request_tape._walk_structs

    def counted(item: object, array: str = "") -> Any:
        for each in walk(item, array):
            looked_at.append(each)
            yield each

    monkeypatch.setattr(request_tape, "_walk_structs", counted)
    tapes = RequestTapes(broker)
    await ask(tapes)
    names = [f"t{number}-{'x' * 240}" for number in range(2000)]
    topics = tuple(FetchTopic(topic=name, partitions=(FetchPartition(partition=0),)) for name in names)
    await client.send(FetchRequest(topics=topics, max_wait_ms=0), 4)
    (row,) = (await ask(tapes))["rows"]
    levels = 3  # a partition passes its own walk, that of its topic, and that of the request
    assert len(looked_at) <= 3 * levels * (request_tape.MOST_LOOKED_AT + 1)
    assert row["topics"] == [name[:MOST_NAME] for name in names[: request_tape.MOST_TOPICS]]


async def test_the_topics_of_a_fetch_session_are_those_of_its_answer(broker: Broker, client: RawClient) -> None:
    whole = FetchTopic(topic="orders", partitions=(FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=9),))
    first = await client.send(FetchRequest(topics=(whole,), session_epoch=0, max_wait_ms=0), 7)
    await write(client, "orders")
    tapes = RequestTapes(broker)
    await ask(tapes)
    await client.send(FetchRequest(session_id=first.session_id, session_epoch=1, max_wait_ms=0), 7)
    (row,) = (await ask(tapes))["rows"]
    assert (row["api"], row["topics"]) == ("Fetch", ["orders"])


async def test_names_of_other_things_are_no_topics(broker: Broker, client: RawClient) -> None:
    """Protocols of a member have names, too."""
    tapes = RequestTapes(broker)
    await ask(tapes)
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    await client.send(
        JoinGroupRequest(group_id="g", session_timeout_ms=6000, protocol_type="consumer", protocols=(protocol,)), 4
    )
    (row,) = (await ask(tapes))["rows"]
    assert (row["api"], row["topics"]) == ("JoinGroup", [])


async def test_an_api_is_checked_and_may_be_in_any_case(broker: Broker, client: RawClient) -> None:
    """`fetch` and `Fatch` were waited for, and gave no rows for ever."""
    tapes = RequestTapes(broker)
    with pytest.raises(QueryFault, match="found 'Fatch'; did you mean Fetch"):
        await ask(tapes, "api=Fatch")
    await ask(tapes, "api=apiversions")
    await client.send(ApiVersionsRequest(), 0)
    await write_values(client)
    found = await ask(tapes, "api=ApiVersions")
    assert (found["total"], found["others"]) == (1, 1)


async def test_software_is_what_the_list_of_clients_says(broker: Broker, client: RawClient) -> None:
    """It was unknown where the clients had a guess."""
    tapes = RequestTapes(broker)
    await ask(tapes)
    await write_values(client)
    (row,) = (await ask(tapes))["rows"]
    (seen,) = broker.clients.document()["clients"]
    assert row["software"] == f"unknown, as of Kafka {seen['software_version']} (guess)"


async def test_a_client_that_names_itself_has_its_name_at_once(broker: Broker, client: RawClient) -> None:
    """Its ApiVersions had a guess, and only the next request its name."""
    tapes = RequestTapes(broker)
    await ask(tapes)
    await client.send(ApiVersionsRequest(client_software_name="lib", client_software_version="1.2"), 3)
    await write_values(client)
    assert [(row["api"], row["software"]) for row in (await ask(tapes))["rows"]] == [
        ("Produce", "lib 1.2"),
        ("ApiVersions", "lib 1.2"),
    ]
