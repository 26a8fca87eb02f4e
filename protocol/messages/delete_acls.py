"""DeleteAcls (key 31), versions 0–3, flexible from 2.

Removes access rules. v1 adds prefixed patterns, v3 the user resource.
"""

from collections.abc import Sequence

from ..schema import array, int8, int16, int32, message, string, struct


@struct
class DeleteAclsFilter:
    resource_type_filter: int = int8()
    resource_name_filter: str | None = string(nullable="0+")
    pattern_type_filter: int = int8("1+", default=3)
    principal_filter: str | None = string(nullable="0+")
    host_filter: str | None = string(nullable="0+")
    operation: int = int8()
    permission_type: int = int8()


@message(versions="0-3", flexible="2+")
class DeleteAclsRequest:
    """Filters for what to remove."""

    filters: Sequence[DeleteAclsFilter] = array(DeleteAclsFilter)


@struct
class DeleteAclsMatchingAcl:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8("1+", default=3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@struct
class DeleteAclsFilterResult:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    matching_acls: Sequence[DeleteAclsMatchingAcl] = array(DeleteAclsMatchingAcl)


@message(versions="0-3", flexible="2+")
class DeleteAclsResponse:
    """The rules removed, per filter."""

    throttle_time_ms: int = int32()
    filter_results: Sequence[DeleteAclsFilterResult] = array(DeleteAclsFilterResult)
