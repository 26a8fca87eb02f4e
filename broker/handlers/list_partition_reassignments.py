"""ListPartitionReassignments, version 0 (KIP-455): partitions on their way to other brokers.

There is one broker, so there are none; partitions that are named and not being reassigned are left out.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from ..network.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(
    broker: "Services", request: ListPartitionReassignmentsRequest, call: Call
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)


def refuse(
    request: ListPartitionReassignmentsRequest, error: ApiError, call: Call
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)
