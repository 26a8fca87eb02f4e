"""DeleteGroups, versions 0-2: deletes groups that have no members, with their offsets (KIP-229)."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: DeleteGroupsRequest, call: Call) -> DeleteGroupsResponse:
    results = []
    for group_id in dict.fromkeys(request.groups_names):
        code = await services.groups.delete_group(group_id, call.turn)
        results.append(DeletableGroupResult(group_id=group_id, error_code=code))
        await call.turn.next()
    return DeleteGroupsResponse(results=results)


def refuse(request: DeleteGroupsRequest, error: ApiError, call: Call) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=tuple(
            DeletableGroupResult(group_id=group_id, error_code=error.code) for group_id in request.groups_names
        )
    )
