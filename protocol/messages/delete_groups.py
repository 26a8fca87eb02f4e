"""DeleteGroups (key 42), versions 0–2, flexible from 2: deletes groups that have no members."""

from collections.abc import Sequence

from ..schema import array, int16, int32, message, string, struct


@message(versions="0-2", flexible="2+")
class DeleteGroupsRequest:
    """Groups to delete."""

    groups_names: Sequence[str] = array(string)


@struct
class DeletableGroupResult:
    group_id: str = string()
    error_code: int = int16()


@message(versions="0-2", flexible="2+")
class DeleteGroupsResponse:
    """How that went, per group."""

    throttle_time_ms: int = int32()
    results: Sequence[DeletableGroupResult] = array(DeletableGroupResult)
