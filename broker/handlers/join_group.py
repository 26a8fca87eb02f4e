"""JoinGroup, versions 0-9: enters a classic group; answered when the join phase ends (KIP-62, 345, 394, 559, 814).

Version notes: v0 has one timeout for session and rebalance; from v4 on a client without member id gets one and has
to come back with it; v5 static members; v7 names the protocol type; before v7 no protocol is "" instead of null; v9 may
tell a returning static leader to skip the assignment.
"""

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError
from ...protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ..dispatch.call import Call
from ..groups.caller import Caller

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
FIRST_VERSION_WITH_NULL_PROTOCOL = 7


def caller_of(call: Call) -> Caller:
    """The sender of the request, as groups remember their members."""
    return Caller(
        version=call.version,
        client_id=call.client_id,
        host=f"/{call.peer.host}",
        may_see=partial(call.access.may_see, AclOperation.DESCRIBE, ResourceType.TOPIC),
    )


async def handle(services: "Services", request: JoinGroupRequest, call: Call) -> JoinGroupResponse:
    call.peer.release_frame()  # it waits for other members; its content was copied
    began = perf_counter()
    if call.version < FIRST_VERSION_WITH_REBALANCE_TIMEOUT:
        request = replace(request, rebalance_timeout_ms=request.session_timeout_ms)
    response = await services.groups.join(request, caller_of(call))
    call.waited_s += perf_counter() - began
    return _with_readable_protocol(response, call)


def refuse(request: JoinGroupRequest, error: ApiError, call: Call) -> JoinGroupResponse:
    response = JoinGroupResponse(error_code=error.code, protocol_name=None, member_id=request.member_id)
    return _with_readable_protocol(response, call)


def _with_readable_protocol(response: JoinGroupResponse, call: Call) -> JoinGroupResponse:
    if response.protocol_name is None and call.version < FIRST_VERSION_WITH_NULL_PROTOCOL:
        return replace(response, protocol_name="")
    return response
