"""Where partitions and coordinators are is looked up by the login of who asks."""

import asyncio
from typing import Any

import pytest
from stepdown.client.operation import Coordinator
from stepdown.client.security.settings import SaslSettings
from stepdown.gateway.routes.locator import BrokerLocator
from stepdown.gateway.routes.route import LeaderTarget, Target
from stepdown.gateway.upstream_logins import UpstreamLogin
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.find_coordinator import FindCoordinatorResponse
from stepdown.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

MAY = UpstreamLogin(
    name="may",
    sasl=SaslSettings(mechanism="PLAIN", username="may", password="secret"),
    principals=frozenset({"User:a"}),
    networks=(),
)
PARTITIONS = (MetadataResponsePartition(partition_index=0, leader_id=2),)


@pytest.mark.parametrize("target", [LeaderTarget("t", 0), Coordinator("g")], ids=["leader", "coordinator"])
async def test_a_login_finds_what_the_gateways_own_may_not_see(target: Target) -> None:
    """With one address for all brokers, requests of clients with another login went to any broker, for ever."""
    asked: list[UpstreamLogin | None] = []

    async def run(operation: Any, login: UpstreamLogin | None) -> MetadataResponse | FindCoordinatorResponse:
        asked.append(login)
        await asyncio.sleep(0)
        if isinstance(target, Coordinator):
            code = 0 if login else ErrorCode.GROUP_AUTHORIZATION_FAILED
            return FindCoordinatorResponse(error_code=code, node_id=2)
        code = 0 if login else ErrorCode.TOPIC_AUTHORIZATION_FAILED
        topic = MetadataResponseTopic(error_code=code, name="t", partitions=PARTITIONS)
        return MetadataResponse(brokers=(), topics=(topic,))

    locator = BrokerLocator(run, lambda response: None)
    found = await asyncio.gather(
        locator.find_broker(target, None), locator.find_broker(target, MAY), locator.find_broker(target, MAY)
    )
    assert found[1:] == [2, 2]
    assert asked == [None, MAY]
