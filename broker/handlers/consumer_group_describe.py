"""ConsumerGroupDescribe, versions 0-1: state and members of groups of the consumer protocol (KIP-848).

Answered UNSUPPORTED_VERSION unless group.coordinator.rebalance.protocols has `consumer`, as Kafka 3.9 does. A group
that is not known, or follows the classic protocol, is GROUP_ID_NOT_FOUND; one that is named twice is answered once.
Version notes: v1 is Kafka 4.0's and says which protocol a member speaks.
"""

from typing import TYPE_CHECKING

from ...protocol.acls import ResourceType
from ...protocol.errors import ApiError
from ...protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from ..dispatch.call import Call
from ..security.authorization.access import NOT_ASKED

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    broker: "Services", request: ConsumerGroupDescribeRequest, call: Call
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=tuple(
            [
                await _describe(broker, group_id, request.include_authorized_operations, call)
                for group_id in dict.fromkeys(request.group_ids)
            ]
        )
    )


def refuse(request: ConsumerGroupDescribeRequest, error: ApiError, call: Call) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=tuple(_failure(group_id, error) for group_id in request.group_ids))


async def _describe(broker: "Services", group_id: str, tells_operations: bool, call: Call) -> DescribedGroup:
    await call.turn.next()
    operations = call.access.operations(ResourceType.GROUP, group_id) if tells_operations else NOT_ASKED
    try:
        return await broker.groups.describe_consumer(group_id, operations)
    except ApiError as error:
        return _failure(group_id, error)


def _failure(group_id: str, error: ApiError) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
