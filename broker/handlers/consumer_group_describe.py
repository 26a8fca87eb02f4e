"""ConsumerGroupDescribe, versions 0-1: state and members of groups of the consumer protocol (KIP-848).

Answered UNSUPPORTED_VERSION unless group.coordinator.rebalance.protocols has `consumer`, as Kafka 3.9 does. A group
that is not known, or follows the classic protocol, is GROUP_ID_NOT_FOUND; one that is named twice is answered once.
A client that may not DESCRIBE each topic assigned in a group gets TOPIC_AUTHORIZATION_FAILED, as in Kafka 4.
Version notes: v1 is Kafka 4.0's and says which protocol a member speaks.
"""

from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
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
    services: "Services", request: ConsumerGroupDescribeRequest, call: Call
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=tuple(
            [
                await _describe(services, group_id, request.include_authorized_operations, call)
                for group_id in dict.fromkeys(request.group_ids)
            ]
        )
    )


def refuse(request: ConsumerGroupDescribeRequest, error: ApiError, call: Call) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=tuple(_make_failure(group_id, error) for group_id in request.group_ids))


async def _describe(services: "Services", group_id: str, tells_operations: bool, call: Call) -> DescribedGroup:
    await call.turn.next()
    operations = call.access.authorized_operations(ResourceType.GROUP, group_id) if tells_operations else NOT_ASKED
    try:
        described = await services.groups.describe_consumer(group_id, operations)
        await _ensure_sees_topics(described, call)
    except ApiError as error:
        return _make_failure(group_id, error)
    return described


async def _ensure_sees_topics(group: DescribedGroup, call: Call) -> None:
    """Raises: ApiError TOPIC_AUTHORIZATION_FAILED."""
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            for topic in assignment.topic_partitions:
                if not call.access.may_see(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.topic_name):
                    message = f"a member of group {group.group_id} has a topic that the client may not describe"
                    raise ApiError(message, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                await call.turn.next()


def _make_failure(group_id: str, error: ApiError) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
