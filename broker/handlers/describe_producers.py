"""DescribeProducers, version 0 (KIP-664): the producers that a partition's log remembers, and their open
transactions. A partition that is named twice is answered once."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from ...storage.producers.producer_states import ProducerEntry
from ..dispatch.call import Call
from ..dispatch.repeated_items import merge_topics
from ..metadata.topic_rules import check_name

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: DescribeProducersRequest, call: Call) -> DescribeProducersResponse:
    topics = []
    for name, indexes in (await merge_topics(request.topics, call.turn)).items():
        partitions = [await _describe_partition(services, name, index, call) for index in indexes]
        topics.append(TopicResponse(name=name, partitions=partitions))
    return DescribeProducersResponse(topics=topics)


def refuse(request: DescribeProducersRequest, error: ApiError, call: Call) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name, partitions=[_make_failure(index, error) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


async def _describe_partition(services: "Services", name: str, index: int, call: Call) -> PartitionResponse:
    await call.turn.next()
    try:
        check_name(name)
        partition = services.cluster.partition(name, index)
        services.cluster.check_led_here(partition)
    except ApiError as error:
        return _make_failure(index, error)
    producers = tuple(partition.log.producers.state.producers.values())
    return PartitionResponse(partition_index=index, active_producers=await call.turn.map(_describe_producer, producers))


def _describe_producer(producer: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=producer.transaction_first_offset,
    )


def _make_failure(index: int, error: ApiError) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)
