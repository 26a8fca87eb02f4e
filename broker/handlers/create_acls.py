"""CreateAcls, versions 0-3 (KIP-140, 290): adds access rules. Without an authorizer: SECURITY_DISABLED for each.

Each rule is taken or refused for itself; those taken are on the disk, by one write, and in force when the answer goes
out. A rule that is there already is taken again. Version notes: before v1 names are literal.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from ..dispatch.call import Call
from ..security.authorization.acl_decoding import decode_acl
from ..security.authorization.acls import check_acl

if TYPE_CHECKING:
    from ...protocol.acls import Acl
    from ..services import Services

DONE = AclCreationResult(error_message=None)


async def handle(services: "Services", request: CreateAclsRequest, call: Call) -> CreateAclsResponse:
    acls = services.acls
    wanted: list[Acl] = []
    results = []
    for creation in request.creations:
        try:
            wanted.append(_read_acl(creation))
            results.append(DONE)
        except ApiError as error:
            results.append(_make_failure(error))
        await call.turn.next()
    await acls.add_in_turns(wanted, call.turn)
    return CreateAclsResponse(results=results)


def refuse(request: CreateAclsRequest, error: ApiError, call: Call) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_make_failure(error)] * len(request.creations))


def _read_acl(creation: AclCreation) -> "Acl":
    """Raises ApiError INVALID_REQUEST."""
    acl = decode_acl(creation, creation.resource_pattern_type)
    check_acl(acl)
    return acl


def _make_failure(error: ApiError) -> AclCreationResult:
    return AclCreationResult(error_code=error.code, error_message=error.message)
