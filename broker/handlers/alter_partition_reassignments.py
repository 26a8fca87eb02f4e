"""AlterPartitionReassignments, version 0 (KIP-455): moves partitions to other brokers, or cancels that (null replicas).

The only replica list of a broker that is alone is itself: naming it succeeds and changes nothing.
"""

from functools import partial
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    services: "Services", request: AlterPartitionReassignmentsRequest, call: Call
) -> AlterPartitionReassignmentsResponse:
    responses = []
    for topic in request.topics:
        partitions = await call.turn.map(partial(_reassign, services, topic.name), topic.partitions)
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
        await call.turn.next()
    return AlterPartitionReassignmentsResponse(error_message=None, responses=responses)


def refuse(
    request: AlterPartitionReassignmentsRequest, error: ApiError, call: Call
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name, partitions=[_make_failure(asked.partition_index, error) for asked in topic.partitions]
            )
            for topic in request.topics
        ],
    )


def _reassign(services: "Services", name: str, asked: ReassignablePartition) -> ReassignablePartitionResponse:
    try:
        replicas = None if asked.replicas is None else tuple(asked.replicas)
        services.topics.reassign(name, asked.partition_index, replicas)
    except ApiError as error:
        return _make_failure(asked.partition_index, error)
    return ReassignablePartitionResponse(partition_index=asked.partition_index, error_message=None)


def _make_failure(index: int, error: ApiError) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)
