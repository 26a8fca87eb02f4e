"""What a request names a thousand times is answered once: an answer of some MB, a thousand times, took GBs."""

from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stepdown.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stepdown.protocol.messages.describe_groups import DescribeGroupsRequest
from stepdown.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from stepdown.protocol.messages.describe_transactions import DescribeTransactionsRequest
from stepdown.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from support.client import RawClient

TIMES = (2, 600)
"""In one part of a request, and over several."""


async def test_groups(client: RawClient) -> None:
    for times in TIMES:
        answer = await client.send(DescribeGroupsRequest(groups=("a", "b") * times), 5)
        assert [each.group_id for each in answer.groups] == ["a", "b"]
        answer = await client.send(ConsumerGroupDescribeRequest(group_ids=("a", "b") * times), 0)
        assert [each.group_id for each in answer.groups] == ["a", "b"]


async def test_transactional_ids(client: RawClient) -> None:
    for times in TIMES:
        answer = await client.send(DescribeTransactionsRequest(transactional_ids=("a", "b") * times), 0)
        assert [each.transactional_id for each in answer.transaction_states] == ["a", "b"]


async def test_partitions_whose_producers_are_described(client: RawClient) -> None:
    for times in TIMES:
        topics = (TopicRequest(name="a", partition_indexes=(0, 9) * times),) * 3
        answer = await client.send(DescribeProducersRequest(topics=topics), 0)
        assert [[each.partition_index for each in topic.partitions] for topic in answer.topics] == [[0, 9]]


async def test_partitions_whose_offsets_are_fetched(client: RawClient) -> None:
    topics = (OffsetFetchRequestTopic(name="a", partition_indexes=(0, 9) * 600),) * 3
    answer = await client.send(OffsetFetchRequest(group_id="g", topics=topics), 2)
    assert [[each.partition_index for each in topic.partitions] for topic in answer.topics] == [[0, 9]]


async def test_groups_whose_offsets_are_fetched(client: RawClient) -> None:
    topic = OffsetFetchRequestTopics(name="a", partition_indexes=(0,))
    groups = (OffsetFetchRequestGroup(group_id="g", topics=(topic,)),) * 600
    assert len((await client.send(OffsetFetchRequest(groups=groups), 8)).groups) == 1


async def test_a_broker_has_one_name(client: RawClient) -> None:
    """It was described once for each of 1, 01, 001, …"""
    names = ("1", "01", "001")
    resources = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        for kind in (4, 8)
        for name in names
    ]
    answer = await client.send(DescribeConfigsRequest(resources=resources), 4)
    assert [each.error_code for each in answer.results] == [ErrorCode.NONE, *[ErrorCode.INVALID_REQUEST] * 2] * 2
