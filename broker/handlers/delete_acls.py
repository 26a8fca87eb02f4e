"""DeleteAcls, versions 0-3 (KIP-140, 290): removes the access rules that match filters. Without an authorizer:
SECURITY_DISABLED for each.

A rule that matches several filters is in the result of each. All are gone from the disk, by one write, when the
answer goes out. Version notes: before v1 only rules with literal names match.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from ..dispatch.call import Call
from ..security.authorization.acl_decoding import filter_of

if TYPE_CHECKING:
    from ...protocol.acls import Acl
    from ..services import Services


async def handle(broker: "Services", request: DeleteAclsRequest, call: Call) -> DeleteAclsResponse:
    acls = broker.acls
    doomed: set[Acl] = set()
    results = []
    for wanted in request.filters:
        await call.turn.next()
        try:
            found = await acls.find(filter_of(wanted), call.turn)
        except ApiError as error:
            results.append(_failure(error))
            continue
        doomed.update(found)
        results.append(
            DeleteAclsFilterResult(error_message=None, matching_acls=await call.turn.map(_matching_acl, found))
        )
    acls.remove(doomed)
    return DeleteAclsResponse(filter_results=results)


def refuse(request: DeleteAclsRequest, error: ApiError, call: Call) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[_failure(error)] * len(request.filters))


def _matching_acl(acl: "Acl") -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _failure(error: ApiError) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
