"""DescribeGroups, versions 0-5: state and members of classic groups (KIP-345, 430).

A group that is not known, or follows the consumer protocol, is `Dead` without an error. Protocol, metadata and
assignments are shown while the group is Stable only. A group that is named twice is answered once. Version notes: v3
authorized operations if asked for; v4 instance ids.
"""

from typing import TYPE_CHECKING

from ...protocol.acls import ResourceType
from ...protocol.errors import ApiError
from ...protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from ..dispatch.call import Call
from ..security.authorization.access import NOT_ASKED

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: DescribeGroupsRequest, call: Call) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=tuple(
            [
                await _describe(services, group_id, request.include_authorized_operations, call)
                for group_id in dict.fromkeys(request.groups)
            ]
        )
    )


def refuse(request: DescribeGroupsRequest, error: ApiError, call: Call) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=tuple(DescribedGroup(group_id=group_id, error_code=error.code) for group_id in request.groups)
    )


async def _describe(services: "Services", group_id: str, tells_operations: bool, call: Call) -> DescribedGroup:
    await call.turn.next()
    operations = call.access.authorized_operations(ResourceType.GROUP, group_id) if tells_operations else NOT_ASKED
    try:
        return await services.groups.describe_classic(group_id, operations)
    except ApiError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
