"""Heartbeat, versions 0-4: keeps a member of a classic group alive, or tells it to rejoin (KIP-345: v3)."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: HeartbeatRequest, call: Call) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=await services.groups.heartbeat(request))


def refuse(request: HeartbeatRequest, error: ApiError, call: Call) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=error.code)
