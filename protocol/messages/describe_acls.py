"""DescribeAcls (key 29), versions 0–3, flexible from 2.

Shows access rules. v1 adds prefixed patterns, v3 the user resource.
"""

from collections.abc import Sequence

from ..schema import array, int8, int16, int32, message, string, struct


@message(versions="0-3", flexible="2+")
class DescribeAclsRequest:
    """A filter."""

    resource_type_filter: int = int8()
    resource_name_filter: str | None = string(nullable="0+")
    pattern_type_filter: int = int8("1+", default=3)
    principal_filter: str | None = string(nullable="0+")
    host_filter: str | None = string(nullable="0+")
    operation: int = int8()
    permission_type: int = int8()


@struct
class AclDescription:
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@struct
class DescribeAclsResource:
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8("1+", default=3)
    acls: Sequence[AclDescription] = array(AclDescription)


@message(versions="0-3", flexible="2+")
class DescribeAclsResponse:
    """The rules that it matches."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resources: Sequence[DescribeAclsResource] = array(DescribeAclsResource)
