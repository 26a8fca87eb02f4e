"""DescribeAcls, versions 0-3 (KIP-140, 290): the access rules that match a filter. Without an authorizer:
SECURITY_DISABLED.

Version notes: before v1 only rules with literal names are shown.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from ..dispatch.call import Call
from ..security.authorization.acl_decoding import decode_filter

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: DescribeAclsRequest, call: Call) -> DescribeAclsResponse:
    by_resource: dict[tuple[int, str, int], list[AclDescription]] = {}
    for acl in await services.acls.find(decode_filter(request), call.turn):
        by_resource.setdefault((acl.resource_type, acl.resource_name, acl.pattern_type), []).append(
            AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission_type
            )
        )
        await call.turn.next()
    return DescribeAclsResponse(
        error_message=None,
        resources=[
            DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=acls)
            for (kind, name, pattern), acls in by_resource.items()
        ],
    )


def refuse(request: DescribeAclsRequest, error: ApiError, call: Call) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error.code, error_message=error.message)
