"""CreateAcls (key 30), versions 0–3, flexible from 2.

Adds access rules. v1 adds prefixed patterns, v3 the user resource.
"""

from collections.abc import Sequence

from ..schema import array, int8, int16, int32, message, string, struct


@struct
class AclCreation:
    resource_type: int = int8()
    resource_name: str = string()
    resource_pattern_type: int = int8("1+", default=3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@message(versions="0-3", flexible="2+")
class CreateAclsRequest:
    """Rules to add."""

    creations: Sequence[AclCreation] = array(AclCreation)


@struct
class AclCreationResult:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@message(versions="0-3", flexible="2+")
class CreateAclsResponse:
    """How that went, in the order asked."""

    throttle_time_ms: int = int32()
    results: Sequence[AclCreationResult] = array(AclCreationResult)
