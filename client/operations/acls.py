"""Access rules."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocol.acls import Acl, AclFilter
from ...protocol.messages.create_acls import AclCreation, CreateAclsRequest
from ...protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from ...protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from ..errors import raise_if_error
from ..operation import Operation, ask
from ..versions import ANY_VERSION

WITH_PREFIXES = (1, ANY_VERSION[1])


def ask_for_acls(wanted: AclFilter) -> Operation[DescribeAclsResponse]:
    """Asks for the rules that match a filter; returns the response. Raises: KafkaError."""
    response: DescribeAclsResponse = yield from ask(
        DescribeAclsRequest(
            resource_type_filter=wanted.resource_type,
            resource_name_filter=wanted.resource_name,
            pattern_type_filter=wanted.pattern_type,
            principal_filter=wanted.principal,
            host_filter=wanted.host,
            operation=wanted.operation,
            permission_type=wanted.permission_type,
        ),
        within=WITH_PREFIXES,
    )
    raise_if_error("", response)
    return response


def describe_acls(wanted: AclFilter) -> Operation[list[Acl]]:
    """The rules that match a filter. Raises: KafkaError."""
    response = yield from ask_for_acls(wanted)
    return [
        _make_acl(resource.resource_type, resource.resource_name, resource.pattern_type, acl)
        for resource in response.resources
        for acl in resource.acls
    ]


def create_acls(acls: Sequence[Acl]) -> Operation[None]:
    """Adds rules. Raises: KafkaError."""
    creations = [
        AclCreation(
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            resource_pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
        for acl in acls
    ]
    response = yield from ask(CreateAclsRequest(creations=creations), within=WITH_PREFIXES)
    for result in response.results:
        raise_if_error("", result)


def delete_acls(filters: Sequence[AclFilter]) -> Operation[list[Acl]]:
    """Removes the rules that match the filters, and returns them. Raises: KafkaError."""
    wanted = [
        DeleteAclsFilter(
            resource_type_filter=each.resource_type,
            resource_name_filter=each.resource_name,
            pattern_type_filter=each.pattern_type,
            principal_filter=each.principal,
            host_filter=each.host,
            operation=each.operation,
            permission_type=each.permission_type,
        )
        for each in filters
    ]
    response = yield from ask(DeleteAclsRequest(filters=wanted), within=WITH_PREFIXES)
    removed: dict[Acl, None] = {}
    for result in response.filter_results:
        raise_if_error("", result)
        for acl in result.matching_acls:
            raise_if_error("", acl)
            removed[_make_acl(acl.resource_type, acl.resource_name, acl.pattern_type, acl)] = None
    return list(removed)


def _make_acl(kind: int, name: str, pattern: int, entry: object) -> Acl:
    """The rule of a resource; `entry` has its principal, host, operation and permission."""
    values = {part: getattr(entry, part) for part in ("principal", "host", "operation", "permission_type")}
    return Acl.from_numbers({"resource_type": kind, "resource_name": name, "pattern_type": pattern, **values})
