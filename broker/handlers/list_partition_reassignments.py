"""ListPartitionReassignments, version 0 (KIP-455): partitions on their way to other brokers.

Partitions that are named and not being reassigned are left out. A broker that is alone has none.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    services: "Services", request: ListPartitionReassignmentsRequest, call: Call
) -> ListPartitionReassignmentsResponse:
    wanted = None if request.topics is None else {topic.name: set(topic.partition_indexes) for topic in request.topics}
    topics = []
    for name, records in services.topics.reassignments().items():
        told = [
            OngoingPartitionReassignment(
                partition_index=index,
                replicas=record.replicas,
                adding_replicas=record.adding,
                removing_replicas=record.removing,
            )
            for index, record in records.items()
            if wanted is None or index in wanted.get(name, ())
        ]
        if told:
            topics.append(OngoingTopicReassignment(name=name, partitions=told))
        await call.turn.next()
    return ListPartitionReassignmentsResponse(error_message=None, topics=topics)


def refuse(
    request: ListPartitionReassignmentsRequest, error: ApiError, call: Call
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)
