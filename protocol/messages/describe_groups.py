"""DescribeGroups (key 15), versions 0–5, flexible from 5.

Shows members and state of classic groups. v3 adds authorized operations, v4 the group instance id.
"""

from collections.abc import Sequence

from ..schema import array, binary, boolean, int16, int32, message, string, struct


@message(versions="0-5", flexible="5+")
class DescribeGroupsRequest:
    """The groups to show."""

    groups: Sequence[str] = array(string)
    include_authorized_operations: bool = boolean("3+")


@struct
class DescribedGroupMember:
    member_id: str = string()
    group_instance_id: str | None = string("4+", nullable="4+", default=None, ignorable=True)
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = binary()
    member_assignment: bytes = binary()


@struct
class DescribedGroup:
    error_code: int = int16()
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: Sequence[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32("3+", default=-2147483648)


@message(versions="0-5", flexible="5+")
class DescribeGroupsResponse:
    """One description per group."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    groups: Sequence[DescribedGroup] = array(DescribedGroup)
