"""DeleteAcls, versions 0-3 (KIP-140, 290): removes the access rules that match filters. Without an authorizer:
SECURITY_DISABLED for each.

A rule that matches several filters is in the result of each. All are gone from the disk, by one write, when the
answer goes out. One request removes 10,000 at most, as in Kafka (`AclControlManager`), and lists no more than
`stepdown.request.max.items`; else it is refused, and removes none. Version notes: before v1 only rules with literal
names match.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from ..dispatch.call import Call
from ..dispatch.served_api import MOST_ITEMS_SETTING
from ..security.authorization.acl_decoding import decode_filter

if TYPE_CHECKING:
    from ...protocol.acls import Acl
    from ..services import Services

MOST_REMOVED = 10_000


async def handle(services: "Services", request: DeleteAclsRequest, call: Call) -> DeleteAclsResponse:
    acls, turn = services.acls, call.turn
    most_told = services.settings.stepdown_request_max_items
    doomed: dict[Acl, None] = {}
    results = []
    for wanted in request.filters:
        await turn.next()
        try:
            found = await acls.find(decode_filter(wanted), turn)
        except ApiError as error:
            results.append(_make_failure(error))
            continue
        most_told -= len(found)
        if most_told < 0:
            raise ApiError(
                f"The filters match more often than an answer may say; see {MOST_ITEMS_SETTING}",
                ErrorCode.INVALID_REQUEST,
            )
        matching = []
        for acl in found:
            doomed[acl] = None
            matching.append(_make_matching_acl(acl))
            await turn.next()
        if len(doomed) > MOST_REMOVED:
            raise ApiError(
                f"Cannot remove more than {MOST_REMOVED} acls in a single delete operation.", ErrorCode.INVALID_REQUEST
            )
        results.append(DeleteAclsFilterResult(error_message=None, matching_acls=matching))
    await acls.remove_in_turns(doomed, turn)
    return DeleteAclsResponse(filter_results=results)


def refuse(request: DeleteAclsRequest, error: ApiError, call: Call) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[_make_failure(error)] * len(request.filters))


def _make_matching_acl(acl: "Acl") -> DeleteAclsMatchingAcl:
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


def _make_failure(error: ApiError) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
