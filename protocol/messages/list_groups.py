"""ListGroups (key 16), versions 0–5, flexible from 3.

Lists groups. v4 filters by state (KIP-518), v5 by type (KIP-848).
"""

from collections.abc import Sequence

from ..schema import array, int16, int32, message, string, struct


@message(versions="0-5", flexible="3+")
class ListGroupsRequest:
    """Which groups to list."""

    states_filter: Sequence[str] = array(string, "4+")
    types_filter: Sequence[str] = array(string, "5+")


@struct
class ListedGroup:
    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string("4+", ignorable=True)
    group_type: str = string("5+", ignorable=True)


@message(versions="0-5", flexible="3+")
class ListGroupsResponse:
    """The groups found."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
    groups: Sequence[ListedGroup] = array(ListedGroup)
