"""CreateAcls, versions 0-3 (KIP-140): adds access rules. There is no authorizer: SECURITY_DISABLED for each."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from ..network.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(broker: "Services", request: CreateAclsRequest, call: Call) -> CreateAclsResponse:
    raise ApiError("this broker has no authorizer: everything is allowed", ErrorCode.SECURITY_DISABLED)


def refuse(request: CreateAclsRequest, error: ApiError, call: Call) -> CreateAclsResponse:
    result = AclCreationResult(error_code=error.code, error_message=error.message)
    return CreateAclsResponse(results=[result] * len(request.creations))
