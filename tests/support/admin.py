"""Requests that many tests begin with: topics made, records written, topics described."""

from collections.abc import Mapping

from stepdown.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from stepdown.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

from .client import RawClient
from .record_sets import record_set


def new_topic(
    name: str, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str | None] | None = None
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )


async def create(
    client: RawClient, name: str, partitions: int = 1, configs: Mapping[str, str | None] | None = None
) -> None:
    """Create a topic, which has to succeed."""
    request = CreateTopicsRequest(topics=(new_topic(name, partitions, configs=configs),))
    response = await client.send(request, 4)
    assert [result.error_code for result in response.topics] == [0], response


async def write(client: RawClient, name: str, partition: int = 0, *, times: int = 1, data: bytes | None = None) -> None:
    """Produce a set of three records, a number of times."""
    written = PartitionProduceData(index=partition, records=record_set(2) if data is None else data)
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=(TopicProduceData(name=name, partition_data=(written,)),)
    )
    for _ in range(times):
        response = await client.send(request, 7)
        assert response.responses[0].partition_responses[0].error_code == 0, response


async def metadata(client: RawClient, *names: str, version: int = 12, creating: bool = False) -> MetadataResponse:
    """What Metadata tells of these topics; of all when none is named."""
    topics = [MetadataRequestTopic(name=name) for name in names] or (None if version else ())
    response: MetadataResponse = await client.send(
        MetadataRequest(topics=topics, allow_auto_topic_creation=creating or version < 4), version
    )
    return response


async def described(client: RawClient, name: str) -> MetadataResponseTopic:
    """What Metadata tells of one topic."""
    (topic,) = (await metadata(client, name)).topics
    return topic
