"""SyncGroup, versions 0-5: the leader hands in the assignment, every member gets its part of it (KIP-345, 559).

Version notes: v3 group instance id; from v5 on the protocol's type and name are mandatory, and have to be the group's.
"""

from time import perf_counter
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_WITH_PROTOCOL = 5


async def handle(services: "Services", request: SyncGroupRequest, call: Call) -> SyncGroupResponse:
    is_complete = request.protocol_type is not None and request.protocol_name is not None
    if call.version >= FIRST_VERSION_WITH_PROTOCOL and not is_complete:
        raise ApiError("protocol type and name are missing", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    call.peer.release_frame()  # as JoinGroup
    began = perf_counter()
    try:
        return await services.groups.sync(request)
    finally:
        call.waited_s += perf_counter() - began


def refuse(request: SyncGroupRequest, error: ApiError, call: Call) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)
