"""DescribeAcls, versions 0-3 (KIP-140): access rules. There is no authorizer: SECURITY_DISABLED."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from ..network.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(broker: "Services", request: DescribeAclsRequest, call: Call) -> DescribeAclsResponse:
    raise ApiError("this broker has no authorizer: everything is allowed", ErrorCode.SECURITY_DISABLED)


def refuse(request: DescribeAclsRequest, error: ApiError, call: Call) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error.code, error_message=error.message)
