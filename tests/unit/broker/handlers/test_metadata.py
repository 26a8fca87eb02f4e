from uuid import UUID

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.admin import create, described, metadata
from support.client import RawClient

VERSIONS = range(13)


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_version_tells_brokers_topics_and_leaders(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "orders", 3)
    response = await metadata(client, "orders", version=version)
    (node,) = response.brokers
    assert (node.node_id, node.host, node.port) == (1, broker.address.host, broker.address.port)
    (topic,) = response.topics
    assert (topic.error_code, topic.name) == (0, "orders")
    assert [(p.partition_index, p.leader_id, tuple(p.replica_nodes)) for p in topic.partitions] == [
        (index, 1, (1,)) for index in range(3)
    ]
    assert response.controller_id == (1 if version >= 1 else -1)
    assert response.cluster_id == (broker.cluster.cluster_id if version >= 2 else None)
    assert (topic.topic_id.int != 0) == (version >= 10)


async def test_no_topics_means_all_in_v0_and_none_later(client: RawClient) -> None:
    await create(client, "orders")
    assert len((await client.send(MetadataRequest(topics=()), 0)).topics) == 1
    assert len((await client.send(MetadataRequest(topics=()), 1)).topics) == 0
    assert len((await client.send(MetadataRequest(topics=None), 1)).topics) == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_that_is_asked_for_is_created_and_shown_the_next_time(client: RawClient, version: int) -> None:
    (first,) = (await metadata(client, "fresh", version=version, creating=True)).topics
    # Before v4 as with ZooKeeper: librdkafka before 1.5 gives up on a topic that is called unknown.
    wanted = ErrorCode.LEADER_NOT_AVAILABLE if version < 4 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert first.error_code == wanted
    (second,) = (await metadata(client, "fresh", version=version, creating=True)).topics
    assert second.error_code == 0
    assert len(second.partitions) == 1


async def test_a_client_may_say_that_nothing_is_to_be_created(broker: Broker, client: RawClient) -> None:
    (topic,) = (await metadata(client, "fresh", version=4)).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not broker.cluster.topics


async def test_an_illegal_name_is_invalid_and_never_created(broker: Broker, client: RawClient) -> None:
    (topic,) = (await metadata(client, "no good", creating=True)).topics
    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert not broker.cluster.topics


async def test_a_topic_is_found_by_its_id_from_v12(client: RawClient) -> None:
    await create(client, "orders")
    known = (await described(client, "orders")).topic_id
    asked = [MetadataRequestTopic(name=None, topic_id=each) for each in (known, UUID(int=5))]
    found, unknown = (await client.send(MetadataRequest(topics=asked), 12)).topics
    assert (found.name, found.error_code) == ("orders", 0)
    assert (unknown.name, unknown.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize("version", [10, 11])
async def test_ids_may_not_be_used_before_v12_although_there_is_a_field(client: RawClient, version: int) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="orders", topic_id=UUID(int=5))])
    (topic,) = (await client.send(request, version)).topics
    assert topic.error_code == ErrorCode.INVALID_REQUEST


async def test_operations_are_told_when_asked_for(client: RawClient) -> None:
    await create(client, "orders")
    request = MetadataRequest(
        topics=None, include_cluster_authorized_operations=True, include_topic_authorized_operations=True
    )
    response = await client.send(request, 8)
    assert (response.cluster_authorized_operations, response.topics[0].topic_authorized_operations) == (8096, 3576)


async def test_the_offsets_topic_is_internal_and_made_with_its_own_settings(broker: Broker, client: RawClient) -> None:
    await metadata(client, "__consumer_offsets", creating=True)
    topic = await described(client, "__consumer_offsets")
    assert topic.is_internal
    assert len(topic.partitions) == 50
    assert broker.cluster.topics["__consumer_offsets"].settings.cleanup_policy == ("compact",)


@pytest.mark.lengthy
async def test_more_topics_than_a_request_may_make_are_not_created(broker: Broker, client: RawClient) -> None:
    """Kafka's controller makes 10,000 partitions at most for one request."""
    names = tuple(MetadataRequestTopic(name=f"n{number}") for number in range(10_001))
    answer = await client.send(MetadataRequest(topics=names, allow_auto_topic_creation=True), 4)
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(answer.topics) == len(names)
    assert not broker.topics.cluster.topics
