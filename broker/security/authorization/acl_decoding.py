"""Decodes ACLs and filters from the codes in requests; an unknown code becomes UNKNOWN, as in Kafka."""

from enum import IntEnum
from typing import Any, TypeVar

from ....protocol.acls import Acl, AclFilter, AclOperation, PatternType, PermissionType, ResourceType
from ....protocol.errors import ApiError, ErrorCode

E = TypeVar("E", bound=IntEnum)


def decode_acl(creation: Any, pattern_type: int) -> Acl:
    """The ACL of a CreateAcls request, not checked yet."""
    return Acl(
        resource_type=_decode(ResourceType, creation.resource_type),
        resource_name=creation.resource_name,
        pattern_type=_decode(PatternType, pattern_type),
        principal=creation.principal,
        host=creation.host,
        operation=_decode(AclOperation, creation.operation),
        permission_type=_decode(PermissionType, creation.permission_type),
    )


def decode_filter(asked: Any) -> AclFilter:
    """The filter of a DescribeAcls or DeleteAcls request. Raises ApiError INVALID_REQUEST when a code is not known."""
    wanted = AclFilter(
        resource_type=_decode(ResourceType, asked.resource_type_filter),
        resource_name=asked.resource_name_filter,
        pattern_type=_decode(PatternType, asked.pattern_type_filter),
        principal=asked.principal_filter,
        host=asked.host_filter,
        operation=_decode(AclOperation, asked.operation),
        permission_type=_decode(PermissionType, asked.permission_type),
    )
    for code in (wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission_type):
        if not code:
            raise ApiError("the filter has a code that is not known", ErrorCode.INVALID_REQUEST)
    return wanted


def _decode(kind: type[E], code: int) -> E:
    return kind(code) if code in kind.__members__.values() else kind(0)
