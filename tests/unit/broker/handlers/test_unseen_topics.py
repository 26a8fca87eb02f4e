"""Requests of the consumer protocol (KIP-848) by a client that may READ a group, but may not DESCRIBE a topic."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.acls import AclOperation, ResourceType
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from support.admin import create
from support.authorization_matrix import EVERYTHING, rule
from support.client import RawClient
from support.kafka_authorizing import AUTHORIZER
from support.running import running_broker

SEEN, SECRET, ABSENT = "seen", "secret", "absent"
FEW_RIGHTS = (
    rule(ResourceType.GROUP, "g", AclOperation.READ),
    rule(ResourceType.TOPIC, SEEN, AclOperation.READ),
)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """Anybody may do everything."""
    async with running_broker(
        tmp_path,
        authorizer_class_name=AUTHORIZER,
        super_users="User:root",
        group_coordinator_rebalance_protocols="classic,consumer",
        auto_create_topics_enable="false",
    ) as running:
        running.acls.add(EVERYTHING)
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    client = await RawClient.connect(broker.address.host, broker.address.port)
    for name in (SEEN, SECRET):
        await create(client, name)
    yield client
    await client.close()


async def take_rights(broker: Broker) -> None:
    await broker.acls.remove_in_turns(EVERYTHING, broker.turns.begin())
    broker.acls.add(FEW_RIGHTS)


async def heartbeat(client: RawClient, member: str, topics: tuple[str, ...], version: int) -> Any:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=topics,
        topic_partitions=(),
    )
    return await client.send(request, version)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("hidden", [SECRET, ABSENT])
async def test_who_names_a_topic_that_it_may_not_see_does_not_join(
    broker: Broker, client: RawClient, hidden: str, version: int
) -> None:
    """The assignment told anybody with READ on one group of each topic that he named: its id and its partitions."""
    await take_rights(broker)
    answer = await heartbeat(client, "m", (SEEN, hidden), version)
    assert (answer.error_code, answer.assignment) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    answer = await heartbeat(client, "m", (SEEN,), version)
    assert (answer.error_code, len(answer.assignment.topic_partitions)) == (0, 1)


@pytest.mark.parametrize("version", [0, 1])
async def test_a_group_that_has_a_topic_which_the_client_may_not_see_is_not_described(
    broker: Broker, client: RawClient, version: int
) -> None:
    """ConsumerGroupDescribe told whoever might DESCRIBE a group the names and ids of all topics of its members."""
    request = ConsumerGroupDescribeRequest(group_ids=("g",))
    await heartbeat(client, "m", (SEEN, SECRET), version)
    (group,) = (await client.send(request, version)).groups
    assert (group.error_code, len(group.members)) == (0, 1)
    await take_rights(broker)
    (group,) = (await client.send(request, version)).groups
    assert (group.error_code, group.members) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ())
    assert SECRET not in group.error_message
