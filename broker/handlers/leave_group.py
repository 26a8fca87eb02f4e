"""LeaveGroup, versions 0-5: takes members out of a group (KIP-345, 800).

Version notes: before v3 one member, whose error is the response's; from v3 on several, each with its own, and an
operator may name static members by their instance id alone; v5 gives a reason.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_WITH_SEVERAL_MEMBERS = 3


async def handle(services: "Services", request: LeaveGroupRequest, call: Call) -> LeaveGroupResponse:
    response = await services.groups.leave(request, _members_of(request, call.version))
    if call.version >= FIRST_VERSION_WITH_SEVERAL_MEMBERS:
        return response
    return LeaveGroupResponse(error_code=response.error_code or response.members[0].error_code)


def refuse(request: LeaveGroupRequest, error: ApiError, call: Call) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error.code)


def _members_of(request: LeaveGroupRequest, version: int) -> Sequence[MemberIdentity]:
    if version >= FIRST_VERSION_WITH_SEVERAL_MEMBERS:
        return request.members
    return (MemberIdentity(member_id=request.member_id),)
