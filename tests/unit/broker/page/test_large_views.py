"""No view holds the loop: with 10,000 of a thing, others have their passes of the loop in between.

The clock of these brokers stands still, so a turn ends by its steps, and the passes can be counted.
"""

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.groups.classic.group import ClassicGroup
from stepdown.broker.groups.classic.member import ClassicMember
from stepdown.broker.metadata.image import Topic
from stepdown.broker.page.broker_state import BrokerState
from stepdown.broker.page.views import views_of
from stepdown.network.page.page_query import MOST_ROWS, PageQuery
from stepdown.network.principal import ANONYMOUS
from stepdown.network.turn import MOST_STEPS
from stepdown.protocol.coordinator.offset_records import OffsetCommitKey, OffsetCommitValue
from support.admin import create
from support.client import RawClient
from support.clock import ManualClock
from support.loop_passes import count_passes
from support.running import running_broker

MANY = 10_000
ONE_PARTITION = {"offsets_topic_num_partitions": 1, "transaction_state_log_num_partitions": 1}
MOST_BYTES = 512_000


def add_topics(broker: Broker) -> None:
    orders = broker.cluster.topics["orders"]
    for number in range(MANY):
        broker.cluster.topics[f"t{number}"] = Topic(
            name=f"t{number}", topic_id=UUID(int=number), settings=orders.settings, partitions=orders.partitions
        )


def add_partitions(broker: Broker) -> None:
    partitions = broker.cluster.topics["orders"].partitions
    partitions.update(dict.fromkeys(range(1, MANY), partitions[0]))


def add_groups(broker: Broker) -> None:
    for number in range(MANY):
        broker.groups.groups.put(ClassicGroup(f"g{number}", state_since_ms=0))


def add_offsets(broker: Broker) -> None:
    broker.groups.groups.put(ClassicGroup("g", state_since_ms=0))
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=0)
    for number in range(MANY):
        broker.groups.offsets.apply(OffsetCommitKey(group="g", topic="orders", partition=number), value, number)


def add_members(broker: Broker) -> None:
    group = ClassicGroup("g", state_since_ms=0)
    broker.groups.groups.put(group)
    for number in range(MANY):
        group.members[f"m{number}"] = ClassicMember(
            f"m{number}",
            instance_id=None,
            client_id="app",
            client_host="127.0.0.1",
            rebalance_timeout_ms=1000,
            session_timeout_ms=1000,
            protocols=(),
        )


def add_transactions(broker: Broker) -> None:
    for number in range(MANY):
        broker.transactions.transactions.add(f"t{number}", number, 1000, 0)


def add_clients(broker: Broker) -> None:
    for number in range(MANY):
        broker.clients.find("127.0.0.1", ANONYMOUS, f"c{number}").count_request((3, 1), float(number))


CASES: dict[str, tuple[Callable[[Broker], None], str]] = {
    "topics": (add_topics, ""),
    "topics with a filter": (add_topics, "contains=9"),
    "partitions": (add_partitions, "topic=orders"),
    "topics of many partitions": (add_partitions, ""),
    "overview of topics": (add_topics, ""),
    "overview of partitions": (add_partitions, ""),
    "groups": (add_groups, ""),
    "groups with offsets": (add_offsets, ""),
    "offsets": (add_offsets, "id=g"),
    "group": (add_members, "id=g"),
    "transactions": (add_transactions, ""),
}


@pytest.mark.lengthy
@pytest.mark.parametrize("case", CASES)
async def test_a_view_of_many_is_made_in_turns_and_bounded(case: str, tmp_path: Path) -> None:
    add, query = CASES[case]
    async with running_broker(tmp_path, clock=ManualClock(), **ONE_PARTITION) as broker:
        async with await RawClient.connect(broker.address.host, broker.address.port) as client:
            await create(client, "orders")
        kept = dict(broker.cluster.topics), dict(broker.cluster.topics["orders"].partitions)
        add(broker)
        view = views_of(BrokerState(broker, lambda: 0, lambda: True))[case.split()[0]]
        passes, found = await count_passes(view(PageQuery(f"{query}&limit={MOST_ROWS}")))
        broker.cluster.topics.clear()
        broker.cluster.topics.update(kept[0])
        broker.cluster.topics["orders"].partitions.clear()
        broker.cluster.topics["orders"].partitions.update(kept[1])
    assert passes >= MANY // (MOST_STEPS + 1), "rows were counted without a turn for others"
    assert len(found.get("rows", ())) <= MOST_ROWS
    assert len(json.dumps(found)) <= MOST_BYTES


@pytest.mark.lengthy
async def test_clients_are_read_a_page_at_a_time(tmp_path: Path) -> None:
    async with running_broker(tmp_path, clock=ManualClock(), stepdown_client_report_max_clients=MANY) as broker:
        add_clients(broker)
        view = views_of(BrokerState(broker, lambda: 0, lambda: True))["clients"]
        first = await view(PageQuery("limit=200"))
        last = await view(PageQuery(f"after={MANY - 5}"))
    assert (len(first["rows"]), first["rows"][0]["client_id"], first["next"]) == (200, f"c{MANY - 1}", 200)
    assert (len(last["rows"]), last["next"]) == (5, None)
