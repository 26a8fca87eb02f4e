"""DeleteAcls, versions 0-3 (KIP-140): removes access rules. There is no authorizer: SECURITY_DISABLED for each."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from ..network.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(broker: "Services", request: DeleteAclsRequest, call: Call) -> DeleteAclsResponse:
    raise ApiError("this broker has no authorizer: everything is allowed", ErrorCode.SECURITY_DISABLED)


def refuse(request: DeleteAclsRequest, error: ApiError, call: Call) -> DeleteAclsResponse:
    result = DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))
