"""ListGroups, versions 0-5: all groups, or those in some states and of some types (KIP-518, 848).

While partitions of `__consumer_offsets` are being loaded the error is COORDINATOR_LOAD_IN_PROGRESS, beside the groups
known so far. Filters do not look at upper and lower case; a type that does not exist matches no group.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from ..dispatch.call import Call
from ..security.authorization.access import EVERYTHING, Access

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: ListGroupsRequest, call: Call) -> ListGroupsResponse:
    states, types = _fold_case(request.states_filter), _fold_case(request.types_filter)
    access = _listing_access(call)
    loading = services.groups.is_loading()
    listed = []
    for group in tuple(services.groups.groups):
        if (
            (not states or group.state_name.lower() in states)
            and (not types or group.type_name in types)
            and access.may_see(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id)
        ):
            listed.append(
                ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state_name,
                    group_type=group.type_name,
                )
            )
        await call.turn.next()
    return ListGroupsResponse(
        error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NONE, groups=listed
    )


def refuse(request: ListGroupsRequest, error: ApiError, call: Call) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error.code)


def _listing_access(call: Call) -> Access:
    """A client that may DESCRIBE the cluster sees every group."""
    everything = call.access.may_see(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    return EVERYTHING if everything else call.access


def _fold_case(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in names)
